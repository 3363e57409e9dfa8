import CofferSystem
import Testing

/// Threads that start with work and end without it.
@Suite struct WorkersTests {
    /// The amount of work, and what the threads did.
    private final class Desk: Sendable {
        struct State {
            var work = 0
            var done = 0
            var left = 0
            var working = 0
            var workingMax = 0
        }

        let state = Condition(State())

        func takeOne() -> Bool {
            state.update { state in
                guard state.work > 0 else { return false }
                state.work -= 1
                state.done += 1
                return true
            }
        }

        func leave() { state.update { $0.left += 1 } }

        @discardableResult
        func bring(_ count: Int, to workers: Workers) -> Bool {
            state.withLock { $0.work += count }
            return workers.call({ self.takeOne() }, leaving: { self.leave() })
        }

        /// Whether a condition comes true; gives up after half a minute, so that a lost call fails the test.
        func comes(_ isTrue: (State) -> Bool) -> Bool {
            state.wait(nanoseconds: 30_000_000_000) { isTrue($0) ? true : nil } ?? false
        }
    }

    @Test func aThreadStartsSleepsIsCalledAndEnds() {
        let desk = Desk()
        let workers = Workers("test", max: 1, patience: 200_000_000)
        for round in 1...5 {
            #expect(desk.bring(3, to: workers))
            #expect(desk.comes { $0.done == 3 * round }, "round \(round)")
        }
        #expect(desk.comes { $0.left == 1 })
        #expect(desk.bring(1, to: workers))
        #expect(desk.comes { $0.done == 16 && $0.left == 2 })
        workers.stop()
    }

    /// Threads that end at once: a call during the end of one must not be lost.
    @Test(arguments: [1, 2])
    func noCallIsLost(countMax: Int) {
        let desk = Desk()
        let workers = Workers("test", max: countMax, patience: 1)
        var random = SystemRandomNumberGenerator()
        for round in 1...3000 {
            desk.bring(1, to: workers)
            guard desk.comes({ $0.done == round }) else {
                Issue.record("the call of round \(round) was lost")
                return
            }
            for _ in 0..<Int.random(in: 0..<200, using: &random) { _ = Clock.monotonic }
        }
        workers.stop()
        #expect(desk.state.withLock { $0.left } > 0)
    }

    @Test func noMoreThreadsThanAllowedWorkAtATime() {
        let desk = Desk()
        let workers = Workers("test", max: 2)
        let work: @Sendable () -> Bool = {
            let isWork = desk.state.update { state in
                guard state.work > 0 else { return false }
                state.work -= 1
                state.working += 1
                state.workingMax = max(state.workingMax, state.working)
                return true
            }
            guard isWork else { return false }
            // Both work at the same time at least once.
            _ = desk.state.wait(nanoseconds: 10_000_000_000) { $0.workingMax >= 2 ? true : nil }
            desk.state.update { state in
                state.working -= 1
                state.done += 1
            }
            return true
        }
        desk.state.withLock { $0.work = 40 }
        for _ in 0..<10 { workers.call(work, leaving: {}) }
        #expect(desk.comes { $0.done == 40 })
        #expect(desk.state.withLock { $0.workingMax } == 2)
        workers.stop()
    }

    @Test func stopWaitsForWorkAndForTheLastOneToLeave() {
        let desk = Desk()
        let workers = Workers("test", max: 2)
        desk.bring(1000, to: workers)
        workers.stop()
        #expect(desk.state.withLock { $0.done } == 1000)
        #expect(desk.state.withLock { $0.left } == 1)
        #expect(!desk.bring(1, to: workers), "a call that nobody hears is told")
        workers.stop()
        #expect(desk.state.withLock { $0.done } == 1000)
    }
}
