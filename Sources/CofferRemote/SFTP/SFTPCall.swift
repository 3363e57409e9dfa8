internal import Synchronization

/// A call of a backend, whose thread ends soon once the task that waits for it is cancelled.
final class SFTPCall: Sendable {
    private let cancelled = Atomic(false)

    var isCancelled: Bool { cancelled.load(ordering: .relaxed) }

    func cancel() { cancelled.store(true, ordering: .relaxed) }
}
