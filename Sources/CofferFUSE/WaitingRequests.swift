internal import CofferSystem

/// Threads that perform requests which wait for the disk.
///
/// There may be any number of such requests; each costs no more than its names until a thread takes it. Bytes that
/// requests write are limited.
final class WaitingRequests: Sendable {
    /// The largest number of bytes that waiting requests hold.
    private static let byteCountMax = 4 << 20

    private struct State {
        var requests: [@Sendable () -> Void] = []
        var byteCount = 0
    }

    private let state = RankedMutex(State(), rank: .leaf)
    private let threads = Workers("coffer-wait", max: 4)

    /// Has a thread perform a request.
    func perform(_ request: @escaping @Sendable () -> Void) {
        state.withLock { $0.requests.append(request) }
        // Without a thread, nothing else would perform it.
        if !threads.call({ self.performNext() }, leaving: {}) {
            while performNext() {}
        }
    }

    /// Has a thread perform a request with a copy of the bytes that it writes.
    ///
    /// - Returns: False if the requests that wait hold too many bytes already.
    func perform(with bytes: RawSpan, _ request: @escaping @Sendable ([UInt8]) -> Void) -> Bool {
        let count = bytes.byteCount
        let hasRoom = state.withLock { state in
            guard state.byteCount + count <= Self.byteCountMax else { return false }
            state.byteCount += count
            return true
        }
        guard hasRoom else { return false }
        let copy = bytes.array
        perform { [self] in
            request(copy)
            state.withLock { $0.byteCount -= count }
        }
        return true
    }

    /// Ends the threads once all requests are answered.
    func stop() { threads.stop() }

    private func performNext() -> Bool {
        let next = state.withLock { $0.requests.isEmpty ? nil : $0.requests.removeFirst() }
        guard let next else { return false }
        next()
        return true
    }
}
