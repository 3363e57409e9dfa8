internal import CofferCrypto
internal import CofferFacts
internal import CofferFormat
internal import CofferRemote
internal import CofferTrust

// Rebuilds all facts from a checkpoint, or from the first commits.
extension SyncEngine {
    // MARK: When

    /// Finds applied commits that no longer count, because their author was removed or lost the right to
    /// write.
    func noticeWithdrawn() async throws(SyncError) {
        for (log, summary) in logs {
            for point in [summary.lastWrite, summary.head] {
                guard let point else { continue }
                let claim = CommitClaim(
                    author: summary.author, log: log, sequence: point.sequence, hash: point.hash,
                    head: point.members, writes: point.writes)
                guard let end = chain.end(of: claim), point.sequence > end else { continue }
                withdrawn[log] = min(withdrawn[log] ?? .max, end + 1)
                note(.withdrawn(author(log), from: end + 1))
            }
        }
    }

    /// Whether applying more commits cannot correct the facts on this device.
    func isRebuildNeeded(_ scope: RoundScope) async throws(SyncError) -> Bool {
        if isRebuildWanted || !withdrawn.isEmpty { return true }
        if try await mustGiveUpUnsent() { return true }
        // If no checkpoint was found, one is looked for only now and then.
        guard !lost.isEmpty, lost != uncovered || scope.asksAllLogs else { return false }
        // Commits were deleted while this device was away.
        if let checkpoint = try await newestCheckpoint(),
            lost.contains(where: { checkpoint.body.versions.contains($0) })
        {
            return true
        }
        uncovered = lost
        return false
    }

    // MARK: How

    /// Rebuilds all facts.
    func rebuild() async throws(SyncError) {
        publish(.rebuilding)
        try await noticeWithdrawn()
        let checkpoint = try await newestCheckpoint()
        // If commits were deleted and no checkpoint counts, facts would be lost.
        guard try await hasAll(behind: checkpoint) else { return }
        let givesUpUnsent = try await mustGiveUpUnsent()
        try await setAsideWhatGoes(withUnsent: givesUpUnsent)
        if withdrawn[setup.log] != nil { try await beginLog() }
        try await take(checkpoint, givingUpUnsent: givesUpUnsent)
    }

    /// Whether the remote has all commits after a checkpoint that are applied here and count; others would be
    /// lost with the facts.
    private func hasAll(behind checkpoint: VerifiedCheckpoint?) async throws(SyncError) -> Bool {
        let verifier = try verifier()
        if let dot = neededForRebuild {
            let isThere = try await reaching { () async throws(RemoteError) in
                try await remote.has(layout.commit(dot.log, dot.sequence))
            }
            guard isThere else { return false }
        }
        for (log, summary) in logs.sorted(by: { $0.key < $1.key }) {
            // The author was a member only on the lost side of a fork.
            if chain.signingKeys(of: summary.author).isEmpty { continue }
            let last = withdrawn[log].map { $0 - 1 } ?? summary.head.sequence
            var next = (checkpoint?.body.versions[log] ?? 0) + 1
            var isLost = false
            while next <= last, !isLost {
                let end = min(last, next + UInt64(max(1, remote.limits.concurrentCallsMax)) - 1)
                let dots = (next...end).map { Dot(log: log, sequence: $0) }.filter {
                    !chain.hasRestored($0, since: summary.head.members)
                }
                let found = await fetch(dots)
                for dot in dots {
                    guard let fetched = found[dot], !isLost else { break }
                    let content = try await reaching { () throws(RemoteError) in try fetched.get() }
                    if case .bytes(let bytes) = content {
                        if (try? verifier.authentic(bytes, at: dot)) != nil { continue }
                        // No commit after it counts either.
                        isLost = verifier.lostCommit(bytes, at: dot, by: summary.author) != nil
                        if isLost { break }
                    }
                    // The first commit to ask for next time.
                    neededForRebuild = dot
                    return false
                }
                next = end + 1
            }
        }
        neededForRebuild = nil
        return true
    }

    /// Begins with the newest checkpoint; returns false if there is none.
    func takeCheckpoint() async throws(SyncError) -> Bool {
        guard let checkpoint = try await newestCheckpoint() else { return false }
        publish(.checkpoint)
        try await take(checkpoint)
        return true
    }

