internal import CofferFacts
internal import CofferCrypto
internal import CofferFormat
internal import CofferRemote
internal import CofferTrust

// Makes, announces and confirms checkpoints, and deletes what they cover.
extension SyncEngine {
    /// The number of registers read at a time.
    private static let registerCount = 1000

    /// Saves, confirms and makes checkpoints, and deletes what they cover.
    func serveCheckpoints() async throws(SyncError) {
        try await saveCheckpoints()
        try await forgetCovered()
        guard try ownRole()?.may(.write) == true, logs.stops[logs.own] == nil else { return }
        try await confirmCheckpoints()
        if isCheckpointDue() {
            publish(.checkpoint)
            try await makeCheckpoint()
        }
        try await clearCovered()
    }

    private func saveCheckpoints() async throws(SyncError) {
        var saved = checkpoints
        try await save(saved.changesToSave())
        checkpoints = saved
    }

    // MARK: Searching for them

    /// The newest checkpoint, by its clock, that counts.
    func newestCheckpoint() async throws(SyncError) -> VerifiedCheckpoint? {
        // Each search names again what is still wrong.
        findings.resolve {
            if case .checkpoint(_, _, let problem) = $0 { problem.isFoundBySearch } else { false }
        }
        var search = try checkpointSearch()
        defer { ended(search) }
        return try await search.newest()
    }

    /// A search for the newest checkpoint that counts, by what is known now.
    func checkpointSearch() throws(SyncError) -> CheckpointSearch {
        CheckpointSearch(
            objects, try verifier(), members, logs, awaited: announcements, round: rounds.number)
    }

    private func ended(_ search: CheckpointSearch) {
        announcements = search.awaited
        for refusal in search.refusals { report(refusal.problem, of: refusal.checkpoint) }
    }

    /// Reports why a checkpoint is not used.
    func report(_ problem: CheckpointProblem, of checkpoint: Dot) {
        findings.report(
            .checkpoint(logs.author(checkpoint.log), sequence: checkpoint.sequence, problem))
    }

    /// Records that a commit that announces a checkpoint has arrived.
    func arrived(_ checkpoint: Dot) {
        announcements.arrived(checkpoint)
        findings.resolve {
            guard case .checkpoint(let author, checkpoint.sequence, .announcementMissing) = $0 else {
                return false
            }
            return author.log == checkpoint.log
        }
    }

    // MARK: Making them

    private func isCheckpointDue() -> Bool {
        guard let own = logs.ownSummary, logs.applied.count <= setup.logCountMax, ownLog.unsent.isEmpty else {
            return false
        }
        // After a restore the storage lacks commits that this device may have applied.
        if let restore = chain.state.restores.last,
            restore.sequence > checkpoints.standing?.members ?? 0, members.isAdministrator(ownIdentity)
        {
            return true
        }
        if needsCheckpointForLost { return true }
        let turn = CheckpointTurn(
            own: own, commitsPerCheckpoint: setup.commitsPerCheckpoint,
            isAdministrator: members.isAdministrator)
        return turn.hasCome(
            after: checkpoints.largest, applied: logs.queue.versions, logs: logs.applied.values)
    }

