/// The middle and the ends of some figures.
package struct Summary: Equatable {
    /// As many are above as below; between the two in the middle if their count is even.
    package let median: Double
    /// The least.
    package let least: Double
    /// The greatest.
    package let greatest: Double

    /// Nil if there are no figures.
    package init?(_ values: [Double]) {
        let sorted = values.sorted()
        guard let first = sorted.first, let last = sorted.last else { return nil }
        let middle = sorted.count / 2
        median = sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
        least = first
        greatest = last
    }
}
