package import CofferFacts
package import CofferFormat
internal import CofferTrust

/// A commit of this device, without its facts.
package struct CommitDraft: Sendable {
    /// This device's log.
    package let log: LogID
    /// The time by the device's clock, in milliseconds since 1970.
    package let milliseconds: UInt64
    /// The device's name.
    package let label: String
    /// Whether to make the commit even without changes.
    package let isNeeded: Bool
    /// Whether it includes local changes; a reader's commits only acknowledge.
    package let takesChanges: Bool
    /// Whether it may state other places of contents.
    package let movesContents: Bool

    /// Receives the progress of packs, on any thread.
    package let progress: @Sendable (PackProgress) -> Void

    let introduction: LogIntroduction
    private(set) var previous: LogSummary?
    let heads: LogBounds
    let notices: [CommitNotice]
    let key: EpochKey
    let members: LinkHead
    let author: RecordAuthor

    /// A draft of the next commit.
    package func following(_ commit: SealedCommit) -> CommitDraft {
        var draft = self
        draft.previous = commit.summary
        return draft
    }

    /// Whether a commit from this draft may follow the commits that a replica has applied.
    package func follows(_ versions: VersionVector) -> Bool {
        var others = versions
        others[log] = 0
        return others == VersionVector(heads) && versions[log] == previous?.head.sequence ?? 0
    }

    /// Seals a commit.
    ///
    /// - Parameters:
    ///   - commit: Its facts; none for a commit that only acknowledges.
    ///   - stateHash: The hash of the tree before it.
    /// - Throws: `.otherVersions` if the replica has applied other commits than it was given; `.tooLarge`.
    package func seal(
        _ commit: FactCommit, stateHash: StateHash
    ) throws(SealingError) -> SealedCommit {
        let dot = commit.stamp.dot
        var versions = commit.versions
        versions[log] = dot.sequence - 1
        guard dot.log == log, follows(versions) else { throw .otherVersions }
        let body = CommitBody(
            previous: previous?.head.hash ?? .zero, clock: commit.stamp.clock, stateHash: stateHash,
            heads: heads, introduction: previous == nil ? introduction : nil, notices: notices,
            facts: commit.facts)
        let bytes = SignedRecord.sealing(
            body.paddedBytes, as: .commit, at: dot, under: key, members: members, writes: body.writes,
            by: author)
        guard bytes.count <= SignedRecord.byteCountMax else { throw .tooLarge(byteCount: bytes.count) }
        let record: SignedRecord
        do throws(FormatError) { record = try SignedRecord(bytes, as: .commit) } catch {
            throw .format(error)
        }
        let point = CommitPoint(
            sequence: dot.sequence, hash: CommitHash(record.hash(as: .commit)), members: members,
            writes: body.writes)
        let summary = LogSummary(
            log: log, author: author.identity, introduction: previous?.introduction ?? introduction,
            clock: body.clock, head: point, lastWrite: body.writes ? point : previous?.lastWrite)
        return SealedCommit(bytes: bytes, summary: summary)
    }
}
