internal import CofferFormat
internal import CofferTrust

/// The checkpoints that commits have announced: the one that counts, and others that nobody has confirmed.
///
/// An unconfirmed checkpoint covers something that the one that counts does not. The value remembers which
/// rows are saved, so the changes to save are always the difference.
struct KnownCheckpoints: Equatable, Sendable {
    /// The most unconfirmed checkpoints that are remembered: of many that are never confirmed, the oldest go.
    static let unconfirmedCountMax = 16

    /// The checkpoint that counts; nil if there is none.
    private(set) var standing: CheckpointStanding?
    /// Checkpoints that no other author has confirmed yet.
    private(set) var unconfirmed: [UnconfirmedCheckpoint] = []
    private var saved = SavedRows()

    // MARK: What they say

    /// Whether a commit may be absent because the checkpoint that counts covers it.
    func covers(_ dot: Dot) -> Bool { standing?.covers(dot) == true }

    /// Whether any checkpoint covers a commit, confirmed or not.
    func mayCover(_ dot: Dot) -> Bool {
        covers(dot) || unconfirmed.contains { $0.standing.covers(dot) }
    }

    /// The last commit of a log that the checkpoint that counts covers.
    func covered(_ log: LogID) -> UInt64 { standing?.covered[log] ?? 0 }

    /// The checkpoint that covers the most commits, confirmed or not.
    var largest: CheckpointStanding? {
        (unconfirmed.map(\.standing) + [standing].compactMap { $0 })
            .max { $0.covered.commitCount < $1.covered.commitCount }
    }

    // MARK: What commits say of them

    /// Records what an applied commit says of checkpoints, and whether it contains later facts.
    ///
    /// - Parameters:
    ///   - logs: The applied logs.
    ///   - isAdministrator: Whether an identity's checkpoints need no confirmation.
    mutating func record(
        _ commit: VerifiedCommit, _ logs: [LogID: LogSummary], isAdministrator: (IdentityID) -> Bool
    ) {
        for notice in commit.body.notices {
            switch notice {
            case .checkpoint(let sequence, let hash):
                // A checkpoint is announced by the next commit of its log.
                guard sequence > 0, sequence == commit.dot.sequence - 1 else { continue }
                announce(
                    hash, by: commit.dot, covering: commit.versions, members: commit.point.members, logs,
                    unconfirmedBy: isAdministrator(commit.author) ? nil : commit.author)
            case .confirmation(let dot, let hash):
                let index = unconfirmed.firstIndex {
                    $0.standing.dot == dot && $0.standing.hash == hash && $0.author != commit.author
                }
                if let index { stand(unconfirmed.remove(at: index).standing) }
            case .retirement, .retention: continue
            }
        }
        if !commit.body.facts.isEmpty { recordFacts() }
        guard let standing else { return }
        let announcement = Dot(log: standing.dot.log, sequence: standing.announcement)
        if commit.versions.contains(announcement) { acknowledge(commit.dot.log) }
    }

    /// Records that facts were applied that no checkpoint covers.
    mutating func recordFacts() {
        standing?.hasChanges = true
        for index in unconfirmed.indices { unconfirmed[index].standing.hasChanges = true }
    }

    /// Records that a commit announces a checkpoint.
    ///
    /// - Parameters:
    ///   - announcement: The commit; the checkpoint has the number before it.
    ///   - versions: The commits of other logs that it covers.
    ///   - members: The last link of the member chain that its author knew.
    ///   - logs: The applied logs.
    ///   - author: Its author, if another one has to confirm it.
    mutating func announce(
        _ hash: CheckpointHash, by announcement: Dot, covering versions: VersionVector, members: LinkHead,
        _ logs: [LogID: LogSummary], unconfirmedBy author: IdentityID?
    ) {
        let dot = Dot(log: announcement.log, sequence: announcement.sequence - 1)
        var covered = versions
        covered[dot.log] = dot.sequence
        var checkpoint = CheckpointStanding(
            dot: dot, hash: hash, announcement: announcement.sequence, covered: covered,
            members: members.sequence)
        checkpoint.hasChanges = logs.contains { log, summary in
            log != dot.log && summary.lastWrite?.sequence ?? 0 > covered[log]
        }
        guard let author else { return stand(checkpoint) }
        if let standing, standing.covers(checkpoint) { return }
        unconfirmed.append(UnconfirmedCheckpoint(standing: checkpoint, author: author))
        if unconfirmed.count > Self.unconfirmedCountMax { unconfirmed.removeFirst() }
    }

