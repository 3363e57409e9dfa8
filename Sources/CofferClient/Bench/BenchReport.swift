/// What `coffer bench` found; `--json` prints it as it is.
package struct BenchReport: Codable, Sendable {
    /// Where the files were, absolute.
    package let directory: String
    /// Processors that this process can use.
    package let cores: Int
    /// The most bytes of the large file; where time ran out, fewer were moved.
    package let size: Int
    /// How often all was measured.
    package let rounds: Int
    /// How long that took, in seconds.
    package let seconds: Double
    /// Everything that was measured.
    package let rows: [BenchRow]
    /// What was left out, or done in another way, and why.
    package let notes: [String]
}

/// One measure: the median of the rounds, and how far they are apart.
package struct BenchRow: Codable, Sendable {
    /// What was measured.
    package let measure: BenchMeasure
    /// Where it belongs to.
    package let part: BenchMeasure.Part
    /// For people.
    package let title: String
    /// Of the three values.
    package let unit: BenchMeasure.Unit
    /// The middle one of the rounds' values, the least and the greatest of them.
    package let median: Double, minimum: Double, maximum: Double
    /// How many rounds have a value.
    package let rounds: Int
    /// How many times as fast the cipher alone is; absent where it has no part.
    package let cipherRatio: Double?
    /// How many times as fast the disk alone is; absent where it has no part.
    package let diskRatio: Double?
    /// What limits, in a sentence; absent but for the mount.
    package let limit: String?
}
