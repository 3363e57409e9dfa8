import CofferFormat
import CofferSystem
import Glibc
import Testing

@testable import CofferFUSE

/// What a locked mount answers, byte for byte, and what passes while it is being locked.
@Suite struct LockedAnswersTests {
    private let answers = LockedAnswers(user: 1000, group: 100, changed: 7_000_000_009)

    /// A request as the kernel sends it.
    private func bytes(_ kind: UInt32, node: UInt64 = 5, _ arguments: [UInt32] = []) -> [UInt8] {
        var writer = ByteWriter()
        writer.number(UInt32(40 + 4 * arguments.count))
        writer.number(kind)
        for number in [77, node] { writer.number(number) }
        for _ in 0..<4 { writer.number(UInt32(0)) }
        for argument in arguments { writer.number(argument) }
        return writer.finish()
    }

    private func answer(_ request: [UInt8]) throws -> [UInt8]? {
        answers.answer(to: try #require(request.withRawSpan { WireRequest($0) }))
    }

    private func error(_ answer: [UInt8]) -> Int32 {
        answer.withRawSpan { $0.littleEndian(at: 4, as: Int32.self) }
    }

    @Test(arguments: [1, 3, 4, 5, 6, 9, 12, 15, 16, 20, 21, 22, 28, 35, 43, 44, 46, 47] as [UInt32])
    func otherRequestsNeedAKey(kind: UInt32) throws {
        let answer = try #require(try answer(bytes(kind)))
        #expect(error(answer) == -ENOKEY)
        #expect(answer.count == 16 && answer[0] == 16 && answer[8] == 77)
    }

    @Test(arguments: [2, 36, 41, 42] as [UInt32])
    func someRequestsHaveNoAnswer(kind: UInt32) throws {
        #expect(try answer(bytes(kind)) == nil)
    }

    @Test func rootAndSpaceAreNeutral() throws {
        let root = try #require(try answer(bytes(3, node: 1)))
        #expect(error(root) == 0 && root.count == 120)
        // Not to be cached.
        #expect(root[16..<32].allSatisfy { $0 == 0 })
        let mode = root.withRawSpan { $0.littleEndian(at: 92, as: UInt32.self) }
        #expect(mode == 0o40755)
        for kind: UInt32 in [14, 27, 52] { #expect(error(try #require(try answer(bytes(kind)))) == -ENOSYS) }
        #expect(error(try #require(try answer(bytes(22, node: 1)))) == -ENODATA)
        #expect(error(try #require(try answer(bytes(23, node: 1)))) == -EOPNOTSUPP)
        let space = try #require(try answer(bytes(17)))
        #expect(error(space) == 0 && space.count == 96)
    }

    @Test func onlyEarlierChangesPassTheGate() {
        let gate = Gate(answers, nil)
        func passes(_ bytes: [UInt8]) -> Bool {
            guard let request = bytes.withRawSpan({ WireRequest($0) }) else { return false }
            return gate.refusal(of: request) == nil
        }
        #expect(passes(bytes(15)))
        gate.close()
        #expect(gate.isClosed)
        #expect(!passes(bytes(15)))
        // WRITE of the kernel's cache, and of a program.
        #expect(passes(bytes(16, [0, 0, 0, 0, 0, 1])))
        #expect(!passes(bytes(16, [0, 0, 0, 0, 0, 0])))
        // SETATTR of the times that the kernel keeps, and of a size.
        #expect(passes(bytes(4, [1 << 5 | 1 << 10, 0, 0, 0, 0, 0])))
        #expect(!passes(bytes(4, [1 << 3, 0, 0, 0, 0, 0])))
        #expect(passes(bytes(20)) && passes(bytes(2)))
        gate.open()
        #expect(passes(bytes(15)) && !gate.isClosed)
    }

    @Test func forgottenNodesAreCounted() {
        let one = bytes(2, node: 9, [3, 0])
        #expect(one.withRawSpan { WireRequest.forgotten($0).map(\.node) } == [9])
        #expect(one.withRawSpan { WireRequest.forgotten($0).map(\.count) } == [3])
        let many = bytes(42, node: 0, [2, 0, 5, 0, 1, 0, 6, 0, 2, 0])
        #expect(many.withRawSpan { WireRequest.forgotten($0).map(\.node) } == [5, 6])
        #expect(many.withRawSpan { WireRequest.forgotten($0).map(\.count) } == [1, 2])
        // A number of items beyond the request's end.
        let short = bytes(42, node: 0, [1 << 30, 0, 5, 0, 1, 0])
        #expect(short.withRawSpan { WireRequest.forgotten($0).map(\.node) } == [5])
    }

    @Test func countsAreHandedOver() {
        let table = LookupTable()
        let (node, other) = (Node(slot: 2, item: 3000), Node(slot: 1, item: 7))
        for _ in 0..<300 { table.add(node) }
        table.add(other)
        #expect(table.counts == [node.number: 300, other.number: 1])
        let next = LookupTable()
        next.restore(table.counts)
        #expect(!next.subtract(299, from: node))
        #expect(next.subtract(1, from: node))
    }
}