    /// Makes a checkpoint the one that counts, unless the current one covers more.
    ///
    /// If neither covers the other, the later one to be noticed counts.
    mutating func stand(_ checkpoint: CheckpointStanding) {
        if let standing, standing.covers(checkpoint), !checkpoint.covers(standing) { return }
        standing = checkpoint
        standing?.acknowledged = [checkpoint.dot.log]
        unconfirmed.removeAll { checkpoint.covers($0.standing) }
    }

    /// Records that a log's author has applied the announcement of the checkpoint that counts.
    mutating func acknowledge(_ log: LogID) { standing?.acknowledge(log) }

    /// Drops an unconfirmed checkpoint, to confirm it or because it is wrong.
    mutating func dropUnconfirmed(_ dot: Dot) { unconfirmed.removeAll { $0.standing.dot == dot } }

    /// Records that this device has deleted the commits that the checkpoint covers.
    mutating func cleared() { standing?.isCleared = true }

    // MARK: Rows

    /// The rows that save the checkpoints, by key.
    private var rows: [KeptRow.Key: [UInt8]] {
        var rows: [KeptRow.Key: [UInt8]] = [:]
        if let standing { rows[KeptRow.Key(.checkpoint)] = standing.bytes }
        for checkpoint in unconfirmed { rows[checkpoint.key] = checkpoint.bytes }
        return rows
    }

    /// The changes that save the checkpoints, which count as saved from then on.
    mutating func changesToSave() -> [KeptChange] { saved.changes(to: rows) }

    /// Restores a saved checkpoint.
    mutating func restore(_ row: KeptRow) throws(FormatError) {
        saved.restored(row)
        if row.key == KeptRow.Key(.checkpoint) {
            standing = try CheckpointStanding(row.value)
        } else {
            unconfirmed.append(try UnconfirmedCheckpoint(row.value))
        }
    }
}

/// Decides when a device makes a checkpoint.
struct CheckpointTurn {
    /// This device's log, and its author.
    let own: LogSummary
    /// The number of commits after which a checkpoint is made.
    let commitsPerCheckpoint: UInt64
    /// Whether an identity's checkpoints need no confirmation.
    let isAdministrator: (IdentityID) -> Bool

    /// Whether it is this device's turn, which comes later the more logs rank before its own.
    ///
    /// Logs of administrators rank first, since their checkpoints need no confirmation.
    ///
    /// - Parameters:
    ///   - last: The checkpoint that covers the most commits.
    ///   - applied: The applied commits.
    func hasCome(
        after last: CheckpointStanding?, applied: VersionVector, logs: some Collection<LogSummary>
    ) -> Bool {
        // Announcing and acknowledging a checkpoint must not make another one due, or there would be no end.
        if let last, !last.hasChanges { return false }
        let covered = last?.covered ?? VersionVector()
        let count = applied.commitCount &- min(covered.commitCount, applied.commitCount)
        let rank = logs.count(where: ranksFirst)
        return count >= commitsPerCheckpoint + commitsPerCheckpoint / 8 * UInt64(min(rank, 8))
    }

    private func ranksFirst(_ log: LogSummary) -> Bool {
        let isOfAdministrator = isAdministrator(log.author)
        if isOfAdministrator != isAdministrator(own.author) { return isOfAdministrator }
        return log.log < own.log
    }
}

extension VersionVector {
    /// The number of commits that it contains.
    var commitCount: UInt64 { sequences.values.reduce(0) { $0 &+ $1 } }
}
