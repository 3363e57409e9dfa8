/// A few threads that come with work and go when there was none for some seconds.
package final class Workers: Sendable {
    private struct State {
        var running = 0
        var asleep = 0
        /// Calls that were not heard yet.
        var calls = 0
        var isStopped = false
    }

    private static let patience: Int64 = 3_000_000_000

    private let name: String
    private let countMax: Int
    private let state = Condition(State())

    /// - Parameter name: Of the threads, for ps(1); up to 15 bytes.
    package init(_ name: String, max countMax: Int) {
        self.name = name
        self.countMax = countMax
    }

    /// Calls a thread to work.
    ///
    /// - Parameters:
    ///   - work: Does a piece of work, again and again until it answers that there is none.
    ///   - leave: What the last thread does before it goes.
    package func call(_ work: @escaping @Sendable () -> Bool, leaving leave: @escaping @Sendable () -> Void) {
        let (starts, wakes) = state.withLock { state in
            state.calls = min(state.calls + 1, countMax)
            let starts = state.asleep == 0 && state.running < countMax && !state.isStopped
            if starts { state.running += 1 }
            return (starts, state.asleep > 0)
        }
        if wakes { state.update { _ in } }
        guard starts else { return }
        do throws(SystemError) {
            try Thread.startDetached(name) { [self] in run(work, leave) }
        } catch {
            // Without the thread the work is done by whoever needs it done.
            state.update { $0.running -= 1 }
        }
    }

    /// Ends the threads and waits until they are gone.
    package func stop() {
        state.update { $0.isStopped = true }
        _ = state.wait { $0.running == 0 ? true : nil }
    }

    private func run(_ work: () -> Bool, _ leave: () -> Void) {
        repeat { while work() {} } while isCalled()
        let isLast = state.withLock { $0.running == 1 }
        if isLast { leave() }
        state.update { $0.running -= 1 }
    }

    /// Waits for a call; false when the thread is to go.
    private func isCalled() -> Bool {
        state.withLock { $0.asleep += 1 }
        defer { state.withLock { $0.asleep -= 1 } }
        return state.wait(nanoseconds: Self.patience) { state in
            if state.isStopped { return false }
            guard state.calls > 0 else { return nil }
            state.calls -= 1
            return true
        } ?? false
    }
}
