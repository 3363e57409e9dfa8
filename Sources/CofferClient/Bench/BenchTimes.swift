internal import CofferSystem

/// How much time a measurement may take, and whether it is to end now.
struct BenchTimes {
    /// Seconds for a large transfer, for a series of latencies, for a pass over small files.
    static let transfer = 0.8, latencies = 0.35, files = 0.7

    let stop: BenchStop

    /// Repeats an operation until the time is over, or it was done often enough.
    ///
    /// - Returns: Microseconds of each.
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
