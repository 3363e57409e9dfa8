internal import CofferFormat
internal import CofferRemote
internal import CofferTrust

/// A checkpoint that was verified.
struct VerifiedCheckpoint: Sendable {
    let dot: Dot
    let hash: CheckpointHash
    let author: IdentityID
    /// The number of the last link of the member chain that the author knew.
    let members: UInt64
    let key: EpochKey
    let body: CheckpointBody
}

/// Searches the remote for the newest checkpoint that counts; changes nothing.
struct CheckpointSearch: Sendable {
    /// A checkpoint that is not used, and why.
    struct Refusal: Equatable, Sendable {
        let checkpoint: Dot
        let problem: CheckpointProblem
    }

    /// Whether a checkpoint counts.
    private enum Verdict {
        case counts
        /// The commit that announces or confirms it has not arrived yet; maybe nobody ever confirms it.
        case notYet
        case refused(CheckpointProblem)
    }

    /// The most commits after a checkpoint that are searched for a confirmation.
    private static let noticeDistance: UInt64 = 64
    /// The most checkpoints of a log that are examined.
    private static let checkpointCountMax = 8
    /// The most logs with checkpoints that are examined.
    private static let logCountMax = 4096

    private let objects: RemoteObjects
    private let verifier: CommitVerifier
    private let members: KnownMembers
    private let logs: KnownLogs
    /// The number of this round.
    private let round: UInt64
    /// Checkpoints whose announcements have not arrived.
    private(set) var awaited: AwaitedAnnouncements
    /// Checkpoints that are not used.
    private(set) var refusals: [Refusal] = []

    init(
        _ objects: RemoteObjects, _ verifier: CommitVerifier, _ members: KnownMembers, _ logs: KnownLogs,
        awaited: AwaitedAnnouncements, round: UInt64
    ) {
        (self.objects, self.verifier, self.members, self.logs) = (objects, verifier, members, logs)
        (self.awaited, self.round) = (awaited, round)
    }

    /// The newest checkpoint, by its clock, that counts.
    mutating func newest() async throws(SyncError) -> VerifiedCheckpoint? {
        var best: VerifiedCheckpoint?
        for (log, sequences) in try await listed().sorted(by: { $0.key < $1.key }) {
            // A later one may have been begun and never announced.
            for sequence in sequences.sorted(by: >).prefix(Self.checkpointCountMax) {
                let dot = Dot(log: log, sequence: sequence)
                guard let found = try await record(dot), found.body.clock >= best?.body.clock ?? 0 else {
                    continue
                }
                switch try await verdict(on: found) {
                case .counts: best = found
                case .notYet: continue
                case .refused(let problem):
                    refusals.append(Refusal(checkpoint: dot, problem: problem))
                    continue
                }
                break
            }
        }
        return best
    }

    private func listed() async throws(SyncError) -> [LogID: Set<UInt64>] {
        var listed: [LogID: Set<UInt64>] = [:]
        try await objects.list(objects.layout.checkpoints) { entries in
            let names = entries.map(\.name).filter { RemoteLayout.sequence(of: $0) != nil }
            for dot in names.compactMap(\.checkpoint) {
                guard listed[dot.log] != nil || listed.count < Self.logCountMax else { continue }
                listed[dot.log, default: []].insert(dot.sequence)
                // Only the last ones are examined.
                if listed[dot.log]?.count ?? 0 > 2 * Self.checkpointCountMax {
                    listed[dot.log] = Set(
                        listed[dot.log, default: []].sorted().suffix(Self.checkpointCountMax))
                }
            }
            return .next
        }
        return listed
    }

