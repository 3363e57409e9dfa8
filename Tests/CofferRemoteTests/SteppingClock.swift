import CofferRemote
import Synchronization

/// A clock on which time passes only by sleeping, and then at once.
final class SteppingClock: RemoteClock {
    private let state = Mutex((now: Duration.zero, sleeps: [Duration]()))

    var now: Duration { state.withLock { $0.now } }

    /// How long each sleep was.
    var sleeps: [Duration] { state.withLock { $0.sleeps } }

    func sleep(for duration: Duration) async throws(RemoteError) {
        if Task.isCancelled { throw .cancelled }
        state.withLock { state in
            state.now += duration
            state.sleeps.append(duration)
        }
        await Task.yield()
    }

    /// Lets time pass.
    func pass(_ duration: Duration) { state.withLock { $0.now += duration } }
}
