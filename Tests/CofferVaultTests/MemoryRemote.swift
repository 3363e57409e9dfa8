import CofferFormat
import CofferSystem
import CofferTestSupport

import CofferStore
@testable import CofferVault

/// A remote in memory whose packs tests can remove, change, and block.
final class MemoryRemote: ContentSource {
    struct State {
        var packs: [PackID: [UInt8]] = [:]
        var fetches: [(pack: PackID, range: Range<Int>)] = []
        var failure: TransferError?
        /// Whether a fetch of a range has to wait.
        var holds: @Sendable (Range<Int>) -> Bool = { _ in false }
        /// The number of waiting fetches.
        var held = 0
    }

    let state = Condition(State())

    func fetch(_ pack: PackID, _ range: Range<Int>) throws(TransferError) -> BufferPart {
        state.update { state in
            state.fetches.append((pack, range))
            state.held += 1
        }
        let (bytes, failure) = state.wait { state in
            state.holds(range) ? nil : (state.packs[pack], state.failure)
        }
        state.update { $0.held -= 1 }
        if let failure { throw failure }
        guard let bytes, range.lowerBound >= 0 else { throw .missing }
        // As remotes do: no bytes where there are none.
        return BufferPart(copying: Array(bytes[range.clamped(to: 0..<bytes.count)]))
    }

    func fetch(
        _ pack: PackID, _ range: Range<Int>, with other: Range<Int>
    ) throws(TransferError) -> (BufferPart, BufferPart?) {
        let second = try? fetch(pack, other)
        return (try fetch(pack, range), second)
    }

    func byteCount(of pack: PackID) throws(TransferError) -> Int {
        let (bytes, failure) = state.withLock { ($0.packs[pack], $0.failure) }
        if let failure { throw failure }
        guard let bytes else { throw .missing }
        return bytes.count
    }

    func byteCounts(of packs: [PackID]) -> [PackID: Result<Int, TransferError>] {
        var found: [PackID: Result<Int, TransferError>] = [:]
        for pack in packs {
            do throws(TransferError) { found[pack] = .success(try byteCount(of: pack)) } catch {
                found[pack] = .failure(error)
            }
        }
        return found
    }

    func store(_ pack: RemotePack) {
        let bytes = pack.buffer.withBytes(0..<pack.byteCount) { $0.array }
        state.withLock { $0.packs[pack.id] = bytes }
    }

    var fetchCount: Int { state.withLock { $0.fetches.count } }
    var byteCount: Int { state.withLock { $0.packs.values.reduce(0) { $0 + $1.count } } }
    func fail(_ failure: TransferError?) { state.withLock { $0.failure = failure } }
    func hold(_ holds: Bool) { holdFetches { _ in holds } }
    func holdFetches(where holds: @escaping @Sendable (Range<Int>) -> Bool) {
        state.update { $0.holds = holds }
    }
    func change(_ body: (inout [PackID: [UInt8]]) -> Void) { state.withLock { body(&$0.packs) } }
    func forgetFetches() { state.withLock { $0.fetches = [] } }

    /// Returns once the given number of fetches wait.
    func waitForHeld(_ count: Int) {
        _ = state.wait { $0.held >= count ? true : nil }
    }
}

extension Vault {
    /// Starts sending, one pack at a time.
    ///
    /// - Parameter deliver: Returns when the pack is there.
    func beginSending(
        _ deliver: @escaping (RemotePack) throws(TransferError) -> Void
    ) throws(FileSystemError) -> Sending {
        try outgoing.beginSending(beginning: { pack in
            do throws(TransferError) {
                try deliver(pack)
                return Sending.Delivery {}
            } catch {
                return Sending.Delivery { () throws(TransferError) in throw error }
            }
        })
    }

    /// Replaces the content of a file.
    func setContent(
        of number: Int64, to content: FetchedContent, like other: Int64? = nil
    ) throws(FileSystemError) {
        try changing { state throws(FileSystemError) in
            try state.setContent(of: try state.tree.item(number), to: content, like: other)
        }
    }

    /// Sends the content of a file; returns its value.
    func send(_ number: Int64, to remote: MemoryRemote) throws -> [UInt8] {
        let sending = try beginSending { pack throws(TransferError) in remote.store(pack) }
        try sending.add(number)
        let values = try sending.finish()
        let value = values[number]?.bytes ?? []
        // As whoever publishes the value does.
        try changing { state throws(FileSystemError) in
            let item = try state.tree.item(number)
            item.row.unsent = []
            state.tree.touch(item, [])
        }
        return value
    }

    /// Replaces the content of a file by sent content.
    func receive(_ bytes: [UInt8], as number: Int64, like other: Int64? = nil) throws {
        let value = try ContentValue(bytes.span.bytes)
        let content = try contents.fetchExtents(of: value, for: number)
        try setContent(of: number, to: content, like: other)
        try changing { state throws(FileSystemError) in
            let item = try state.tree.item(number)
            item.row.unsent = []
            state.tree.touch(item, [])
        }
    }

    func rows(of number: Int64) throws -> [ExtentRow] {
        try state.withLock { try $0.index.extents(of: number, overlapping: 0..<Int64.max) }
    }

    /// The number of bytes of a file that are only on the remote.
    func missingByteCount(of number: Int64) throws -> Int {
        try rows(of: number).filter { $0.place == .remote }.reduce(0) { $0 + Int($1.length) }
    }

    /// The findings of a check of rows, pages and digests, without reading content.
    func indexProblems() throws -> [String] {
        try commitIndex()
        return try state.withLock { try $0.index.makeReader() }.problems()
    }
}

/// Two devices of one vault, and the remote between them.
struct TwoDevices {
    let testA: TestVault, testB: TestVault
    let a: Vault, b: Vault
    let problems = ProblemLog()
    let remote = MemoryRemote()

    init() throws {
        testA = try TestVault.create()
        testB = try testA.onAnotherDevice()
        a = try testA.open()
        b = try testB.open(problems: problems)
        a.contents.attach(remote)
        b.contents.attach(remote)
    }

    /// A file on A that B has received.
    func file(_ bytes: [UInt8], named name: String = "file") throws -> (a: Int64, b: Int64) {
        let numbers = (try a.makeFile(name, bytes), try b.makeFile(name))
        try b.receive(try a.send(numbers.0, to: remote), as: numbers.1)
        return numbers
    }
}

/// A request that a test waits for.
final class WaitingRequest: ReadRequest {
    private let answered = Condition<Result<[UInt8], FileSystemError>?>(nil)

    func answer(_ parts: [ReadPart]) {
        let bytes = parts.flatMap { part in part.buffer.withBytes(part.range) { $0.array } }
        answered.update { $0 = .success(bytes) }
    }

    func fail(_ error: FileSystemError) { answered.update { $0 = .failure(error) } }

    /// Acts like a signal to the reader.
    func interrupt() { interrupted.withLock { $0 = true } }
    var isInterrupted: Bool { interrupted.withLock { $0 } }
    private let interrupted = Condition(false)

    var isAnswered: Bool { answered.withLock { $0 != nil } }
    func wait() throws -> [UInt8] { try answered.wait { $0 }.get() }

    /// Reads as a mount does: the answer comes at once, or later to a request.
    static func read(_ item: Int64, at offset: Int, count: Int, in vault: Vault) throws -> [UInt8] {
        let request = WaitingRequest()
        let buffer = AlignedBuffer(count: count)
        let got = try vault.contents.read(
            item, at: Int64(offset), count: count, into: buffer, or: { request })
        return try got.map { got in buffer.withBytes(0..<got) { $0.array } } ?? request.wait()
    }
}
