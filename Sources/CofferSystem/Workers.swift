/// A few threads that start when there is work, and end after some seconds without any.
package final class Workers: Sendable {
    private struct State {
        /// Threads that will still see a call.
        var running = 0
        /// Those of them that wait for one.
        var asleep = 0
        /// Calls that no thread has seen yet.
        var calls = 0
        /// Threads that run the closing work of the last thread.
        var leaving = 0
        var isStopped = false

        /// What a waiting thread does next; nil if it keeps waiting.
        ///
        /// One step under the lock: no call may come between a thread's decision to end and the moment from
        /// which no caller counts on it.
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
    /// How long a thread waits for a call before it ends, in nanoseconds.
    private let patience: Int64
    private let state = Condition(State(), rank: .leaf)

    /// Begins without threads.
    ///
    /// - Parameters:
    ///   - name: The name of the threads, for ps(1); up to 15 bytes.
    ///   - countMax: The largest number of threads at a time.
    ///   - patience: How long a thread waits for a call before it ends, in nanoseconds.
    package init(_ name: String, max countMax: Int, patience: Int64 = 3_000_000_000) {
        self.name = name
        self.countMax = countMax
        self.patience = patience
    }

    /// Has a thread do work.
    ///
    /// - Parameters:
    ///   - work: Does one piece of work, and returns whether there may be more; repeated until it returns
    ///     false.
    ///   - leave: Run by the last thread before it ends.
    /// - Returns: Whether a thread sees the call. If not, because none can be started or all have stopped,
    ///   the caller must do whatever cannot wait.
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

    /// Ends the threads once there is no more work, and waits until they have ended.
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
