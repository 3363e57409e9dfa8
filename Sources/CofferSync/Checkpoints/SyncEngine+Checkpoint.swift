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
    func tendCheckpoints() async throws(SyncError) {
        try await saveCheckpoints()
        try await forgetCovered()
        guard try ownRole()?.may(.write) == true, stops[setup.log] == nil else { return }
        try await confirmCheckpoints()
        if isCheckpointDue() {
            publish(.checkpoint)
            try await makeCheckpoint()
        }
        try await clearCovered()
    }

    // MARK: Hearing of them

    /// Records what commits say of checkpoints, and whether they contain later facts.
    func noticeCheckpoints(_ batch: [VerifiedCommit]) {
        for commit in batch {
            for notice in commit.body.notices { noticeCheckpoint(notice, of: commit) }
            if !commit.body.facts.isEmpty { noticeChanges() }
            guard let announced = standing else { continue }
            let announcement = Dot(log: announced.dot.log, sequence: announced.announcement)
            if commit.versions.contains(announcement) { standing?.acknowledge(commit.dot.log) }
        }
    }

    /// Records that facts were applied that no checkpoint covers.
    func noticeChanges() {
        standing?.hasChanges = true
        for index in unconfirmed.indices { unconfirmed[index].standing.hasChanges = true }
    }

    private func noticeCheckpoint(_ notice: CommitNotice, of commit: VerifiedCommit) {
        switch notice {
        case .checkpoint(let sequence, let hash):
            // A checkpoint is announced by the next commit of its log.
            guard sequence > 0, sequence == commit.dot.sequence - 1 else { return }
            announce(hash, commit.dot, commit.versions, by: commit.author, commit.point.members)
        case .confirmation(let dot, let hash):
            let index = unconfirmed.firstIndex {
                $0.standing.dot == dot && $0.standing.hash == hash && $0.author != commit.author
            }
            guard let index else { return }
            stand(unconfirmed.remove(at: index).standing)
        }
    }

    private func announce(
        _ hash: CheckpointHash, _ announcement: Dot, _ versions: VersionVector, by author: IdentityID,
        _ members: LinkHead
    ) {
        let dot = Dot(log: announcement.log, sequence: announcement.sequence - 1)
        announcements.arrived(dot)
        notes.removeAll { $0 == .checkpoint(author(dot.log), sequence: dot.sequence, .announcementMissing) }
        var covered = versions
        covered[dot.log] = dot.sequence
        var checkpoint = CheckpointStanding(
            dot: dot, hash: hash, announcement: announcement.sequence, covered: covered,
            members: members.sequence)
        checkpoint.hasChanges = logs.contains { log, summary in
            log != dot.log && summary.lastWrite?.sequence ?? 0 > covered[log]
        }
        guard !isAdministrator(author) else { return stand(checkpoint) }
        if let standing, standing.covers(checkpoint) { return }
        unconfirmed.append(UnconfirmedCheckpoint(standing: checkpoint, author: author))
        // Of many that are never confirmed, the oldest are dropped.
        if unconfirmed.count > 16 { unconfirmed.removeFirst() }
    }

    /// Makes a checkpoint the one that counts, unless the current one covers more.
    ///
    /// If neither covers the other, the later one to be noticed counts.
    private func stand(_ checkpoint: CheckpointStanding) {
        if let standing, standing.covers(checkpoint), !checkpoint.covers(standing) { return }
        standing = checkpoint
        standing?.acknowledged = [checkpoint.dot.log]
        unconfirmed.removeAll { checkpoint.covers($0.standing) }
    }

    /// The changes that save the known checkpoints, which count as saved from then on.
    func checkpointRows() -> [KeptChange] {
        var values: [KeptRow.Key: [UInt8]] = [:]
        if let standing { values[KeptRow.Key(.checkpoint)] = standing.bytes }
        for checkpoint in unconfirmed { values[checkpoint.key] = checkpoint.bytes }
        var rows: [KeptChange] = []
        for (key, value) in values where keptCheckpoints[key] != value { rows.append(KeptChange(key, value)) }
        for key in keptCheckpoints.keys where values[key] == nil { rows.append(KeptChange(key, nil)) }
        keptCheckpoints = values
        return rows
    }

    /// Restores a saved checkpoint.
    func takeCheckpointRow(_ row: KeptRow) throws(FormatError) {
        keptCheckpoints[row.key] = row.value
        if row.key == KeptRow.Key(.checkpoint) {
            standing = try CheckpointStanding(row.value)
        } else {
            unconfirmed.append(try UnconfirmedCheckpoint(row.value))
        }
    }

    func saveCheckpoints() async throws(SyncError) {
        let rows = checkpointRows()
        guard !rows.isEmpty else { return }
        try await asking { () async throws(ReplicaError) in try await replica.save(rows) }
    }

    func isAdministrator(_ identity: IdentityID) -> Bool {
        guard let member = chain.state.members[identity], member.keys != nil else { return false }
        return member.role == .owner || member.role == .admin
    }

    // MARK: Making them

    /// Whether it is this device's turn, which comes later the more logs rank before its own.
    ///
    /// Logs of administrators rank first, since their checkpoints need no confirmation.
    private func isCheckpointDue() -> Bool {
        guard logs[setup.log] != nil, logs.count <= setup.logCountMax, outgoing.isEmpty else {
            return false
        }
        // After a restore the storage lacks commits that this device may have applied.
        if let restore = chain.state.restores.last, restore.sequence > standing?.members ?? 0,
            isAdministrator(setup.keys.author.identity)
        {
            return true
        }
        if needsCheckpointForLost { return true }
        let last = (unconfirmed.map(\.standing) + [standing].compactMap { $0 })
            .max { $0.covered.commitCount < $1.covered.commitCount }
        // Announcing and acknowledging a checkpoint must not make another one due, or there would be no end.
        if let last, !last.hasChanges { return false }
        let covered = last?.covered ?? VersionVector()
        let count = queue.versions.commitCount &- min(covered.commitCount, queue.versions.commitCount)
        let rank = logs.values.filter { standsInFront($0) }.count
        let wait = setup.commitsPerCheckpoint / 8 * UInt64(min(rank, 8))
        return count >= setup.commitsPerCheckpoint + wait
    }

    private func standsInFront(_ log: LogSummary) -> Bool {
        let isOfAdministrator = isAdministrator(log.author)
        if isOfAdministrator != isAdministrator(setup.keys.author.identity) { return isOfAdministrator }
        return log.log < setup.log
    }

    /// Puts the pieces, the record and the announcement, in this order; no device reads the others without
    /// the last.
    func makeCheckpoint() async throws(SyncError) {
        guard let own = logs[setup.log], let key = keyring?.current, let members = chain.head else { return }
        guard logs.count <= setup.logCountMax else { throw .tooManyLogs }
        let dot = Dot(log: setup.log, sequence: own.head.sequence)
        var pieces: [CheckpointBody.Piece] = []
        try await forEachPiece { groups async throws(SyncError) in
            let piece = sealPiece(groups, dot, UInt32(pieces.count), key)
            let name = layout.checkpointPiece(dot.log, dot.sequence, UInt32(pieces.count))
            try await reaching { () async throws(RemoteError) in
                try await remote.put(name, .memory(piece), ifAbsent: false)
            }
            status.progress.bytesSent += piece.count
            pieces.append(
                CheckpointBody.Piece(
                    hash: PieceHash(Blake2b.hash(piece, for: .checkpointPiece)),
                    facts: PieceHash(Blake2b.hash(groups, for: .checkpointFacts)),
                    byteCount: UInt32(piece.count)))
        }
        let state = try await asking { () async throws(ReplicaError) in try await replica.stateHash() }
        let clock = logs.values.map(\.clock).max() ?? 0
        let body = CheckpointBody(clock: clock, stateHash: state, logs: Array(logs.values), pieces: pieces)
        let bytes = SignedRecord.sealing(
            body.paddedBytes, as: .checkpoint, at: dot, under: key, members: members, writes: true,
            by: setup.keys.author)
        try await reaching { () async throws(RemoteError) in
            try await remote.put(layout.checkpoint(dot.log, dot.sequence), .memory(bytes), ifAbsent: false)
        }
        let hash = CheckpointHash(Blake2b.hash(bytes, for: .checkpoint))
        let covered = try heads()
        guard try await makeCommit(isNeeded: true, [.checkpoint(sequence: dot.sequence, hash)]) else {
            return
        }
        announce(
            hash, Dot(log: setup.log, sequence: dot.sequence + 1), VersionVector(covered),
            by: setup.keys.author.identity, members)
        try await saveCheckpoints()
        try await push()
    }

    private func sealPiece(_ groups: [UInt8], _ dot: Dot, _ number: UInt32, _ key: EpochKey) -> [UInt8] {
        let header = CheckpointPiece.header(setup.vault, dot, key.epoch, number: number)
        let padded = CheckpointPiece.padded(groups: groups)
        let subkey = key.subkey(CheckpointRole.self)
        return header
            + (unsafe RecordCipher.seal(padded.span.bytes, key: subkey, associated: header.span.bytes))
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
        for checkpoint in unconfirmed.map(\.standing) where checkpoint.dot.log != setup.log {
            guard hasAppliedJust(checkpoint) else { continue }
            unconfirmed.removeAll { $0.standing.dot == checkpoint.dot }
            publish(.checkpoint)
            guard try await hasSameFacts(checkpoint) else {
                note(.checkpoint(author(checkpoint.dot.log), sequence: checkpoint.dot.sequence, .otherState))
                continue
            }
            let notice = CommitNotice.confirmation(checkpoint.dot, checkpoint.hash)
            guard try await makeCommit(isNeeded: true, [notice]) else { continue }
            stand(checkpoint)
            standing?.acknowledge(setup.log)
            try await saveCheckpoints()
            try await push()
        }
    }

    /// Whether exactly the covered facts are applied; later commits may only acknowledge.
    private func hasAppliedJust(_ checkpoint: CheckpointStanding) -> Bool {
        guard queue.versions.firstMissing(of: checkpoint.covered) == nil else { return false }
        return logs.allSatisfy { log, summary in
            let isMaker = log == checkpoint.dot.log
            let last = isMaker ? checkpoint.announcement : checkpoint.covered[log]
            return summary.lastWrite?.sequence ?? 0 <= last
        }
    }

    private func hasSameFacts(_ checkpoint: CheckpointStanding) async throws(SyncError) -> Bool {
        guard let found = try await checkpointRecord(checkpoint.dot), found.hash == checkpoint.hash,
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
}

extension VersionVector {
    /// The number of commits that it contains.
    var commitCount: UInt64 { sequences.values.reduce(0) { $0 &+ $1 } }
}
