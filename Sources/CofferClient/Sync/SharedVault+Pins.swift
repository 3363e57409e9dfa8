internal import CofferFUSE
internal import CofferSync
internal import CofferSystem
internal import CofferVault
internal import Synchronization

// What others change in pinned files is fetched in the background.
extension SharedVault {
    /// How often it is looked whether something was changed.
    private static let pinPause = Duration.seconds(3)
    /// How long it is left alone after a look that took long.
    private static let walkPauseMax = Duration.seconds(30)
    /// How long nothing is tried after a failure: a fetch of its own has tried again for some seconds.
    private static let failurePause = Duration.seconds(30)
    /// The same where that cannot help soon: the disk is full, or something is damaged.
    private static let longPause = Duration.seconds(600)

    /// Fetches what is missing of pinned contents, until the task is cancelled.
    func fetchPinned() async {
        let thread = BlockingThread("coffer-pin")
        let ending = Condition(false)
        var change: Int64?
        var pause = Self.pinPause
        await withTaskCancellationHandler {
            while (try? await Task.sleep(for: pause)) != nil {
                pause = Self.pinPause
                let vault = mounted.vault
                guard vault.mayHavePins, await engine.status.failure == nil else { continue }
                let (known, start) = (change, Clock.monotonic)
                switch await thread.run({
                    vault.fetchPinned(since: known, while: { !ending.withLock { $0 } })
                }) {
                case .unchanged: continue
                case .interrupted: return
                case .complete(let now): change = now
                case .failed(let error): pause = note(error)
                }
                // To go through a large tree takes its time: most of it is left to others.
                pause = max(pause, min(Self.walkPauseMax, .nanoseconds(10 * (Clock.monotonic - start))))
            }
        } onCancel: {
            ending.update { $0 = true }
        }
    }

    /// How long to wait after a failure; somebody should know of some.
    private func note(_ error: FileSystemError) -> Duration {
        switch error {
        case .unreachable, .timedOut, .notArrived: return Self.failurePause
        case .noSpace:
            problems.add("“\(name)”: pinned contents are not fetched: \(error.summary).")
            return Self.longPause
        default:
            // Damage and missing keys are in the problem log already.
            return Self.longPause
        }
    }
}
