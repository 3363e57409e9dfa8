internal import CofferSystem

/// The time limits of measurements, and whether they must end now.
struct BenchTimes {
    /// The limits, in seconds, of a large transfer, a series of latencies, and a pass over small files.
    static let transfer = 0.8, latencies = 0.35, files = 0.7

    let stop: BenchStop

    /// Repeats an operation until the time is over, the count is reached, or a signal arrives.
    ///
    /// - Returns: The duration of each operation, in microseconds.
    func each(
        _ seconds: Double, most: Int, _ body: (Int) throws(SystemError) -> Void
    ) throws(SystemError) -> [Double] {
        var times: [Double] = []
        let begin = Clock.monotonic
        while times.count < most, Self.seconds(since: begin) < seconds, !stop.isSet {
            let start = Clock.monotonic
            try body(times.count)
            times.append(Double(Clock.monotonic - start) / 1000)
        }
        return times
    }

    static func seconds(since start: Int64) -> Double {
        Double(Clock.monotonic - start) / 1e9
    }
}
