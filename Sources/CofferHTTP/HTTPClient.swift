internal import Synchronization

/// Sends HTTP requests for tasks, over connections that it keeps (libcurl).
///
/// One thread drives all transfers. HTTP/2 is used where the server offers it, and proxies as the environment
/// names them (http_proxy, https_proxy, no_proxy), but never for this machine itself. Certificates are always
/// checked. Redirects
/// are answers like others, and are not followed.
package final class HTTPClient: Sendable {
    private let loop: HTTPLoop

    /// Makes a client; its thread starts with its first request.
    package init(_ settings: HTTPSettings = HTTPSettings()) {
        loop = HTTPLoop(settings)
    }

    deinit { loop.stop() }

    /// Sends a request and waits for the whole answer.
    ///
    /// A cancelled call ends soon, and has let go of the request's body when it does.
    ///
    /// - Throws: If there is no answer. A status that means an error does not throw.
    package func perform(_ request: HTTPRequest) async throws(HTTPError) -> HTTPResponse {
        let call = HTTPCall(request)
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                call.begin(continuation)
                loop.submit(call)
            }
        } onCancel: {
            call.cancel()
            loop.sweep()
        }
        return try result.get()
    }
}

/// One request, and the task that waits for its answer.
final class HTTPCall: Sendable {
    typealias Outcome = Result<HTTPResponse, HTTPError>

    let request: HTTPRequest
    private let continuation = Mutex<CheckedContinuation<Outcome, Never>?>(nil)
    private let cancelled = Atomic(false)

    init(_ request: HTTPRequest) {
        self.request = request
    }

    /// Registers the waiting task.
    func begin(_ task: CheckedContinuation<Outcome, Never>) { continuation.withLock { $0 = task } }

    var isCancelled: Bool { cancelled.load(ordering: .acquiring) }

    func cancel() { cancelled.store(true, ordering: .releasing) }

    /// Resumes the task; only the first answer counts.
    func answer(_ outcome: Outcome) {
        let task = continuation.withLock { continuation in
            defer { continuation = nil }
            return continuation
        }
        task?.resume(returning: outcome)
    }
}
