import CofferFormat
import CofferSystem
import Glibc
import Testing

@testable import CofferFUSE

/// A mount whose profile is locked, between the kernel and the process that serves it next.
@Suite struct LockedSessionTests {
    private static let sync: UInt32 = 20, write: UInt32 = 16, fromCache: UInt32 = 1

    /// Lets a session answer requests until it is to leave.
    ///
    /// - Parameter requests: Kind, node, and flags of a write.
    /// - Returns: The error in each answer, and the session.
    private func errors(
        of requests: [(kind: UInt32, node: UInt64, flags: UInt32)], isStored: Bool,
        refused: Set<UInt64> = [], upperVaults: Set<UInt16>? = nil
    ) throws -> (codes: [Int32], session: LockedSession) {
        var ends: [Int32] = [0, 0]
        #expect(socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0, &ends) == 0)
        let kernel = ends[1]
        defer { close(kernel) }
        let session = try LockedSession(
            Descriptor(owning: ends[0]),
            ConnectionState(
                initialisation: Initialisation(), lookups: [:], refusedNumbers: refused,
                upperVaults: upperVaults),
            owner: (0, 0), changed: 0, isStored: isStored)
        let hasEnded = Condition(false)
        try CofferSystem.Thread.startDetached("locked") {
            if case .left = session.run() { hasEnded.update { $0 = true } }
        }
        let codes = requests.map { request in
            var writer = ByteWriter()
            writer.number(UInt32(64))
            writer.number(request.kind)
            for number in [77, request.node] { writer.number(number) }
            for _ in 0..<9 { writer.number(UInt32(0)) }
            writer.number(request.flags)
            let bytes = writer.finish()
            var answer = [UInt8](repeating: 0, count: 200)
            #expect(Glibc.write(kernel, bytes, bytes.count) == 64)
            #expect(read(kernel, &answer, answer.count) == 16)
            return -answer.withRawSpan { $0.littleEndian(at: 4, as: Int32.self) }
        }
        session.leave()
        let isOver = hasEnded.wait(nanoseconds: 60_000_000_000) { $0 ? true : nil }
        #expect(isOver == true)
        return (codes, session)
    }

    /// A program that calls fsync after the lock learns that what it wrote before is stored.
    @Test(arguments: [true, false]) func fsyncSucceedsIfAllIsStored(isStored: Bool) throws {
        let result = try errors(
            of: [(Self.sync, 5, 0), (30, 1, 0), (Self.write, 5, 0)], isStored: isStored)
        let code = isStored ? 0 : ENOKEY
        #expect(result.codes == [code, code, ENOKEY])
        #expect(result.session.refusedCount == 0, "a program waits for that write")
    }

    /// Nobody has what the kernel stores only now, so fsync must not succeed, and the next process is told.
    @Test func whatComesTooLateIsCounted() throws {
        let result = try errors(
            of: [
                (Self.write, 5, Self.fromCache), (Self.write, 5, Self.fromCache),
                (Self.write, 6, Self.fromCache), (Self.sync, 7, 0),
            ], isStored: true, refused: [4])
        #expect(result.codes == [ENOKEY, ENOKEY, ENOKEY, ENOKEY])
        #expect(result.session.refusedCount == 3)
        #expect(Set(result.session.state.refused.map(\.number)) == [4, 5, 6])
    }

    /// Nothing is lost of the past.
    @Test func whatComesForThePastIsNotCounted() throws {
        let numbers = [0xFFFF, 0xFFFE].map { Node(slot: $0, item: 9).number }
        let result = try errors(
            of: numbers.map { (Self.write, $0, Self.fromCache) }, isStored: true, upperVaults: [0xFFFE])
        #expect(result.codes == [ENOKEY, ENOKEY])
        #expect(result.session.state.refused.map(\.number) == [numbers[1]])
        #expect(result.session.state.upperVaults == [0xFFFE])
    }
}
