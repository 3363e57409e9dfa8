internal import CofferFormat
internal import CofferSystem
internal import CofferVault
internal import Glibc
internal import Synchronization

/// The reads of a mount that other threads answer later.
final class DeferredReads: Sendable {
    private let open = Condition(0, rank: .leaf)
    private let isEnding = Atomic(false), isLocking = Atomic(false)

    fileprivate var isOver: Bool { isEnding.load(ordering: .relaxed) || isLocked }
    /// Whether reads that give up are answered as by a locked mount.
    fileprivate var isLocked: Bool { isLocking.load(ordering: .relaxed) }

    /// Registers a read that will be answered later.
    func add(_ request: HeldRequest) -> any ReadRequest {
        open.withLock { $0 += 1 }
        return DeferredRead(request, self)
    }

    fileprivate func countAnswered() {
        let isLast = open.withLock { open in
            open -= 1
            return open == 0
        }
        if isLast { open.update { _ in } }
    }

    /// Marks all reads as interrupted, so that none waits any longer for contents to arrive.
    func end() { isEnding.store(true, ordering: .relaxed) }

    /// Lets no read wait any longer for contents to arrive while the mount is being locked.
    func setLocking(_ isLocking: Bool) { self.isLocking.store(isLocking, ordering: .relaxed) }

    /// Returns once all reads are answered.
    func wait() {
        _ = open.wait { $0 == 0 ? true : nil }
    }
}

private final class DeferredRead: ReadRequest {
    private let request: HeldRequest
    private let reads: DeferredReads

    init(_ request: HeldRequest, _ reads: DeferredReads) {
        self.request = request
        self.reads = reads
    }

    func answer(_ parts: [ReadPart]) {
        request.reply?.bytes(parts)
        reads.countAnswered()
    }

    func fail(_ error: FileSystemError) {
        // The program has a signal to handle, and may read again. Other errors are permanent, and are
        // reported.
        if case .stale = error, request.isInterrupted {
            request.reply?.code(EINTR)
        } else if case .stale = error, reads.isLocked {
            request.reply?.code(ENOKEY)
        } else {
            request.reply?.failure(error)
        }
        reads.countAnswered()
    }

    var isInterrupted: Bool { reads.isOver || request.isInterrupted }
}
