/// Measured values in ascending order.
struct BenchSamples {
    private(set) var sorted: [Double]

    /// - Parameter values: At least one.
    init(_ values: [Double]) {
        precondition(!values.isEmpty)
        sorted = values.sorted()
    }

    var minimum: Double { sorted[0] }
    var maximum: Double { sorted[sorted.count - 1] }

    /// The middle value; for an even count, the mean of the middle two.
    var median: Double {
        let middle = sorted.count / 2
        return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
    }

    /// The smallest value that at least this share of all values does not exceed (nearest rank).
    ///
    /// - Parameter share: Above 0, up to 1.
    func quantile(_ share: Double) -> Double {
        let rank = Int((share * Double(sorted.count)).rounded(.up))
        return sorted[min(max(rank, 1), sorted.count) - 1]
    }

    /// The ratio of the greatest to the least value.
    var spread: Double { minimum > 0 ? maximum / minimum : 1 }
}
