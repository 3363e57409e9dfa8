import CofferRemote
import CofferTestSupport
import RemoteConformance
import Synchronization
import Testing

/// Wrappers of remotes.
@Suite struct DecoratorTests {
    private let vault = someVault()

    /// Fails a number of times with one error, then works.
    private struct Failing: RemoteBackend {
        let base = MemoryRemote()
        let error: RemoteError
        let hasEffect: Bool
        private let left: Shared

        private final class Shared: Sendable {
            let count: Mutex<Int>
            init(_ count: Int) { self.count = Mutex(count) }
        }

        init(_ error: RemoteError, times: Int, hasEffect: Bool = false) {
            self.error = error
            self.hasEffect = hasEffect
            left = Shared(times)
        }

        var limits: RemoteLimits { base.limits }
        func describe() -> String { "failing" }
        func changes(below prefix: RemotePrefix) -> RemoteChanges { base.changes(below: prefix) }

        func get(_ name: RemoteName, _ range: Range<Int>) async throws(RemoteError) -> RemoteContent {
            try fail()
            return try await base.get(name, range)
        }

        func put(_ name: RemoteName, _ bytes: RemoteBytes, ifAbsent: Bool) async throws(RemoteError) {
            if hasEffect { try await base.put(name, bytes, ifAbsent: ifAbsent) }
            try fail()
            if !hasEffect { try await base.put(name, bytes, ifAbsent: ifAbsent) }
        }

        func list(_ prefix: RemotePrefix, after: RemoteName?) async throws(RemoteError) -> RemotePage {
            try fail()
            return try await base.list(prefix, after: after)
        }

        func delete(_ name: RemoteName) async throws(RemoteError) {
            try fail()
            try await base.delete(name)
        }

        /// Makes it fail this many times from now on.
        func fail(times: Int) { left.count.withLock { $0 = times } }

        private func fail() throws(RemoteError) {
            let fails = left.count.withLock { count in
                count -= 1
                return count >= 0
            }
            if fails { throw error }
        }
    }

    @Test func pausesGrowUpToALimit() async throws {
        let clock = SteppingClock()
        let remote = RetryingRemote(Failing(.failed("x"), times: 8), clock: clock, random: { 1 })
        _ = try await remote.list(.all, after: nil)
        #expect(clock.sleeps == [0.5, 1, 2, 4, 8, 16, 30, 30].map { .seconds($0) })
    }

    /// Pauses with a lower bound would bring back those together that failed together.
    @Test(arguments: [0, 0.125, 0.5]) func pausesAreDrawnFromZeroOn(_ drawn: Double) async throws {
        let clock = SteppingClock()
        let remote = RetryingRemote(Failing(.unreachable("x"), times: 3), clock: clock, random: { drawn })
        _ = try await remote.list(.all, after: nil)
        #expect(clock.sleeps == [0.5, 1, 2].map { .seconds($0 * drawn) })
    }

    @Test func theDeadlineEndsIt() async throws {
        let clock = SteppingClock()
        let remote = RetryingRemote(Failing(.unreachable("x"), times: .max), clock: clock, random: { 1 })
        await #expect(throws: RemoteError.unreachable("x")) { try await remote.delete(vault.format) }
        #expect(clock.now <= RetryPolicy().deadline)
        #expect(clock.now > RetryPolicy().deadline - .seconds(31))
    }

