internal import CofferSystem

/// Performs the requests that change names while changes from elsewhere hold a vault's names, so that other requests
/// need not wait for that.
final class NamesThread: Sendable {
    private struct Work {
        var waiting: [@Sendable () -> Void] = []
        var isStopped = false
        var thread: Thread?
    }

    private let work = Condition(Work())

    /// Takes over a request; starts the thread with the first.
    func take(_ request: @escaping @Sendable () -> Void) throws(SystemError) {
        try work.update { work throws(SystemError) in
            if work.thread == nil { work.thread = try Thread.start("coffer-names") { [self] in run() } }
            work.waiting.append(request)
        }
    }

    /// Ends the thread once all requests are answered.
    func stop() {
        let thread = work.update { work in
            work.isStopped = true
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
