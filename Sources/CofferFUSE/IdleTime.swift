internal import CofferSystem
internal import Synchronization

/// Tells when a mount is to be locked: after a time without use, or after the machine has slept.
///
/// By the clock that runs through suspend and cannot be set. Once the time is over, it stays over: the request that ends
/// a long sleep must not hide it. Any thread may use this.
package final class IdleTime: Sendable {
    /// How far the clock that runs through suspend must have got ahead of the other one to count as sleep, in
    /// nanoseconds.
    private static let sleepMin: Int64 = 1_000_000_000
    /// How long to wait after each failure to lock the mount, in nanoseconds: 1, 5, and from then on 15 minutes.
    private static let postponements: [Int64] = [60_000_000_000, 300_000_000_000, 900_000_000_000]

    private let limit: Int64?
    private let detectsSleep: Bool
    private let boot: @Sendable () -> Int64
    private let monotonic: @Sendable () -> Int64
    /// When the mount was last used.
    private let last: Atomic<Int64>
    /// How far the one clock was ahead of the other at the start.
    private let lead: Int64
    private let isOver = Atomic(false)
    /// Until when the mount is not to be locked, after that has failed.
    private let postponed = Atomic(Int64.min)
    /// How often that has failed.
    private let failures = Atomic(0)
    /// The number of commands under way.
    private let commands = Atomic(0)

    /// Starts to measure.
    ///
    /// - Parameters:
    ///   - limit: The time without use, in nanoseconds; nil for no limit.
    ///   - detectsSleep: Whether sleep of the machine counts, too.
    ///   - boot: The clock that runs through suspend; a parameter for tests, as is the next.
    ///   - monotonic: The clock that stops during suspend.
    package init(
        limit: Int64?, detectsSleep: Bool, boot: @escaping @Sendable () -> Int64 = { Clock.bootTime },
        monotonic: @escaping @Sendable () -> Int64 = { Clock.monotonic }
    ) {
        self.limit = limit
        self.detectsSleep = detectsSleep
        self.boot = boot
        self.monotonic = monotonic
        let now = boot()
        last = Atomic(now)
        lead = now - monotonic()
    }

    /// Records that a program uses the mount.
    ///
    /// - Returns: False if the time was over before, so that the request must not be served.
    package func noteUse() -> Bool {
        if isDue { return failures.load(ordering: .relaxed) > 0 }
        last.store(boot(), ordering: .relaxed)
        return true
    }

    /// Runs a command, during which the time stands still.
    package func spend<Result, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        commands.add(1, ordering: .relaxed)
        defer {
            // First, so that the time of the command does not count.
            last.store(boot(), ordering: .relaxed)
            commands.subtract(1, ordering: .relaxed)
        }
        return try body()
    }

    /// Whether the mount is to be locked.
    package var isDue: Bool {
        if isOver.load(ordering: .relaxed) { return true }
        let now = boot()
        if now < postponed.load(ordering: .relaxed) { return false }
        let hasSlept =
            detectsSleep && now - monotonic() - lead >= Self.sleepMin
        let isIdle =
            commands.load(ordering: .relaxed) == 0
            && limit.map { now - last.load(ordering: .relaxed) >= $0 } ?? false
        guard hasSlept || isIdle else { return false }
        isOver.store(true, ordering: .relaxed)
        return true
    }

    /// Lets the mount be used for some time, since it cannot be locked now: the longer, the more often that was so.
    ///
    /// After that it is to be locked if nothing has used it meanwhile, or if the machine has slept. From now on, programs
    /// are served until somebody has seen that it can be locked.
    package func postpone() {
        let failure = failures.add(1, ordering: .relaxed).oldValue
        postponed.store(
            boot() + Self.postponements[min(failure, Self.postponements.count - 1)], ordering: .relaxed)
        isOver.store(false, ordering: .relaxed)
    }
}
