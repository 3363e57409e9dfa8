internal import CofferFormat
internal import CofferRemote
internal import CofferTrust

// Finds the checkpoint that a device begins with.
extension SyncEngine {
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

    /// The most commits after a checkpoint that are searched for a confirmation.
    private static let noticeDistance: UInt64 = 64
    /// The most checkpoints of a log that are examined.
    private static let checkpointCountMax = 8
    /// The most logs with checkpoints that are examined.
    private static let logCountMax = 4096

    /// Whether a checkpoint counts.
    private enum CheckpointVerdict {
        case counts
        /// The commit that announces it has not arrived yet.
        case notArrived
        case refused(CheckpointProblem)
    }

    /// The newest checkpoint, by its clock, that counts.
    func newestCheckpoint() async throws(SyncError) -> VerifiedCheckpoint? {
        var best: VerifiedCheckpoint?
        // Each search names again what is still wrong.
        notes.removeAll {
            if case .checkpoint(_, _, let problem) = $0 { problem.isFoundBySearch } else { false }
        }
        for (log, sequences) in try await listedCheckpoints().sorted(by: { $0.key < $1.key }) {
            // A later one may have been begun and never announced.
            for sequence in sequences.sorted(by: >).prefix(Self.checkpointCountMax) {
                guard let found = try await checkpointRecord(Dot(log: log, sequence: sequence)),
                    found.body.clock >= best?.body.clock ?? 0
                else { continue }
                switch try await verdict(on: found) {
                case .counts: best = found
                case .notArrived: continue
                case .refused(let problem):
                    note(.checkpoint(author(log), sequence: sequence, problem))
                    continue
                }
                break
            }
        }
        return best
    }

    private func listedCheckpoints() async throws(SyncError) -> [LogID: Set<UInt64>] {
        var listed: [LogID: Set<UInt64>] = [:]
        try await list(layout.checkpoints) { entries in
            let names = entries.map(\.name).filter { RemoteLayout.sequence(of: $0) != nil }
            for dot in names.compactMap(checkpointDot) {
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
    func checkpointRecord(_ dot: Dot) async throws(SyncError) -> VerifiedCheckpoint? {
        let fetched = try await reaching { () async throws(RemoteError) in
            try await remote.fetch(
                layout.checkpoint(dot.log, dot.sequence), byteCountMax: SignedRecord.byteCountMax)
        }
        guard case .bytes(let bytes) = fetched else { return nil }
        let verifier = try verifier()
        do throws(CommitProblem) {
            let (record, seal, padded) = try verifier.opened(bytes, as: .checkpoint, at: dot)
            guard let key = verifier.keyring[record.epoch], let body = try? CheckpointBody(padded: padded),
                body.versions[dot.log] == dot.sequence
            else { throw .damaged(.invalid(field: "checkpoint")) }
            return VerifiedCheckpoint(
                dot: dot, hash: CheckpointHash(record.hash(as: .checkpoint)), author: seal.author,
                members: seal.members.sequence, key: key, body: body)
        } catch {
            note(.checkpoint(author(dot.log), sequence: dot.sequence, .record(error)))
            return nil
        }
    }

    private func verdict(on checkpoint: VerifiedCheckpoint) async throws(SyncError) -> CheckpointVerdict {
        for log in checkpoint.body.logs {
            for point in [log.head, log.lastWrite] {
                guard let point else { continue }
                // It may cover commits from the lost side of a fork.
                guard chain.has(point.members) else { return .refused(.coversWithdrawn(log.log)) }
                let claim = CommitClaim(
                    author: log.author, log: log.log, sequence: point.sequence, hash: point.hash,
                    head: point.members, writes: point.writes)
                if chain.end(of: claim) != nil { return .refused(.coversWithdrawn(log.log)) }
            }
        }
        let announcing = Dot(log: checkpoint.dot.log, sequence: checkpoint.dot.sequence + 1)
        let notice = CommitNotice.checkpoint(sequence: checkpoint.dot.sequence, checkpoint.hash)
        guard let bytes = try await commitBytes(announcing) else {
            return awaitAnnouncement(of: checkpoint.dot)
        }
        let verifier = try verifier()
        let commit: VerifiedCommit
        do throws(CommitProblem) { commit = try verifier.authentic(bytes, at: announcing) } catch {
            // It may be there only in part, or name links that have not arrived.
            return error.isFinal ? .refused(.notAnnounced) : awaitAnnouncement(of: checkpoint.dot)
        }
        announcements.arrived(checkpoint.dot)
        guard commit.body.notices.contains(notice), commit.author == checkpoint.author else {
            return .refused(.notAnnounced)
        }
        if isAdministrator(commit.author) { return .counts }
        return try await isConfirmed(checkpoint) ? .counts : .refused(.notConfirmed)
    }

    /// Whether to wait for the commit that announces a checkpoint.
    ///
    /// It is only late unless this device has applied it, or another one in its place, or several rounds did
    /// not find it.
    private func awaitAnnouncement(of checkpoint: Dot) -> CheckpointVerdict {
        let isKnown = logs[checkpoint.log]?.head.sequence ?? 0 > checkpoint.sequence
        let roundCount = announcements.miss(checkpoint, inRound: roundNumber)
        return isKnown || roundCount >= setup.staleRoundsMax ? .refused(.announcementMissing) : .notArrived
    }

    private func commit(_ dot: Dot) async throws(SyncError) -> VerifiedCommit? {
        guard let bytes = try await commitBytes(dot) else { return nil }
        return try? verifier().authentic(bytes, at: dot)
    }

    private func commitBytes(_ dot: Dot) async throws(SyncError) -> [UInt8]? {
        let fetched = try await reaching { () async throws(RemoteError) in
            try await remote.fetch(
                layout.commit(dot.log, dot.sequence), byteCountMax: SignedRecord.byteCountMax)
        }
        guard case .bytes(let bytes) = fetched else { return nil }
        return bytes
    }

    /// Whether another author has confirmed it.
    private func isConfirmed(_ checkpoint: VerifiedCheckpoint) async throws(SyncError) -> Bool {
        let notice = CommitNotice.confirmation(checkpoint.dot, checkpoint.hash)
        for (log, last) in try await look() where log != checkpoint.dot.log {
            let first = checkpoint.body.versions[log] + 1
            guard first <= last else { continue }
            for sequence in first...min(last, first + Self.noticeDistance) {
                guard let commit = try await commit(Dot(log: log, sequence: sequence)) else { break }
                if commit.body.notices.contains(notice), commit.author != checkpoint.author { return true }
            }
        }
        return false
    }
}
