internal import CofferSystem

/// The notifications of the kernel that are under way in a mount.
///
/// The kernel may make each wait until requests are answered, and nothing ends the wait, not even a signal. So none may
/// be under way when the mount is not served any more.
final class Notifications: Sendable {
    private struct State {
        var count = 0
        var isOver = false
    }

    private let state = Condition(State(), rank: .leaf)

    /// Makes a notification; does nothing after `end`.
    func perform(_ body: () -> Void) {
        let mayBegin = state.withLock { state in
            if !state.isOver { state.count += 1 }
            return !state.isOver
        }
        guard mayBegin else { return }
        body()
        state.update { $0.count -= 1 }
    }

    /// Lets no more begin, and returns when those under way have ended; requests must be answered until then.
    func end() {
        state.update { $0.isOver = true }
        _ = state.wait { $0.count == 0 ? true : nil }
    }
}
