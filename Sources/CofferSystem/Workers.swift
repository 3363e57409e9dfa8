/// A few threads that come with work and go when there was none for some seconds.
package final class Workers: Sendable {
    private struct State {
        /// Threads that will still hear a call.
        var running = 0
        /// Those of them that wait for one.
        var asleep = 0
        /// Calls that were not heard yet.
        var calls = 0
        /// Threads that do what the last one does before it goes.
        var leaving = 0
        var isStopped = false

        /// What a thread that waits does next; nil if it goes on waiting.
        ///
        /// One step under the lock: no call may come between a thread's decision to go and the moment from
        /// which nobody counts on it.
        mutating func next(isLate: Bool) -> Next? {
            if calls > 0 {
                calls -= 1
                asleep -= 1
                return .work
            }
            guard isLate || isStopped else { return nil }
            asleep -= 1
            running -= 1
            if running > 0 { return .go }
            leaving += 1
            return .goLast
        }
    }

    private enum Next {
        case work, go, goLast
    }

    private let name: String
    private let countMax: Int
    /// How long a thread waits for a call before it goes, in nanoseconds.
    private let patience: Int64
    private let state = Condition(State())

    /// - Parameter name: Of the threads, for ps(1); up to 15 bytes.
    package init(_ name: String, max countMax: Int, patience: Int64 = 3_000_000_000) {
        self.name = name
        self.countMax = countMax
        self.patience = patience
    }

    /// Calls a thread to work.
    ///
    /// - Parameters:
    ///   - work: Does a piece of work, again and again until it answers that there is none.
    ///   - leave: What the last thread does before it goes.
    /// - Returns: Whether a thread hears it. If not, as none can be started or all are stopped, the caller
    ///   is to do what must not wait.
    @discardableResult
    package func call(
        _ work: @escaping @Sendable () -> Bool, leaving leave: @escaping @Sendable () -> Void
    ) -> Bool {
        let (starts, wakes, isHeard) = state.withLock { state in
            if state.isStopped, state.running == 0 { return (false, false, false) }
            state.calls = min(state.calls + 1, countMax)
            let starts = state.asleep == 0 && state.running < countMax && !state.isStopped
            if starts { state.running += 1 }
            return (starts, state.asleep > 0, true)
        }
        if wakes { state.update { _ in } }
        guard starts else { return isHeard }
        do throws(SystemError) {
            try Thread.startDetached(name) { [self] in run(work, leave) }
            return true
        } catch {
            return state.update { state in
                state.running -= 1
                return state.running > 0
            }
        }
    }

    /// Ends the threads, once there is no work any more, and waits until they are gone.
    package func stop() {
        state.update { $0.isStopped = true }
        _ = state.wait { $0.running == 0 && $0.leaving == 0 ? true : nil }
    }

    private func run(_ work: () -> Bool, _ leave: () -> Void) {
        while true {
            while work() {}
            switch waitForCall() {
            case .work: continue
            case .go: return state.update { _ in }
            case .goLast:
                leave()
                return state.update { $0.leaving -= 1 }
            }
        }
    }

    private func waitForCall() -> Next {
        state.withLock { $0.asleep += 1 }
        while true {
            if let next = state.wait(nanoseconds: patience, for: { $0.next(isLate: false) }) { return next }
            if let next = state.withLock({ $0.next(isLate: true) }) { return next }
        }
    }
}
