/// The median and the range of some figures.
package struct Summary: Equatable {
    /// The middle figure; for an even count, the mean of the middle two.
    package let median: Double
    /// The least figure.
    package let least: Double
    /// The greatest figure.
    package let greatest: Double

    /// Returns nil if there are no figures.
    package init?(_ values: [Double]) {
        let sorted = values.sorted()
        guard let first = sorted.first, let last = sorted.last else { return nil }
        let middle = sorted.count / 2
        median = sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
        least = first
        greatest = last
    }
}
