/// The values of all rounds, and what they say together.
struct BenchResults {
    private var values: [BenchMeasure: [Double]] = [:]

    mutating func add(_ measure: BenchMeasure, _ value: Double?) {
        if let value { values[measure, default: []].append(value) }
    }

    /// With fewer, a percentile would be no more than the slowest.
    private static let percentileCountMin = 20

    /// The median, and the 99th percentile as a measure of its own.
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
        // A megabyte in a second is a byte in a microsecond.
        case (.microseconds, .megabytesPerSecond): return value / (bytes / best)
        default: return value / best
        }
    }

    /// What a measure of the mount is compared with: the same work by the cipher alone, by the disk alone.
    ///
    /// What is not flushed waits for no disk, and what the kernel has in its cache needs neither.
    private struct Yardsticks {
        var cipher: BenchMeasure?
        var disk: BenchMeasure?
        /// Of one operation, where the measure is a time.
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