    private func take(
        _ checkpoint: VerifiedCheckpoint?, givingUpUnsent givesUpUnsent: Bool = false
    ) async throws(SyncError) {
        try await asking { () async throws(ReplicaError) in try await replica.beginRebuild() }
        for number in 0..<(checkpoint?.body.pieces.count ?? 0) {
            guard let checkpoint, let groups = try await piece(number, of: checkpoint) else { return }
            try await asking { () async throws(ReplicaError) in try await replica.gather(groups) }
        }
        let summaries = checkpoint?.body.logs ?? []
        let kept = try await keptRows(behind: checkpoint?.body.versions[setup.log] ?? 0)
        let result = RebuiltFacts(
            versions: checkpoint?.body.versions ?? VersionVector(), clock: checkpoint?.body.clock ?? 0,
            labels: Dictionary(uniqueKeysWithValues: summaries.map { ($0.log, $0.introduction.label) }),
            rows: rebuiltRows(checkpoint) + kept, givesUpUnsent: givesUpUnsent)
        let state = try await asking { () async throws(ReplicaError) in
            try await replica.finishRebuild(result)
        }
        if let checkpoint, state != checkpoint.body.stateHash {
            note(.checkpoint(author(checkpoint.dot.log), sequence: checkpoint.dot.sequence, .otherState))
        }
        hashes = KnownHashes()
        (hasSeenOwnEnd, ownSequenceMin) = (false, logs[setup.log]?.head.sequence ?? 0)
        (withdrawn, isRebuildWanted, isLoaded) = ([:], false, false)
        stops = [:]
        // So that others learn that this device has it.
        owesAcknowledgement = checkpoint != nil
        try await load()
    }

    private func rebuiltRows(_ checkpoint: VerifiedCheckpoint?) -> [KeptChange] {
        var rows: [KeptChange] = []
        for link in chain.links {
            rows.append(KeptChange(KeptRow.Key(.memberLink, number: link.sequence), link.bytes))
        }
        for (user, chain) in identityChains {
            for link in chain.links {
                rows.append(
                    KeptChange(KeptRow.Key(.identityLink, id: user.bytes, number: link.sequence), link.bytes))
            }
        }
        rows += duties.rows
        guard let checkpoint else { return rows }
        for log in checkpoint.body.logs {
            rows.append(KeptChange(KeptRow.Key(.log, id: log.log.bytes), log.bytes))
        }
        let standing = CheckpointStanding(
            dot: checkpoint.dot, hash: checkpoint.hash, announcement: checkpoint.dot.sequence + 1,
            covered: checkpoint.body.versions, members: checkpoint.members)
        rows.append(KeptChange(KeptRow.Key(.checkpoint), standing.bytes))
        return rows
    }

    private func piece(
        _ number: Int, of checkpoint: VerifiedCheckpoint
    ) async throws(SyncError) -> [CheckpointPiece.Group]? {
        let name = layout.checkpointPiece(checkpoint.dot.log, checkpoint.dot.sequence, UInt32(number))
        let fetched = try await reaching { () async throws(RemoteError) in
            try await remote.fetch(name, byteCountMax: CheckpointPiece.byteCountMax)
        }
        let expected = checkpoint.body.pieces[number]
        let header = CheckpointPiece.header(
            setup.vault, checkpoint.dot, checkpoint.key.epoch, number: UInt32(number))
        guard case .bytes(let bytes) = fetched, bytes.starts(with: header),
            Blake2b.hash(bytes, for: .checkpointPiece) == expected.hash.bytes
        else {
            note(.checkpoint(author(checkpoint.dot.log), sequence: checkpoint.dot.sequence, .piece(number)))
            return nil
        }
        status.progress.bytesFetched += bytes.count
        let sealed = Array(bytes[header.count...])
        let key = checkpoint.key.subkey(CheckpointRole.self)
        let padded = try? unsafe RecordCipher.open(
            sealed.span.bytes, key: key, associated: header.span.bytes)
        guard let padded, let groups = try? CheckpointPiece.groups(padded: padded),
            groups.allSatisfy({ isPossible($0, in: checkpoint) })
        else {
            note(.checkpoint(author(checkpoint.dot.log), sequence: checkpoint.dot.sequence, .piece(number)))
            return nil
        }
        return groups
    }

    /// Whether the group belongs to a commit that the checkpoint covers, and its facts are valid.
    private func isPossible(_ group: CheckpointPiece.Group, in checkpoint: VerifiedCheckpoint) -> Bool {
        guard checkpoint.body.versions.contains(group.stamp.dot) else { return false }
        let facts = FactCommit(stamp: group.stamp, versions: checkpoint.body.versions, facts: group.facts)
        return facts.refusal(root: setup.root) == nil
    }
}
