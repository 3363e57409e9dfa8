/// Tells that the kernel's queue has been read to where it ended, although programs ask on and on.
///
/// The queue is in order, and a thread that waits for an answer has no other request in it. So once a thread asks
/// again that was refused before, everything has been read that had been queued by then.
///
/// Belongs to the serving thread.
struct PassedQueue {
    private var refused: Set<UInt32> = []
    private var fence = 0

    /// Notes a request that is refused while none is unanswered, before it gets its answer.
    ///
    /// - Parameter fence: What somebody waits for.
    /// - Returns: Whether that is passed.
    mutating func isPassed(by request: WireRequest, _ fence: Int) -> Bool {
        if fence != self.fence { refused = [] }
        self.fence = fence
        return request.isAwaited && !refused.insert(request.thread).inserted
    }

    /// Notes a request that is not refused.
    mutating func restart() {
        if !refused.isEmpty { refused = [] }
    }
}
