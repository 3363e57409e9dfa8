import CofferSystem
import Testing

/// Blocking calls that tasks wait for.
@Suite struct BlockingCallsTests {
    private enum Failure: Error, Equatable {
        case own
        case cancelled
    }

    @Test func resultsAndErrors() async throws {
        let calls = BlockingCalls("test", max: 2)
        #expect(await calls.run { 7 } == 7)
        await #expect(throws: Failure.own) {
            try await calls.run { () throws(Failure) in throw .own }
        }
    }

    /// With one thread, no two calls run at the same time.
    @Test func oneAfterTheOther() async {
        let calls = BlockingCalls("test", max: 1)
        let running = Condition(0)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<50 {
                group.addTask {
                    await calls.run {
                        #expect(
                            running.withLock {
                                $0 += 1; return $0
                            } == 1)
                        running.withLock { $0 -= 1 }
                    }
                }
            }
        }
    }

    /// A cancelled task continues while its call still runs.
    @Test func cancelled() async {
        let calls = BlockingCalls("test", max: 1)
        let (gate, begun) = (Condition(false), Condition(false))
        let task = Task {
            await #expect(throws: Failure.cancelled) {
                try await calls.run(ifCancelled: Failure.cancelled) { () throws(Failure) in
                    begun.update { $0 = true }
                    _ = gate.wait { $0 ? true : nil }
                }
            }
        }
        while !begun.withLock({ $0 }) { await Task.yield() }
        task.cancel()
        _ = await task.value
        gate.update { $0 = true }
        // One that was cancelled before its call is not made at all.
        let late = Task {
            while !Task.isCancelled { await Task.yield() }
            await #expect(throws: Failure.cancelled) {
                try await calls.run(ifCancelled: Failure.cancelled) { () throws(Failure) in
                    Issue.record("the call was made")
                }
            }
        }
        late.cancel()
        _ = await late.value
    }
}
