internal import CofferSystem

/// Threads that perform requests which wait for the disk.
///
/// There may be any number of such requests; each costs no more than its names until a thread takes it. Bytes that
/// requests write are limited.
final class WaitingRequests: Sendable {
    /// The largest number of bytes that waiting requests hold.
    private static let byteCountMax = 4 << 20

    private struct Waiting {
        /// The node whose requests are performed one after the other; nil if the order does not matter.
        let node: Node?
        let perform: @Sendable () -> Void
    }

    private struct State {
        var requests: [Waiting] = []
        /// The nodes of the requests that are being performed.
        var busy: Set<Node> = []
        var byteCount = 0

        func isWaiting(for node: Node) -> Bool {
            busy.contains(node) || requests.contains { $0.node == node }
        }

        mutating func next() -> Waiting? {
            let index = requests.firstIndex { $0.node.map { !busy.contains($0) } ?? true }
            guard let index else { return nil }
            let next = requests.remove(at: index)
            if let node = next.node { busy.insert(node) }
            return next
        }
    }

    private let state = RankedMutex(State(), rank: .leaf)
    private let threads: Workers

    /// - Parameters:
    ///   - name: The name of the threads, as ps(1) shows it.
    ///   - countMax: The largest number of threads at a time.
    init(_ name: String = "coffer-wait", max countMax: Int = 4) {
        threads = Workers(name, max: countMax)
    }

    /// Whether a request that is to be performed in the order of a node's requests is waiting.
    func isWaiting(for node: Node) -> Bool {
        state.withLock { $0.isWaiting(for: node) }
    }

    /// Has a thread perform a request.
    ///
    /// - Parameter node: Requests with the same node are performed in the order of the calls.
    func perform(inOrderOf node: Node? = nil, _ request: @escaping @Sendable () -> Void) {
        state.withLock { $0.requests.append(Waiting(node: node, perform: request)) }
        // Without a thread, nothing else would perform it.
        if !threads.call({ self.performNext() }, leaving: {}) {
            LeavingWaits.suspended { while performNext() {} }
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
        guard let next = state.withLock({ $0.next() }) else { return false }
        next.perform()
        if let node = next.node { state.withLock { _ = $0.busy.remove(node) } }
        return true
    }
}
