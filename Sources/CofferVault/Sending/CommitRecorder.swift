package import CofferFacts
package import CofferFormat
package import CofferStore

/// What makes of the commits of this device what is to be sent, within the transaction that makes them.
///
/// Its calls are made while nobody else commits the index, so they do not wait.
package protocol CommitRecorder: AnyObject {
    /// Whether a commit is made even if nothing was changed.
    var isNeeded: Bool { get }
    /// Whether what was changed goes into commits.
    var takesChanges: Bool { get }

    /// Looks whether the next commit can be recorded, before anything is done for it.
    ///
    /// - Parameter versions: Which commits were applied.
    func check(_ versions: VersionVector) throws(FileSystemError)

    /// Gives the rows that are kept with a commit.
    ///
    /// What fails here stops the vault, so `check` is to find all that can be found.
    ///
    /// - Parameter stateHash: Of what was shown before the commit.
    func record(_ commit: FactCommit, stateHash: StateHash) throws(FileSystemError) -> [KeptRow]
}

/// A commit of another device, or of this one from before.
package struct RemoteCommit: Sendable {
    /// What to apply.
    package var commit: FactCommit
    /// Which commits its author had applied, its own log's included.
    package var claimedVersions: VersionVector
    /// What its author showed then; nil if that is not known.
    package var claimedState: StateHash?
    /// What is kept with it, in the same transaction.
    package var rows: [KeptRow]
    /// What is not kept any more from then on.
    package var removed: [KeptRow.Key]

    package init(
        _ commit: FactCommit, claimedVersions: VersionVector = VersionVector(),
        claimedState: StateHash? = nil,
        rows: [KeptRow] = [], removing removed: [KeptRow.Key] = []
    ) {
        self.commit = commit
        self.claimedVersions = claimedVersions
        self.claimedState = claimedState
        self.rows = rows
        self.removed = removed
    }
}

/// Something odd about a commit, which is applied all the same.
package enum CommitFinding: Hashable, Sendable {
    /// It says something that no device of ours says.
    case complaint(Dot, FactComplaint)
    /// Its author had applied just what this device had, and showed something else.
    case otherState(Dot)
}
