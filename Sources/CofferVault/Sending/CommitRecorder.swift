package import CofferFacts
package import CofferFormat

/// Seals this device's commits, inside the transaction that makes them.
///
/// The vault calls it while no other transaction of the index commits, so a call must not wait.
package protocol CommitRecorder: AnyObject {
    /// Whether a commit is made even if nothing was changed.
    var isNeeded: Bool { get }
    /// Whether local changes go into commits.
    var takesChanges: Bool { get }

    /// Checks that the next commit can be recorded, before anything is done for it.
    ///
    /// - Parameter versions: Which commits are applied.
    func check(_ versions: VersionVector) throws(SealingError)

    /// Returns the rows to save with a commit.
    ///
    /// An error here stops the vault, so `check` must find whatever can be found.
    ///
    /// - Parameter stateHash: Of what was shown before the commit.
    func record(_ commit: FactCommit, stateHash: StateHash) throws(SealingError) -> [KeptChange]
}
