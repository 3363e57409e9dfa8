internal import CofferFacts
internal import CofferFormat
internal import CofferStore
internal import CofferSync
internal import CofferVault

/// Seals what a vault changed as a draft says, one commit after the other.
final class DraftRecorder: CommitRecorder {
    private var draft: CommitDraft
    /// Commits that were made.
    private(set) var made: [SealedCommit] = []
    /// Why one was not.
    private(set) var failure: SyncError?

    init(_ draft: CommitDraft) {
        self.draft = draft
    }

    var isNeeded: Bool { draft.isNeeded }
    var takesChanges: Bool { draft.takesChanges }

    func check(_ versions: VersionVector) throws(FileSystemError) {
        guard draft.follows(versions) else {
            failure = .otherVersions
            throw .notPermitted
        }
    }

    func record(_ commit: FactCommit, stateHash: StateHash) throws(FileSystemError) -> [KeptRow] {
        do throws(SyncError) {
            let sealed = try draft.seal(commit, stateHash: StateHashBytes(stateHash.bytes))
            made.append(sealed)
            draft = draft.following(sealed)
            return sealed.rows.compactMap { KeptRow($0) }
        } catch {
            failure = error
            throw .notPermitted
        }
    }
}

extension KeptRow {
    /// A row of sync as a vault keeps it; nil if it is to be removed.
    init?(_ row: SyncRow) {
        guard let value = row.value else { return nil }
        self.init(Key(row.key), value)
    }
}

extension KeptRow.Key {
    init(_ key: SyncRow.Key) {
        self.init(kind: key.kind.rawValue, id: key.id, number: key.number)
    }

    /// The keys of those rows that are to be removed.
    static func removed(_ rows: [SyncRow]) -> [Self] {
        rows.filter { $0.value == nil }.map { Self($0.key) }
    }
}

extension SyncRow {
    /// A row as a vault keeps it; nil if it is of a kind that sync does not know.
    init?(_ row: KeptRow) {
        guard let kind = Key.Kind(rawValue: row.key.kind) else { return nil }
        self.init(Key(kind, id: row.key.id, number: row.key.number), row.value)
    }
}
