package import CofferFacts
package import CofferFormat
package import CofferRemote

/// A vault on this device as sync sees it: its facts, and the changes that are not sent yet.
///
/// Each call is one transaction: it takes effect completely or not at all, and survives a crash once it
/// returns. Only one engine uses a replica; files may change at the same time. Calls may take long.
package protocol LocalReplica: Sendable {
    /// All saved rows.
    func rows() async throws(ReplicaError) -> [KeptRow]
    /// The value of one row; nil if there is none.
    func row(_ key: KeptRow.Key) async throws(ReplicaError) -> [UInt8]?
    /// Saves changes of rows.
    func save(_ rows: [KeptChange]) async throws(ReplicaError)
    /// The commits that were applied, with the highest clock among them.
    func versions() async throws(ReplicaError) -> VersionVector

    /// Applies commits in the given order; each is one transaction together with its rows.
    ///
    /// Local changes that no commit contains become one first, if the commits concern them: they were made
    /// without knowledge of those commits, and would otherwise replace them without a conflict. The rows of
    /// each commit that is made are saved, too. At least one of the commits is applied, not necessarily all;
    /// if the call fails, some may have been applied.
    ///
    /// - Parameter draft: Makes commits, one after the other with `CommitDraft.following`; nil if this device
    ///   can make none.
    func apply(
        _ commits: [IncomingCommit], draft: CommitDraft?
    ) async throws(ReplicaError) -> AppliedCommits

    /// Makes a commit of local changes, after putting the packs that it needs.
    ///
    /// The replica adds the facts, calls `draft.seal`, applies the commit, and saves the resulting rows. If
    /// there are many changes, it takes only a part, so that the sealed commit is no longer than
    /// `SignedRecord.byteCountMax`.
    ///
    /// - Returns: Nil if nothing was changed, and the draft does not demand a commit.
    func makeCommit(_ draft: CommitDraft) async throws(ReplicaError) -> SealedCommit?

    /// Re-encrypts and resends contents that are sealed under keys of lost sides of forks, which only some
    /// members have.
    ///
    /// They count as changed from then on.
    func sealAnew(_ items: [ItemID]) async throws(ReplicaError)

    /// The packs at the remote that contents refer to.
    func contentPacks() async throws(ReplicaError) -> ContentPacks
    /// Resends contents that the remote has lost, of files whose content a commit in `log` states.
    ///
    /// They count as changed from then on. Contents that others' commits state are left to their devices.
    ///
    /// - Parameters:
    ///   - packs: The packs that the remote has lost.
    ///   - byteCountMax: The approximate most bytes to count as changed.
    func putAgain(
        contentsOf packs: Set<PackID>, writtenIn log: LogID, byteCountMax: Int
    ) async throws(ReplicaError) -> ContentsPutAgain

    /// What contents refer to in packs at the remote, so that sparse ones can be found.
    func packUse() async throws(ReplicaError) -> [PackID: RemotePackUse]
    /// Copies what contents refer to in some packs at the remote into new packs; the next commits state the
    /// new places.
    ///
    /// - Parameter byteCountMax: The approximate most bytes to copy.
    /// - Returns: How many contents the next commits state.
    func moveContents(
        from packs: Set<PackID>, byteCountMax: Int
    ) async throws(ReplicaError) -> Int

    /// Whether there are local changes that no commit contains.
    func hasUnsent() async throws(ReplicaError) -> Bool
    /// Copies items to a place outside of the vault, for the user who made them, before they are dropped.
    ///
    /// Repeating the call makes no second copies.
    ///
    /// - Parameters:
    ///   - items: Files and other items whose facts are about to be dropped.
    ///   - unsent: Whether to drop all local changes that no commit contains as well; from then on programs
    ///     can change nothing.
    func setAside(_ items: [ItemID], andUnsent unsent: Bool) async throws(ReplicaError)

    /// The values after a register, in the order of `Register.precedes`, for at most `limit` registers.
    func values(after register: Register?, limit: Int) async throws(ReplicaError) -> [RegisterValues]
    /// The hash of the tree that is shown after all applied commits.
    func stateHash() async throws(ReplicaError) -> StateHash

    /// Begins to collect facts that will replace all existing ones; discards those collected before.
    func beginRebuild() async throws(ReplicaError)
    /// Collects the facts of a checkpoint.
    func addToRebuild(_ groups: [CheckpointPiece.Group]) async throws(ReplicaError)
    /// Collects commits, which are applied in the order of the calls after all facts of the checkpoint.
    func addToRebuild(_ commits: [FactCommit]) async throws(ReplicaError)
    /// Replaces all facts with those that were collected, and all rows.
    ///
    /// Local changes that no commit contains stay, unless they are given up.
    ///
    /// - Returns: The hash of the tree that the facts of the checkpoint describe, without the commits after it.
    func finishRebuild(_ facts: RebuiltFacts) async throws(ReplicaError) -> StateHash
}

/// Why a call of a replica failed; nothing has changed unless the call says otherwise.
package enum ReplicaError: Error, Equatable {
    /// A pack could not be put, or the remote failed otherwise.
    case remote(RemoteError)
    /// The local store failed.
    case failed(String)
    /// A commit could not be sealed.
    case notSealed(SealingError)
}

/// The progress of the packs that a commit needs.
package struct PackProgress: Equatable, Sendable {
    /// Bytes put since the draft was made.
    package var bytesSent = 0
    /// Bytes of the packs being put.
    package var bytesToSend = 0

    /// No progress yet.
    package init() {}
}
