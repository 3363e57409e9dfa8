package import CofferRemote
internal import Synchronization

/// A clock whose time passes only by sleeping, without any wait.
package final class SteppingClock: RemoteClock {
    private let state = Mutex((now: Duration.zero, sleeps: [Duration]()))

    /// A clock at zero.
    package init() {}

    package var now: Duration { state.withLock { $0.now } }

    /// The durations of all sleeps.
    package var sleeps: [Duration] { state.withLock { $0.sleeps } }

    package func sleep(for duration: Duration) async throws(RemoteError) {
        if Task.isCancelled { throw .cancelled }
        state.withLock { state in
            state.now += duration
            state.sleeps.append(duration)
        }
        await Task.yield()
    }

    /// Advances the time.
    package func pass(_ duration: Duration) { state.withLock { $0.now += duration } }
}
