internal import Synchronization

/// Wakes the loop that runs rounds, and tells it what to look at.
final class Wakes: Sendable {
    private struct State {
        var scope: RoundScope?
        var sleeper: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    /// Wakes the sleeper, or the next one before it sleeps.
    func wake(_ scope: RoundScope) {
        let sleeper = state.withLock { state in
            if state.scope == nil { state.scope = scope } else { state.scope?.formUnion(scope) }
            defer { state.sleeper = nil }
            return state.sleeper
        }
        sleeper?.resume()
    }

    /// Returns once there is something to look at; only one task may sleep at a time.
    func sleep() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isAwake = state.withLock { state in
                    let isAwake = state.scope != nil || Task.isCancelled
                    if !isAwake { state.sleeper = continuation }
                    return isAwake
                }
                if isAwake { continuation.resume() }
            }
        } onCancel: {
            let sleeper = state.withLock { state in
                defer { state.sleeper = nil }
                return state.sleeper
            }
            sleeper?.resume()
        }
    }

    /// What to look at.
    func peek() -> RoundScope { state.withLock { $0.scope ?? .changes } }

    /// What to look at; resets it.
    func next() -> RoundScope {
        state.withLock { state in
            defer { state.scope = nil }
            return state.scope ?? .changes
        }
    }
}