    /// Puts the pieces, the record and the announcement, in this order; no device reads the others without
    /// the last.
    func makeCheckpoint() async throws(SyncError) {
        guard let own = logs.ownSummary, let key = keyring?.current, let members = chain.head else { return }
        guard logs.applied.count <= setup.logCountMax else { throw .tooManyLogs }
        let dot = Dot(log: logs.own, sequence: own.head.sequence)
        var pieces: [CheckpointBody.Piece] = []
        try await forEachPiece { groups async throws(SyncError) in
            let number = UInt32(pieces.count)
            let piece = CheckpointPiece.sealing(groups: groups, dot, number: number, under: key)
            try await objects.put(layout.checkpointPiece(dot.log, dot.sequence, number), piece)
            status.progress.bytesSent += piece.count
            pieces.append(
                CheckpointBody.Piece(
                    hash: PieceHash(Blake2b.hash(piece, for: .checkpointPiece)),
                    facts: PieceHash(Blake2b.hash(groups, for: .checkpointFacts)),
                    byteCount: UInt32(piece.count)))
        }
        let state = try await asking { () async throws(ReplicaError) in try await replica.stateHash() }
        let summaries = Array(logs.applied.values)
        let clock = summaries.map(\.clock).max() ?? 0
        let body = CheckpointBody(clock: clock, stateHash: state, logs: summaries, pieces: pieces)
        let bytes = SignedRecord.sealing(
            body.paddedBytes, as: .checkpoint, at: dot, under: key, members: members, writes: true,
            by: setup.keys.author)
        try await objects.put(layout.checkpoint(dot.log, dot.sequence), bytes)
        let hash = CheckpointHash(Blake2b.hash(bytes, for: .checkpoint))
        let covered = VersionVector(try logs.heads())
        guard try await makeCommit(isNeeded: true, [.checkpoint(sequence: dot.sequence, hash)]) else {
            return
        }
        checkpoints.announce(
            hash, by: Dot(log: dot.log, sequence: dot.sequence + 1), covering: covered, members: members,
            logs.applied, unconfirmedBy: self.members.isAdministrator(ownIdentity) ? nil : ownIdentity)
        try await saveCheckpoints()
        try await push()
    }

    /// Passes this device's facts to `body`, cut into pieces.
    private func forEachPiece(
        _ body: (_ groups: [UInt8]) async throws(SyncError) -> Void
    ) async throws(SyncError) {
        var builder = PieceBuilder()
        var last: Register?
        while true {
            let after = last
            let values = try await asking { () async throws(ReplicaError) in
                try await replica.values(after: after, limit: Self.registerCount)
            }
            for value in values {
                if let groups = builder.add(value) { try await body(groups) }
            }
            guard let end = values.last else { break }
            last = end.register
        }
        let rest = builder.finish()
        if !rest.isEmpty { try await body(rest) }
    }

    // MARK: Confirming them

    /// Confirms others' checkpoints, as long as this device has exactly the same facts.
    private func confirmCheckpoints() async throws(SyncError) {
        for checkpoint in checkpoints.unconfirmed.map(\.standing) where checkpoint.dot.log != logs.own {
            guard logs.haveJust(checkpoint) else { continue }
            checkpoints.dropUnconfirmed(checkpoint.dot)
            publish(.checkpoint)
            guard try await hasSameFacts(checkpoint) else {
                report(.otherState, of: checkpoint.dot)
                continue
            }
            let notice = CommitNotice.confirmation(checkpoint.dot, checkpoint.hash)
            guard try await makeCommit(isNeeded: true, [notice]) else { continue }
            checkpoints.stand(checkpoint)
            checkpoints.acknowledge(logs.own)
            try await saveCheckpoints()
            try await push()
        }
    }

    private func hasSameFacts(_ checkpoint: CheckpointStanding) async throws(SyncError) -> Bool {
        var search = try checkpointSearch()
        defer { ended(search) }
        guard let found = try await search.record(checkpoint.dot), found.hash == checkpoint.hash,
            found.body.versions == checkpoint.covered
        else { return false }
        let state = try await asking { () async throws(ReplicaError) in try await replica.stateHash() }
        guard found.body.stateHash == state else { return false }
        var hashes: [PieceHash] = []
        try await forEachPiece { groups async throws(SyncError) in
            hashes.append(PieceHash(Blake2b.hash(groups, for: .checkpointFacts)))
        }
        // The commit that announces the checkpoint has changed no facts.
        return hashes == found.body.pieces.map(\.facts)
    }

    // MARK: Deleting what they cover

    /// Deletes the commits that this device's checkpoint covers, once every active log has applied the
    /// announcement.
    private func clearCovered() async throws(SyncError) {
        guard let checkpoint = checkpoints.standing, checkpoint.dot.log == logs.own, !checkpoint.isCleared,
            logs.haveAcknowledged(checkpoint, chain, at: setup.milliseconds())
        else { return }
        publish(.checkpoint)
        try await objects.deleteCovered(by: checkpoint)
        checkpoints.cleared()
        try await saveCheckpoints()
    }
}
