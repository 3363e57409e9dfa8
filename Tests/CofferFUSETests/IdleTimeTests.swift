import Synchronization
import Testing

@testable import CofferFUSE

/// When a mount locks itself, by clocks that tests move.
@Suite struct IdleTimeTests {
    private final class Clocks: Sendable {
        private let times = Mutex((boot: Int64(1_000_000_000_000), monotonic: Int64(900_000_000_000)))

        var boot: Int64 { times.withLock { $0.boot } }
        var monotonic: Int64 { times.withLock { $0.monotonic } }

        func run(seconds: Int64) {
            times.withLock {
                $0 = ($0.boot + seconds * 1_000_000_000, $0.monotonic + seconds * 1_000_000_000)
            }
        }

        func sleep(seconds: Int64) { times.withLock { $0.boot += seconds * 1_000_000_000 } }
    }

    private let clocks = Clocks()

    private func idle(after seconds: Int64?, detectsSleep: Bool = false) -> IdleTime {
        IdleTime(
            limit: seconds.map { $0 * 1_000_000_000 }, detectsSleep: detectsSleep,
            boot: { [clocks] in clocks.boot }, monotonic: { [clocks] in clocks.monotonic })
    }

    @Test func useBeginsTheTimeAnew() {
        let idle = idle(after: 10)
        for _ in 0..<5 {
            clocks.run(seconds: 9)
            #expect(!idle.isDue)
            #expect(idle.noteUse())
        }
        clocks.run(seconds: 10)
        #expect(idle.isDue)
    }

    /// The first request after a long sleep must not be served, nor count as use.
    @Test func timeThatIsOverStaysOver() {
        let idle = idle(after: 10)
        clocks.sleep(seconds: 8 * 3600)
        #expect(!idle.noteUse())
        #expect(!idle.noteUse())
        #expect(idle.isDue)
    }

    @Test func sleepCountsIfItIsWanted() {
        let (with, without) = (idle(after: nil, detectsSleep: true), idle(after: nil))
        clocks.run(seconds: 100_000)
        #expect(with.noteUse())
        clocks.sleep(seconds: 2)
        #expect(!with.noteUse())
        #expect(with.isDue)
        #expect(without.noteUse())
    }

    /// A lock fails, and after the pause that follows the first failure, the mount has just been used.
    private func fail(_ idle: IdleTime) {
        idle.postpone()
        clocks.run(seconds: 59)
        #expect(!idle.isDue)
        #expect(idle.noteUse())
        clocks.run(seconds: 1)
    }

    /// After a failure the mount is used on; then the same reason counts again, unless it was use that was missing.
    @Test func aFailurePostponesTheLock() {
        let idle = idle(after: 10, detectsSleep: true)
        clocks.run(seconds: 10)
        #expect(idle.isDue)
        fail(idle)
        #expect(!idle.isDue, "it is in use")
        clocks.run(seconds: 9)
        #expect(idle.isDue)
        idle.postpone()
        clocks.run(seconds: 300)
        #expect(idle.isDue, "nothing has used it")
    }

    @Test func sleepStillCountsAfterAFailure() {
        let idle = idle(after: nil, detectsSleep: true)
        clocks.sleep(seconds: 5)
        #expect(idle.isDue)
        fail(idle)
        #expect(idle.isDue, "the machine has slept")
    }

    /// What keeps failing must not keep programs out again and again.
    @Test func failuresGetRarerAndRefuseNobody() {
        let idle = idle(after: nil, detectsSleep: true)
        clocks.sleep(seconds: 5)
        #expect(!idle.noteUse(), "the first attempt")
        for minutes: Int64 in [1, 5, 15, 15] {
            idle.postpone()
            clocks.run(seconds: minutes * 60 - 1)
            #expect(!idle.isDue, "\(minutes) minutes")
            clocks.run(seconds: 1)
            #expect(idle.isDue, "\(minutes) minutes")
            #expect(idle.noteUse(), "it is not known yet whether it can be locked")
            #expect(idle.isDue, "use does not hide that it is due")
        }
    }

    @Test func commandsUnderWayCount() {
        let idle = idle(after: 10)
        idle.spend {
            clocks.run(seconds: 60)
            #expect(!idle.isDue)
        }
        clocks.run(seconds: 9)
        #expect(!idle.isDue)
        clocks.run(seconds: 1)
        #expect(idle.isDue)
    }
}
