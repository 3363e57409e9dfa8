internal import CofferFUSE
internal import CofferFormat
internal import CofferSync
internal import CofferSystem
internal import CofferVault
internal import Synchronization

// Fetches changes of pinned files in the background.
extension SharedVault {
    /// The pause between searches for missing content.
    private static let pinPause = Duration.seconds(3)
    /// The longest pause after a search that took long.
    private static let walkPauseMax = Duration.seconds(30)
    /// The pause after a failed fetch, which has itself retried for some seconds.
    private static let failurePause = Duration.seconds(30)
    /// The pause after a failure that will not pass soon: a full disk, or damage.
    private static let longPause = Duration.seconds(600)

    /// Fetches the missing content of pinned items until the task is cancelled.
    func fetchPinned() async {
        let thread = BlockingCalls("coffer-pin", max: 1)
        let ending = Atomic(false)
        var change: Int64?
        var pause = Self.pinPause
        await withTaskCancellationHandler {
            while (try? await Task.sleep(for: pause)) != nil {
                pause = Self.pinPause
                let vault = mounted.vault
                guard vault.cache.mayHavePins, await engine.status.failure == nil else { continue }
                let (known, start) = (change, Clock.monotonic)
                switch await thread.run({
                    vault.cache.fetchPinned(since: known, while: { !ending.load(ordering: .relaxed) })
                }) {
                case .unchanged: continue
                case .interrupted: return
                case .complete(let now): change = now
                case .failed(let error): pause = pauseAfter(error)
                }
                // Walking a large tree takes long, so the pause is ten times as long, up to a limit.
                pause = max(pause, min(Self.walkPauseMax, .nanoseconds(10 * (Clock.monotonic - start))))
            }
        } onCancel: {
            ending.store(true, ordering: .relaxed)
        }
    }

    /// Returns the pause after a failure, and logs a full disk as a problem.
    private func pauseAfter(_ error: FileSystemError) -> Duration {
        switch error {
        case .unreachable, .timedOut, .notArrived: return Self.failurePause
        case .noSpace:
            problems.add("“\(name)”: pinned content cannot be fetched: \(error.summary).")
            return Self.longPause
        default:
            // The problem log already has damage and missing keys.
            return Self.longPause
        }
    }
}
