package import CofferFacts
package import CofferFormat

/// Seals this device's commits, inside the transaction that makes them.
///
/// The vault calls it while no other transaction of the index commits, so a call must not block.
package protocol CommitRecorder: AnyObject {
    /// Whether to make a commit even if nothing has changed.
    var isNeeded: Bool { get }
    /// Whether local changes go into commits.
    var takesChanges: Bool { get }
    /// Whether commits may state that contents lie elsewhere.
    var movesContents: Bool { get }

    /// Checks that the next commit can be recorded, before any of it is made.
    ///
    /// - Parameter versions: The commits that are applied.
    func check(_ versions: VersionVector) throws(SealingError)

    /// Returns the rows to store with a commit.
    ///
    /// An error here stops the vault, so `check` must detect whatever can be detected.
    ///
    /// - Parameter stateHash: The hash of what was shown before the commit.
    func record(_ commit: FactCommit, stateHash: StateHash) throws(SealingError) -> [KeptChange]
}
