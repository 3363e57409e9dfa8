internal import CofferSystem

/// Performs requests that have to wait for something, so that other requests need not wait.
final class RequestThread: Sendable {
    private struct Work {
        var waiting: [@Sendable () -> Void] = []
        var count = 0
        var isStopped = false
        var thread: Thread?
    }

    private let name: String
    private let work = Condition(Work(), rank: .leaf)

    /// Makes the queue; its thread starts with the first request.
    ///
    /// - Parameter name: The thread's name, as ps(1) shows it.
    init(_ name: String) {
        self.name = name
    }

    /// The number of requests enqueued so far; for tests.
    var count: Int { work.withLock { $0.count } }

    /// Adds a request to the queue; starts the thread if it is the first.
    ///
    /// - Returns: False if the thread was stopped or cannot be started; the request is then not performed.
    func enqueue(_ request: @escaping @Sendable () -> Void) -> Bool {
        work.update { work in
            if work.isStopped { return false }
            if work.thread == nil { work.thread = try? Thread.start(name) { [self] in run() } }
            guard work.thread != nil else { return false }
            work.waiting.append(request)
            work.count += 1
            return true
        }
    }

    /// Ends the thread once all requests are answered.
    func stop() {
        let thread = work.update { work in
            work.isStopped = true
            defer { work.thread = nil }
            return work.thread
        }
        thread?.join()
    }

    private func run() {
        while true {
            let batch: [@Sendable () -> Void] = work.wait { work in
                if work.waiting.isEmpty { return work.isStopped ? [] : nil }
                defer { work.waiting = [] }
                return work.waiting
            }
            if batch.isEmpty { return }
            for request in batch { request() }
        }
    }
}
