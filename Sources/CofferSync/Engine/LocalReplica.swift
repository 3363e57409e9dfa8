package import CofferFacts
package import CofferFormat
package import CofferRemote

/// A vault on this device, as sync sees it: its facts, and what was changed and not sent yet.
///
/// Each call is one transaction: it happens as a whole or not at all, and has survived a crash when it returns. One
/// engine uses a replica; files may be changed at the same time. Calls may take long.
package protocol LocalReplica: Sendable {
    /// All rows that were saved.
    func rows() async throws(ReplicaError) -> [KeptRow]
    /// Saves changes of rows.
    func save(_ rows: [KeptChange]) async throws(ReplicaError)
    /// Which commits were applied, with the highest clock of all of them.
    func versions() async throws(ReplicaError) -> VersionVector

    /// Applies commits in the order given; each with its rows is one transaction.
    ///
    /// What was changed here and is in no commit yet becomes one first, if these are about it: it was changed without
    /// knowledge of them, and would else take their place without a conflict. The rows of each commit that is made are
    /// saved, too. Not all need be applied, but one at least; if the call fails, some may have been.
    ///
    /// - Parameter draft: By which to make commits, one after the other with `CommitDraft.following`; nil if this
    ///   device can make none.
    func apply(
        _ commits: [IncomingCommit], draft: CommitDraft?
    ) async throws(ReplicaError) -> AppliedCommits

    /// Makes a commit of what was changed; the packs that it needs are at the remote before.
    ///
    /// The replica fills in the facts, seals by calling `draft.seal`, applies them, and saves the rows that this gives.
    /// Of much that was changed it takes a part, so that the sealed commit is no longer than
    /// `SignedRecord.byteCountMax`.
    ///
    /// - Returns: Nil if nothing was changed, and the draft need not be made.
    func makeCommit(_ draft: CommitDraft) async throws(ReplicaError) -> SealedCommit?

    /// Has contents sent anew that are sealed with keys which only some members have: those of lost sides of forks.
    ///
    /// They count as changed from then on.
    func sealAnew(_ items: [ItemID]) async throws(ReplicaError)

    /// Whether something was changed here that no commit has.
    func hasUnsent() async throws(ReplicaError) -> Bool
    /// Copies what is to go from the vault to a place outside of it, for the person who made it.
    ///
    /// Repeated, it makes no second copies.
    ///
    /// - Parameters:
    ///   - items: Files and other items whose facts are to go.
    ///   - unsent: Whether all goes along that was made or written here and that no commit has; from then on programs
    ///     change nothing.
    func setAside(_ items: [ItemID], andUnsent unsent: Bool) async throws(ReplicaError)

    /// Values behind a register, in the order of `Register.precedes`, up to a number of registers.
    func values(after register: Register?, limit: Int) async throws(ReplicaError) -> [RegisterValues]
    /// The hash of what is shown, as all commits that were applied make it.
    func stateHash() async throws(ReplicaError) -> StateHash

    /// Begins to gather facts that are to take the place of all that are there; what was gathered before goes.
    func beginRebuild() async throws(ReplicaError)
    /// Gathers facts.
    func gather(_ groups: [CheckpointPiece.Group]) async throws(ReplicaError)
    /// Puts what was gathered into the place of all facts, and rows into the place of all rows.
    ///
    /// What was changed here and not made a commit of stays changed, unless it is given up.
    ///
    /// - Returns: The hash of what is shown then.
    func finishRebuild(_ facts: RebuiltFacts) async throws(ReplicaError) -> StateHash
}

/// Why a replica did not do what it was asked; nothing was changed, if nothing else is said.
package enum ReplicaError: Error, Equatable {
    /// A pack could not be put, or the remote did not answer otherwise.
    case remote(RemoteError)
    /// The local store failed.
    case failed(String)
    /// A commit could not be sealed.
    case notSealed(SealingError)
}

/// How far the packs are that a commit needs.
package struct PackProgress: Equatable, Sendable {
    /// Bytes that were put, since the draft was made.
    package var bytesSent = 0
    /// Bytes of the packs that are on their way.
    package var bytesToSend = 0

    /// Nothing yet.
    package init() {}
}
