import CofferRemote
import CofferTestSupport
import RemoteConformance
import Synchronization
import Testing

/// Remotes that are overloaded, and say for how long they want to be left alone.
@Suite struct OverloadTests {
    private let vault = someVault()

    @Test func itSaysHowLongToWait() async throws {
        let clock = SteppingClock()
        let base = FailingListings([.busy(after: .seconds(70))], clock)
        _ = try await RetryingRemote(base, clock: clock, random: { 0.5 }).list(.all, after: nil)
        #expect(base.times == [.zero, .seconds(70.25)])
    }

    /// What one call was told holds for all of the client, so that a pause is one.
    @Test func noOtherCallIsSentMeanwhile() async throws {
        let clock = SteppingClock()
        var policy = RetryPolicy()
        policy.deadline = .seconds(5)
        let base = FailingListings([.busy(after: .seconds(60))], clock)
        let remote = RetryingRemote(base, policy, clock: clock, random: { 0 })
        // Its deadline comes before the end of the pause, as do those of the others.
        for passed in [0, 10, 20] as [Int64] {
            await #expect(throws: RemoteError.busy(after: .seconds(60 - passed))) {
                try await remote.list(.all, after: nil)
            }
            clock.pass(.seconds(10))
        }
        #expect(base.times == [.zero] && clock.sleeps == [])
        // The last four seconds are short enough to wait.
        clock.pass(.seconds(26))
        _ = try await remote.list(.all, after: nil)
        #expect(base.times == [.zero, .seconds(60)])
    }

    /// A clock that stands, and notes how long calls want to sleep.
    private final class StandingClock: RemoteClock {
        private let wanted = Mutex<[Duration]>([])
        let now = Duration.zero
        var sleeps: [Duration] { wanted.withLock { $0 } }

        func sleep(for duration: Duration) async throws(RemoteError) {
            wanted.withLock { $0.append(duration) }
            throw .cancelled
        }
    }

    /// Many calls that wait for the end of the same pause do not come back together.
    @Test func manyCallsDoNotComeBackAtOnce() async throws {
        let clock = StandingClock()
        let base = FailingListings([.busy(after: .seconds(30))], SteppingClock())
        let drawn = Mutex(SplitMix64(seed: 1))
        let remote = RetryingRemote(
            base, clock: clock, random: { drawn.withLock { Double($0.below(1000)) / 1000 } })
        for _ in 0..<10 {
            await #expect(throws: RemoteError.cancelled) { try await remote.list(.all, after: nil) }
        }
        #expect(base.times.count == 1)
        #expect(clock.sleeps.allSatisfy { $0 >= .seconds(30) && $0 < .seconds(31) })
        #expect(Set(clock.sleeps).count == 10, "\(clock.sleeps)")
    }

    // MARK: A real server

    @Test(
        arguments: [429, 503], ["seconds", "date", "old-date", "asctime", "never", "nonsense"])
    func aServerIsLeftAlone(status: Int, form: String) async throws {
        let clock = SteppingClock()
        let url = try OverloadServer.url(status, form)
        let remote = RetryingRemote(WebDAVBackend(url), clock: clock, random: { 0 })
        #expect(try await remote.get(vault.format, 0..<4).bytes == OverloadServer.bytes)
        // With 0 drawn, a pause is what the server has asked for, give or take a second of its date.
        let asked: ClosedRange<Duration> =
            switch form {
            case "never": .seconds(300) ... .seconds(300)
            case "seconds": .seconds(7) ... .seconds(7)
            case "date", "old-date", "asctime": .seconds(6) ... .seconds(8)
            default: .zero ... .zero
            }
        #expect(clock.sleeps.count == 1)
        #expect(asked.contains(clock.now), "\(clock.now)")
    }

    @Test(.enabled(if: S3Server.isThere, "moto is not installed"))
    func theServerOfS3IsLeftAlone() async throws {
        let clock = SteppingClock()
        var policy = RetryPolicy()
        policy.deadline = .seconds(7)
        let remote = RetryingRemote(
            try S3Server.client("slow", prefix: ""), policy, clock: clock, random: { 0 })
        await #expect(throws: RemoteError.busy(after: .seconds(3))) {
            try await remote.list(.all, after: nil)
        }
        #expect(clock.sleeps == [.seconds(3), .seconds(3)])
    }
}
