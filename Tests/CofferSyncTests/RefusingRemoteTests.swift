import CofferRemote
import CofferSync
import Synchronization
import Testing

/// A remote that refuses everything at once, as for a wrong password.
@Suite struct RefusingRemoteTests {
    /// It is not asked again with each change.
    @Test func itIsLeftAlone() async throws {
        let world = try await SyncWorld()
        let olga = try world.device(world.owner, "laptop")
        try await olga.sync()
        let remote = Refusing()
        olga.restart(remote: remote)
        let clock = ManualClock()
        let run = Task { [engine = olga.engine] in await engine.run(clock: clock) }
        for _ in 0..<240 {
            olga.engine.localChange()
            clock.pass(.milliseconds(250))
            // Whatever runs now may end first; if it does not, there are fewer rounds.
            try await Task.sleep(for: .milliseconds(2))
        }
        run.cancel()
        await run.value
        // A round every three seconds, and a look at the next names as often.
        #expect((2...60).contains(remote.count), "\(remote.count) calls in a minute with 240 changes")
    }
}

/// A clock whose time passes when a test says so.
private final class ManualClock: RemoteClock {
    private struct State {
        var now = Duration.zero
        var sleepers: [(end: Duration, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    var now: Duration { state.withLock { $0.now } }

    func sleep(for duration: Duration) async throws(RemoteError) {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state -> Bool in
                    if Task.isCancelled { return true }
                    state.sleepers.append((state.now + duration, continuation))
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            wake { _ in true }
        }
        if Task.isCancelled { throw .cancelled }
    }

    func pass(_ duration: Duration) {
        let now = state.withLock { state in
            state.now += duration
            return state.now
        }
        wake { $0 <= now }
    }

    /// Wakes sleepers; one that is woken too early goes on too early, which only makes more rounds.
    private func wake(_ isDue: (Duration) -> Bool) {
        let due = state.withLock { state in
            let due = state.sleepers.filter { isDue($0.end) }
            state.sleepers.removeAll { isDue($0.end) }
            return due
        }
        for sleeper in due { sleeper.continuation.resume() }
    }
}

/// Refuses all calls, and counts them.
private final class Refusing: RemoteBackend {
    private let calls = Mutex(0)

    var count: Int { calls.withLock { $0 } }

    private func refusal() -> RemoteError {
        calls.withLock { $0 += 1 }
        return .refused("the password")
    }

    let limits = RemoteLimits(objectByteCountMax: 1 << 30, rangeByteCountMax: 1 << 20, concurrentCallsMax: 4)

    func describe() -> String { "refusing" }
    func changes(below prefix: RemotePrefix) -> RemoteChanges { RemoteChanges { $0.finish() } }

    func get(_ name: RemoteName, _ range: Range<Int>) async throws(RemoteError) -> RemoteContent {
        throw refusal()
    }

    func put(_ name: RemoteName, _ bytes: RemoteBytes, ifAbsent: Bool) async throws(RemoteError) {
        throw refusal()
    }

    func list(_ prefix: RemotePrefix, after: RemoteName?) async throws(RemoteError) -> RemotePage {
        throw refusal()
    }

    func delete(_ name: RemoteName) async throws(RemoteError) { throw refusal() }
}
