/// The results of `coffer bench`; `--json` prints all of them.
package struct BenchReport: Codable, Sendable {
    /// The absolute path of the directory that held the files.
    package let directory: String
    /// The number of processors online.
    package let cores: Int
    /// The maximum size of the large file, in bytes; less was moved if time ran out.
    package let size: Int
    /// The number of rounds.
    package let rounds: Int
    /// The duration of the whole run.
    package let seconds: Double
    /// The results of all measures.
    package let rows: [BenchRow]
    /// Sentences about what was left out or measured in another way, and why.
    package let notes: [String]
}

/// The result of one measure: the median of the rounds, and their range.
package struct BenchRow: Codable, Sendable {
    /// The measure.
    package let measure: BenchMeasure
    /// The part that it measures.
    package let part: BenchMeasure.Part
    /// Its name in reports.
    package let title: String
    /// The unit of the three values.
    package let unit: BenchMeasure.Unit
    /// The median, the least and the greatest value of the rounds.
    package let median: Double, minimum: Double, maximum: Double
    /// The number of rounds that have a value.
    package let rounds: Int
    /// How many times as fast the cipher alone is; absent if the measure does not use it.
    package let cipherRatio: Double?
    /// How many times as fast the disk alone is; absent if the measure does not use it.
    package let diskRatio: Double?
    /// A sentence that names the bottleneck; only for measures of the mount.
    package let limit: String?
}