    /// Fetches and verifies the record of a checkpoint, without checking whether it counts.
    mutating func record(_ dot: Dot) async throws(SyncError) -> VerifiedCheckpoint? {
        let fetched = try await objects.fetch(
            objects.layout.checkpoint(dot.log, dot.sequence), byteCountMax: SignedRecord.byteCountMax)
        guard let bytes = fetched.bytes else { return nil }
        do throws(CommitProblem) {
            let (record, seal, padded) = try verifier.opened(bytes, as: .checkpoint, at: dot)
            guard let key = verifier.keyring[record.epoch], let body = try? CheckpointBody(padded: padded),
                body.versions[dot.log] == dot.sequence
            else { throw .damaged(.invalid(field: "checkpoint")) }
            return VerifiedCheckpoint(
                dot: dot, hash: CheckpointHash(record.hash(as: .checkpoint)), author: seal.author,
                members: seal.members.sequence, key: key, body: body)
        } catch {
            refusals.append(Refusal(checkpoint: dot, problem: .record(error)))
            return nil
        }
    }

    private mutating func verdict(on checkpoint: VerifiedCheckpoint) async throws(SyncError) -> Verdict {
        for log in checkpoint.body.logs {
            for point in [log.head, log.lastWrite] {
                guard let point else { continue }
                // It may cover commits from the lost side of a fork.
                guard members.chain.has(point.members), members.chain.end(of: log.claim(point)) == nil else {
                    return .refused(.coversWithdrawn(log.log))
                }
            }
        }
        let announcing = Dot(log: checkpoint.dot.log, sequence: checkpoint.dot.sequence + 1)
        guard let bytes = try await objects.commit(announcing).bytes else {
            return awaitAnnouncement(of: checkpoint.dot)
        }
        let commit: VerifiedCommit
        do throws(CommitProblem) { commit = try verifier.authentic(bytes, at: announcing) } catch {
            // It may be there only in part, or name links that have not arrived.
            return error.isFinal ? .refused(.notAnnounced) : awaitAnnouncement(of: checkpoint.dot)
        }
        awaited.arrived(checkpoint.dot)
        let notice = CommitNotice.checkpoint(sequence: checkpoint.dot.sequence, checkpoint.hash)
        guard commit.body.notices.contains(notice), commit.author == checkpoint.author else {
            return .refused(.notAnnounced)
        }
        if members.isAdministrator(commit.author) { return .counts }
        return try await isConfirmed(checkpoint) ? .counts : .notYet
    }

    /// Whether to wait for the commit that announces a checkpoint.
    ///
    /// It is only late unless this device has applied it, or another one in its place, or several rounds did
    /// not find it.
    private mutating func awaitAnnouncement(of checkpoint: Dot) -> Verdict {
        let isKnown = logs.appliedSequence(checkpoint.log) > checkpoint.sequence
        let roundCount = awaited.miss(checkpoint, inRound: round)
        return isKnown || roundCount >= logs.stale.roundsMax ? .refused(.announcementMissing) : .notYet
    }

    /// Whether another author has confirmed it.
    private func isConfirmed(_ checkpoint: VerifiedCheckpoint) async throws(SyncError) -> Bool {
        let notice = CommitNotice.confirmation(checkpoint.dot, checkpoint.hash)
        var listing = LogListing(logs, objects.layout, own: nil)
        try await objects.list(objects.layout.logs) { listing.add($0) }
        for (log, last) in listing.lastCommits where log != checkpoint.dot.log {
            let first = checkpoint.body.versions[log] + 1
            guard first <= last else { continue }
            for sequence in first...min(last, first + Self.noticeDistance) {
                let dot = Dot(log: log, sequence: sequence)
                guard let bytes = try await objects.commit(dot).bytes,
                    let commit = try? verifier.authentic(bytes, at: dot)
                else { break }
                if commit.body.notices.contains(notice), commit.author != checkpoint.author { return true }
            }
        }
        return false
    }
}

extension RemoteName {
    /// The checkpoint that a record or a piece belongs to; nil for another name.
    var checkpoint: Dot? {
        let segments = segments
        guard segments.count == 5, let log = LogID(hexadecimal: String(segments[3])),
            let digits = segments[4].split(separator: "-").first, digits.utf8.count == 16,
            let sequence = UInt64(digits, radix: 16), 1...Dot.sequenceMax ~= sequence
        else { return nil }
        return Dot(log: log, sequence: sequence)
    }
}
