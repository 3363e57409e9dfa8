/// The values of all rounds, and their summary.
struct BenchResults {
    private var values: [BenchMeasure: [Double]] = [:]

    mutating func add(_ measure: BenchMeasure, _ value: Double?) {
        if let value { values[measure, default: []].append(value) }
    }

    /// The fewest values for a percentile; with fewer, it would only be the slowest value.
    private static let percentileCountMin = 20

    /// Adds the median, and the 99th percentile as a separate measure.
    mutating func add(_ measure: BenchMeasure, slowest: BenchMeasure, _ latencies: [Double]) {
        guard !latencies.isEmpty else { return }
        let samples = BenchSamples(latencies)
        add(measure, samples.median)
        if latencies.count >= Self.percentileCountMin { add(slowest, samples.quantile(0.99)) }
    }

    func samples(_ measure: BenchMeasure) -> BenchSamples? {
        values[measure].map(BenchSamples.init)
    }

    var rows: [BenchRow] {
        BenchMeasure.allCases.compactMap { measure in
            guard let samples = samples(measure) else { return nil }
            let yardsticks = Yardsticks(measure)
            let cipher = ratio(measure, to: yardsticks.cipher, bytes: yardsticks.bytes)
            let disk = ratio(measure, to: yardsticks.disk, bytes: yardsticks.bytes)
            let compared = [measure, yardsticks.cipher, yardsticks.disk].compactMap { $0 }
            let limit = BenchLimit(
                cipher: cipher, disk: disk,
                spread: compared.compactMap { self.samples($0)?.spread }.max() ?? 1)
            return BenchRow(
                measure: measure, part: measure.part, title: measure.title, unit: measure.unit,
                median: samples.median, minimum: samples.minimum, maximum: samples.maximum,
                rounds: samples.sorted.count, cipherRatio: cipher, diskRatio: disk,
                limit: yardsticks.isCompared ? limit.sentence(measure.title) : nil)
        }
    }

    /// How many times as fast the yardstick is.
    private func ratio(_ measure: BenchMeasure, to yardstick: BenchMeasure?, bytes: Double) -> Double? {
        guard let yardstick, let value = samples(measure)?.median, let best = samples(yardstick)?.median,
            value > 0, best > 0
        else { return nil }
        switch (measure.unit, yardstick.unit) {
        case (.megabytesPerSecond, .megabytesPerSecond): return best / value
        // One megabyte per second is one byte per microsecond.
        case (.microseconds, .megabytesPerSecond): return value / (bytes / best)
        default: return value / best
        }
    }

    /// The measures with which one of the mount is compared: the same work by the cipher alone, and by the
    /// disk alone.
    ///
    /// Work that is not flushed does not wait for the disk; work that the kernel's cache serves uses neither.
    private struct Yardsticks {
        var cipher: BenchMeasure?
        var disk: BenchMeasure?
        /// The number of bytes of one operation, if the measure is a duration.
        var bytes = 4096.0
        var isCompared = true

        init(_ measure: BenchMeasure) {
            switch measure {
            case .mountWrite: (cipher, disk) = (.sealLibcrypto, .diskWrite)
            case .mountColdRead: (cipher, disk) = (.openLibcrypto, .diskRead)
            case .mountAppend: (cipher, disk) = (.sealLibcrypto, .diskAppend)
            case .mountAppendSlowest: disk = .diskAppendSlowest
            case .mountCreate: cipher = .sealLibcrypto
            case .mountWarmRead, .mountStat, .mountRead, .mountUnlink: break
            default: isCompared = false
            }
        }
    }
}
