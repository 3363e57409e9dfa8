internal import Glibc

/// Measures the time since its creation.
struct Stopwatch {
    private let start = Stopwatch.now

    /// The time of a monotonic clock, in nanoseconds.
    static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    var seconds: Double { Double(Self.now - start) / 1e9 }

    /// Sleeps until a number of seconds after the start; returns at once if that has passed.
    func sleep(until seconds: Double) {
        let target = start + Int64(seconds * 1e9)
        var time = timespec(tv_sec: Int(target / 1_000_000_000), tv_nsec: Int(target % 1_000_000_000))
        while clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nil) == EINTR {}
    }
}
