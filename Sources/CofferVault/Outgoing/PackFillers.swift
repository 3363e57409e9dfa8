internal import CofferSystem

/// Threads that help the sending thread to fill packs.
final class PackFillers: Sendable {
    private let waiting = RankedMutex([PackFilling](), rank: .leaf)
    private let workers = Workers("coffer-send", max: 2)

    /// Makes threads help, as far as they are available.
    func help(_ filling: PackFilling, count: Int) {
        waiting.withLock { $0 += Array(repeating: filling, count: count) }
        for _ in 0..<count { workers.call({ self.helpNext() }, leaving: {}) }
    }

    /// Records that a pack needs no more help.
    func end(_ filling: PackFilling) {
        waiting.withLock { $0.removeAll { $0 === filling } }
    }

    /// Ends the threads.
    func stop() { workers.stop() }

    private func helpNext() -> Bool {
        guard let next = waiting.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) else { return false }
        while next.fillNext() {}
        return true
    }
}
