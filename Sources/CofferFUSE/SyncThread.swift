internal import CofferSystem
internal import CofferVault

/// Answers the fsyncs that have much to write, so that other requests need not wait for them.
final class SyncThread: Sendable {
    /// Bytes on their way to the disk from which on an fsync is handed over.
    static let byteCountMin = 4 << 20

    private struct Waiting {
        let request: HeldRequest
        let vault: Vault
    }

    private struct Work {
        var waiting: [Waiting] = []
        var isStopped = false
        var thread: Thread?
    }

    private let work = Condition(Work())

    /// Takes over a request; starts the thread with the first.
    func take(_ request: HeldRequest, for vault: Vault) throws(SystemError) {
        let waiting = Waiting(request: request, vault: vault)
        try work.update { work throws(SystemError) in
            if work.thread == nil { work.thread = try Thread.start("coffer-sync") { [self] in run() } }
            work.waiting.append(waiting)
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
            let batch: [Waiting] = work.wait { work in
                if work.waiting.isEmpty { return work.isStopped ? [] : nil }
                defer { work.waiting = [] }
                return work.waiting
            }
            if batch.isEmpty { return }
            for waiting in batch {
                waiting.request.reply?.confirm { () throws(FileSystemError) in
                    try waiting.vault.commit()
                }
            }
        }
    }
}
