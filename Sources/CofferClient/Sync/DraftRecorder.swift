internal import CofferFacts
internal import CofferFormat
internal import CofferSync
internal import CofferVault

/// Seals the changes of a vault as commits that follow a draft, one after the other.
final class DraftRecorder: CommitRecorder {
    private var draft: CommitDraft
    /// The sealed commits.
    private(set) var made: [SealedCommit] = []

    init(_ draft: CommitDraft) {
        self.draft = draft
    }

    var isNeeded: Bool { draft.isNeeded }
    var takesChanges: Bool { draft.takesChanges }
    var movesContents: Bool { draft.movesContents }

    func check(_ versions: VersionVector) throws(SealingError) {
        guard draft.follows(versions) else { throw .otherVersions }
    }

    func record(_ commit: FactCommit, stateHash: StateHash) throws(SealingError) -> [KeptChange] {
        let sealed = try draft.seal(commit, stateHash: stateHash)
        made.append(sealed)
        draft = draft.following(sealed)
        return sealed.rows
    }
}
