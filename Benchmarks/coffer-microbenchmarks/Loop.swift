internal import BenchmarkReport
internal import Glibc

/// Times code by the median of several series, with enough repetitions that the clock's resolution does not
/// matter.
struct Loop {
    /// Measures only names that contain this; empty for all.
    let filter: String
    private static let series = 9
    private static let seriesSeconds = 0.05

    /// Prints the time of one repetition.
    ///
    /// - Parameters:
    ///   - bytes: The number of bytes that one repetition processes, to print a rate as well.
    ///   - body: Runs the code the given number of times.
    func measure(_ name: String, bytes: Int? = nil, _ body: (_ repetitions: Int) throws -> Void) rethrows {
        if !filter.isEmpty, !name.contains(filter) { return }
        var repetitions = 1
        while true {
            let seconds = try Self.seconds { try body(repetitions) }
            if seconds >= Self.seriesSeconds || repetitions >= 1 << 30 { break }
            // At least double, at most 100 times, otherwise what is enough at this speed.
            let enough = Double(repetitions) * Self.seriesSeconds / max(seconds, 1e-6) * 1.1
            repetitions = max(repetitions * 2, min(Int(enough), repetitions * 100))
        }
        let all = try (0..<Self.series).map { _ in try Self.seconds { try body(repetitions) } }
        guard let summary = Summary(all.map { $0 * 1e9 / Double(repetitions) }) else { return }
        var text = name + String(repeating: " ", count: max(1, 44 - name.count))
        text +=
            "\(Figure.text(summary.median)) ns (\(Figure.text(summary.least))–\(Figure.text(summary.greatest)))"
        if let bytes { text += "  \(Figure.text(Double(bytes) * 1e3 / summary.median)) MB/s" }
        // Not buffered, so that lines appear at once through a pipe, too.
        let line = Array((text + "\n").utf8)
        _ = write(1, line, line.count)
    }

    private static func seconds(_ body: () throws -> Void) rethrows -> Double {
        let start = now
        try body()
        return Double(now - start) / 1e9
    }

    private static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
