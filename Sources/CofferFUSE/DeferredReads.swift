internal import CFuse3
internal import CofferSystem
internal import CofferVault

/// The reads of a mount that other threads answer.
final class DeferredReads: Sendable {
    private let open = Condition(0)

    /// A read that will be answered later.
    func note(_ request: fuse_req_t?) -> any ReadRequest {
        open.withLock { $0 += 1 }
        return unsafe DeferredRead(request, self)
    }

    fileprivate func noteAnswered() {
        let isLast = open.withLock { open in
            open -= 1
            return open == 0
        }
        if isLast { open.update { _ in } }
    }

    /// Returns once all are answered.
    func wait() {
        _ = open.wait { $0 == 0 ? true : nil }
    }
}

// SAFETY: libfuse keeps the request until it is answered, which its one owner does once.
@safe
private final class DeferredRead: ReadRequest, @unchecked Sendable {
    private let request: fuse_req_t?
    private let reads: DeferredReads

    init(_ request: fuse_req_t?, _ reads: DeferredReads) {
        unsafe self.request = unsafe request
        self.reads = reads
    }

    func answer(_ parts: [ReadPart]) {
        unsafe Reply(request)?.bytes(parts)
        reads.noteAnswered()
    }

    func fail(_ error: FileSystemError) {
        unsafe Reply(request)?.failure(error)
        reads.noteAnswered()
    }
}
