import CofferFormat
import CofferSystem
import CofferVault

/// A read that other threads may answer, for tests.
final class AwaitedRead: ReadRequest {
    private struct State {
        var answers: [Result<[UInt8], FileSystemError>] = []
    }

    private let state = Condition(State())

    func answer(_ parts: [ReadPart]) {
        let bytes = parts.flatMap { part in part.buffer.withBytes(part.range) { $0.array } }
        state.update { $0.answers.append(.success(bytes)) }
    }

    func fail(_ error: FileSystemError) { state.update { $0.answers.append(.failure(error)) } }

    struct NoAnswer: Error {}

    /// The answer; none within a minute is a failure.
    func wait() throws -> [UInt8] {
        let answer = state.wait(nanoseconds: 60_000_000_000) { $0.answers.first }
        guard let answer else { throw NoAnswer() }
        return try answer.get()
    }

    var answerCount: Int { state.withLock { $0.answers.count } }
}

extension Vault {
    /// Reads as a mount does: the answer comes at once, or is awaited.
    func ask(
        _ number: Int64, at offset: Int, count: Int, into buffer: AlignedBuffer
    ) throws -> (bytes: [UInt8]?, request: AwaitedRead?) {
        var request: AwaitedRead?
        let got = try contents.read(number, at: Int64(offset), count: count, into: buffer) {
            let made = AwaitedRead()
            request = made
            return made
        }
        if let got { return (buffer.withBytes(0..<got) { $0.array }, nil) }
        return (nil, request)
    }

    /// Reads an item sequentially as a mount does, `depth` requests at a time.
    ///
    /// - Returns: Its bytes, and the number of requests that a stream answered.
    func stream(
        _ number: Int64, from start: Int = 0, step: Int = 128 << 10, depth: Int = 1
    ) throws -> (bytes: [UInt8], streamed: Int) {
        let buffer = AlignedBuffer(count: step)
        var bytes: [UInt8] = []
        var streamed = 0, offset = start
        var open: [(bytes: [UInt8]?, request: AwaitedRead?)] = []
        while true {
            open.append(try ask(number, at: offset, count: step, into: buffer))
            offset += step
            guard open.count == depth else { continue }
            let (atOnce, request) = open.removeFirst()
            if request != nil { streamed += 1 }
            let got = try atOnce ?? request?.wait() ?? []
            bytes += got
            if got.isEmpty {
                for (_, request) in open { _ = try request?.wait() }
                return (bytes, streamed)
            }
        }
    }
}
