package import CofferFormat

/// A verified commit to apply: of another device, or one that this device made before.
package struct IncomingCommit: Equatable, Sendable {
    /// The facts to apply.
    ///
    /// The version vector names only commits that are applied.
    package var commit: FactCommit
    /// Which commits its author had applied, its own log's included.
    package var claimedVersions: VersionVector
    /// The hash of what its author showed then; nil if the commit does not say.
    package var claimedState: StateHash?
    /// Rows to change in the same transaction.
    package var rows: [KeptChange]

    package init(
        _ commit: FactCommit, claimedVersions: VersionVector = VersionVector(),
        claimedState: StateHash? = nil, rows: [KeptChange] = []
    ) {
        self.commit = commit
        self.claimedVersions = claimedVersions
        self.claimedState = claimedState
        self.rows = rows
    }
}
