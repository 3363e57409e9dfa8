internal import CofferCrypto
internal import CofferSystem

/// Moves a large file in pieces of 1 MiB, several of them in parallel.
///
/// The content is random, so that no disk can compress it.
struct BenchTransfer {
    static let pieceByteCount = 1 << 20

    let file: any StorageFile
    let times: BenchTimes
    /// The number of pieces in flight; a mount keeps two writes of a pack in flight.
    let width: Int

    /// The state that the threads of a transfer share.
    private struct State {
        var next = 0
        var done = 0
        var failure: SystemError?
    }

    /// Writes up to `count` bytes within the time limit, and flushes them.
    ///
    /// - Returns: The rate in MB/s, and the number of bytes; nil if there were none.
    func write(_ count: Int) throws(SystemError) -> (rate: Double, count: Int)? {
        try move(count, flushes: true) { [file] buffer, offset throws(SystemError) in
            try buffer.withBytes(0..<Self.pieceByteCount) { bytes throws(SystemError) in
                try file.write(bytes, at: offset)
            }
        }
    }

    /// Reads up to `count` bytes within the time limit.
    func read(_ count: Int) throws(SystemError) -> (rate: Double, count: Int)? {
        try move(count, flushes: false) { [file] buffer, offset throws(SystemError) in
            let got = try buffer.withMutableBytes(0..<Self.pieceByteCount) { bytes throws(SystemError) in
                try file.read(into: &bytes, at: offset)
            }
            guard got == Self.pieceByteCount else { throw SystemError("read", code: 5, on: "bench") }
        }
    }

    private func move(
        _ count: Int, flushes: Bool,
        _ piece: @escaping @Sendable (AlignedBuffer, Int) throws(SystemError) -> Void
    ) throws(SystemError) -> (rate: Double, count: Int)? {
        let state = Condition(State())
        let buffers = (0..<width).map { _ in AlignedBuffer(count: Self.pieceByteCount) }
        if flushes {
            let content = Random.bytes(Self.pieceByteCount)
            for buffer in buffers { unsafe buffer.copy(content.span.bytes, to: 0) }
        }
        let stop = times.stop
        let start = Clock.monotonic
        let work: @Sendable (AlignedBuffer) -> Void = { buffer in
            while BenchTimes.seconds(since: start) < BenchTimes.transfer, !stop.isSet {
                let offset = state.withLock { state -> Int in
                    defer { state.next += Self.pieceByteCount }
                    return state.failure == nil ? state.next : count
                }
                if offset >= count { return }
                do throws(SystemError) {
                    try piece(buffer, offset)
                    state.withLock { $0.done += Self.pieceByteCount }
                } catch {
                    state.withLock { $0.failure = error }
                }
            }
        }
        var others: [Thread] = []
        for buffer in buffers.dropFirst() {
            others.append(try Thread.start("coffer-bench") { work(buffer) })
        }
        work(buffers[0])
        for thread in others { thread.join() }
        let (done, failure) = state.withLock { ($0.done, $0.failure) }
        if let failure { throw failure }
        if flushes, done > 0 { try file.dataSync() }
        let seconds = BenchTimes.seconds(since: start)
        return done == 0 || stop.isSet ? nil : (Double(done) / seconds / 1e6, done)
    }
}