    @Test func anUnreachableRemoteIsNotWaitedForTwice() async throws {
        let clock = SteppingClock()
        var policy = RetryPolicy()
        policy.deadline = .seconds(5)
        let failing = Failing(.unreachable("x"), times: 8)
        let remote = RetryingRemote(failing, policy, clock: clock, random: { 1 })
        await #expect(throws: RemoteError.unreachable("x")) { try await remote.delete(vault.format) }
        // Pauses of 0.5, 1 and 2 s; another one of 4 s would exceed the deadline.
        #expect(clock.sleeps.count == 3)
        await #expect(throws: RemoteError.unreachable("x")) { try await remote.delete(vault.format) }
        #expect(clock.sleeps.count == 3)
        // After a while, requests are repeated again.
        try await clock.sleep(for: policy.outage)
        await #expect(throws: Never.self) {
            try await remote.put(vault.format, .memory([1]), ifAbsent: false)
        }
        #expect(clock.sleeps.count == 7)
    }

    @Test func anAnswerEndsAnOutage() async throws {
        let clock = SteppingClock()
        var policy = RetryPolicy()
        policy.deadline = .seconds(1)
        let failing = Failing(.unreachable("x"), times: 2)
        let remote = RetryingRemote(failing, policy, clock: clock, random: { 1 })
        await #expect(throws: RemoteError.unreachable("x")) { try await remote.list(.all, after: nil) }
        #expect(clock.sleeps.count == 1)
        _ = try await remote.list(.all, after: nil)
        failing.fail(times: 1)
        _ = try await remote.list(.all, after: nil)
        #expect(clock.sleeps.count == 2)
    }

    @Test(arguments: [
        RemoteError.absent, .exists, .readOnly, .full, .refused("x"), .unsupported("x"), .cancelled,
        .tooLarge(byteCount: 2, limit: 1),
    ])
    func permanentErrorsAreThrownAtOnce(_ error: RemoteError) async throws {
        let clock = SteppingClock()
        let remote = RetryingRemote(Failing(error, times: 1), clock: clock)
        await #expect(throws: error) { try await remote.get(vault.format, 0..<1) }
        #expect(clock.sleeps == [])
    }

    /// The first attempt had its effect, but its answer was lost.
    @Test(arguments: [0, 1, 100, 3 << 20])
    func aRepeatedPutIfAbsentRecognizesItsOwnObject(_ byteCount: Int) async throws {
        let bytes = [UInt8](repeating: 7, count: byteCount)
        for source in [RemoteBytes.memory(bytes), .file(MemoryFile([1] + bytes + [2]), 1..<byteCount + 1)] {
            let remote = RetryingRemote(
                Failing(.unreachable("x"), times: 1, hasEffect: true), clock: SteppingClock())
            try await remote.put(vault.format, source, ifAbsent: true)
            #expect(try await remote.all(vault.format) == bytes)
        }
    }

    /// The first attempt failed, and another client won before the second.
    @Test(arguments: [[1, 2, 4], [1, 2], [1, 2, 3, 4], []] as [[UInt8]])
    func aRepeatedPutIfAbsentRecognizesAForeignObject(_ other: [UInt8]) async throws {
        let failing = Failing(.unreachable("x"), times: 1)
        try await failing.base.put(vault.format, .memory(other), ifAbsent: true)
        let remote = RetryingRemote(failing, clock: SteppingClock())
        await #expect(throws: RemoteError.exists) {
            try await remote.put(vault.format, .memory([1, 2, 3]), ifAbsent: true)
        }
        #expect(try await remote.all(vault.format) == other)
    }

    /// Without an earlier failure, an object of the same bytes belongs to another client.
    @Test func aFirstPutIfAbsentClaimsNothing() async throws {
        let base = MemoryRemote()
        try await base.put(vault.format, .memory([1]), ifAbsent: true)
        let remote = RetryingRemote(base, clock: SteppingClock())
        await #expect(throws: RemoteError.exists) {
            try await remote.put(vault.format, .memory([1]), ifAbsent: true)
        }
    }

    @Test func theRateIsLimitedInEachDirection() async throws {
        let clock = SteppingClock()
        let limits = TransferLimits(sending: 1000, receiving: 500, clock: clock)
        let remote = RateLimitedRemote(MemoryRemote(), limits)
        for number in 0..<5 as Range<UInt64> {
            try await remote.put(
                vault.member(number), .memory(Array(repeating: 1, count: 2000)), ifAbsent: true)
        }
        // The last one is sent without waiting.
        #expect(clock.now == .seconds(8))
        for _ in 0..<3 { _ = try await remote.get(vault.member(0), 0..<1000) }
        #expect(clock.now == .seconds(8 + 4))
        clock.pass(.seconds(60))
        let before = clock.sleeps.count
        _ = try await remote.get(vault.member(0), 0..<1000)
        try await remote.put(vault.member(9), .memory([1]), ifAbsent: true)
        #expect(clock.sleeps.count == before, "what was not used is not saved up, nor owed")
    }

    /// All vaults of a mount together keep to one limit.
    @Test func remotesShareALimit() async throws {
        let clock = SteppingClock()
        let limits = TransferLimits(sending: 1000, receiving: nil, clock: clock)
        let remotes = (0..<2).map { _ in RateLimitedRemote(MemoryRemote(), limits) }
        for number in 0..<4 as Range<UInt64> {
            for remote in remotes {
                try await remote.put(
                    vault.member(number), .memory(Array(repeating: 1, count: 1000)), ifAbsent: true)
            }
        }
        #expect(clock.now == .seconds(7))
        for remote in remotes { _ = try await remote.get(vault.member(0), 0..<1000) }
        #expect(clock.now == .seconds(7), "there is no limit in this direction")
    }

    @Test func callsAndBytesAreCounted() async throws {
        let remote = CountingRemote(MemoryRemote())
        try await remote.put(vault.format, .memory([1, 2, 3]), ifAbsent: true)
        await #expect(throws: RemoteError.exists) {
            try await remote.put(vault.format, .memory([1, 2, 3, 4]), ifAbsent: true)
        }
        _ = try await remote.get(vault.format, 1..<10)
        _ = try await remote.list(.all, after: nil)
        try await remote.delete(vault.format)
        var expected = RemoteCounts()
        (expected.puts, expected.gets, expected.lists, expected.deletes) = (2, 1, 1, 1)
        (expected.failures, expected.bytesSent, expected.bytesReceived) = (1, 3, 2)
        #expect(remote.counts == expected)
    }
}
