package import CofferFormat

/// The facts of a rebuild, which replace all facts of a vault once they are gathered.
package struct RebuiltFacts: Equatable, Sendable {
    /// Which commits the checkpoint covers; nothing without one.
    package var versions: VersionVector
    /// The highest clock of these commits.
    package var clock: UInt64
    /// The labels of the devices that write the logs.
    package var labels: [LogID: String]
    /// What to save after all of sync's rows are removed.
    package var rows: [KeptChange]
    /// Whether changes that are in no commit are dropped, because a copy of them exists elsewhere.
    package var givesUpUnsent: Bool

    package init(
        versions: VersionVector, clock: UInt64, labels: [LogID: String], rows: [KeptChange],
        givesUpUnsent: Bool = false
    ) {
        self.versions = versions
        self.clock = clock
        self.labels = labels
        self.rows = rows
        self.givesUpUnsent = givesUpUnsent
    }
}
