internal import CofferCrypto
internal import CofferFacts
internal import CofferFormat
internal import CofferRemote
internal import CofferTrust

// Rebuilds all facts from a checkpoint, or from the first commits.
extension SyncEngine {
    // MARK: When

    /// Whether applying more commits cannot correct the facts on this device.
    func isRebuildNeeded(_ scope: RoundScope) async throws(SyncError) -> Bool {
        if rounds.isRebuildWanted || !logs.withdrawn.isEmpty { return true }
        if try await mustGiveUpUnsent() { return true }
        // If no checkpoint was found, one is looked for only now and then.
        guard logs.absent.needCheckpoint(isThorough: scope.asksAllLogs) else { return false }
        // Commits were deleted while this device was away.
        if let checkpoint = try await newestCheckpoint(),
            logs.absent.lost.contains(where: { checkpoint.body.versions.contains($0) })
        {
            return true
        }
        logs.absent.foundNoCheckpoint()
        return false
    }

    // MARK: How

    /// Rebuilds all facts.
    func rebuild() async throws(SyncError) {
        publish(.rebuilding)
        reportWithdrawn()
        let checkpoint = try await newestCheckpoint()
        // If commits were deleted and no checkpoint counts, facts would be lost.
        guard let replayed = try await appliedCommits(after: checkpoint) else { return }
        let givesUpUnsent = try await mustGiveUpUnsent()
        try await setAsideWhatGoes(withUnsent: givesUpUnsent)
        if logs.withdrawn[logs.own] != nil { try await beginLog() }
        try await rebuild(from: checkpoint, replaying: replayed, givingUpUnsent: givesUpUnsent)
    }

    /// The last commit of each log that is applied here, counts, and follows a checkpoint.
    ///
    /// - Returns: Nil if the remote lacks one of these commits, which would be lost with the facts.
    private func appliedCommits(
        after checkpoint: VerifiedCheckpoint?
    ) async throws(SyncError) -> [LogID: UInt64]? {
        let verifier = try verifier()
        var ends: [LogID: UInt64] = [:]
        if let dot = rounds.neededForRebuild, try await !objects.hasCommit(dot) { return nil }
        for (log, summary) in logs.applied.sorted(by: { $0.key < $1.key }) {
            // The author was a member only on the lost side of a fork.
            if chain.signingKeys(of: summary.author).isEmpty { continue }
            let last = logs.withdrawn[log].map { $0 - 1 } ?? summary.head.sequence
            var next = (checkpoint?.body.versions[log] ?? 0) + 1
            var isLost = false
            while next <= last, !isLost {
                let end = min(last, next + UInt64(max(1, remote.limits.concurrentCallsMax)) - 1)
                let dots = (next...end).map { Dot(log: log, sequence: $0) }.filter {
                    !chain.hasRestored($0, since: summary.head.members)
                }
                let found = await objects.commits(dots)
                for dot in dots {
                    guard let fetched = found[dot], !isLost else { break }
                    if let bytes = try objects.content(fetched).bytes {
                        if (try? verifier.authentic(bytes, at: dot)) != nil {
                            ends[log] = dot.sequence
                            continue
                        }
                        // No commit after it counts either.
                        isLost = verifier.lostCommit(bytes, at: dot, by: summary.author) != nil
                        if isLost { break }
                    }
                    // The first commit to ask for next time.
                    rounds.neededForRebuild = dot
                    return nil
                }
                next = end + 1
            }
        }
        rounds.neededForRebuild = nil
        return ends
    }

    /// Begins with the newest checkpoint; returns false if there is none.
    func rebuildFromCheckpoint() async throws(SyncError) -> Bool {
        guard let checkpoint = try await newestCheckpoint() else { return false }
        publish(.checkpoint)
        try await rebuild(from: checkpoint)
        return true
    }

    /// - Parameter ends: The last commit of each log that stays applied in the same transaction.
    private func rebuild(
        from checkpoint: VerifiedCheckpoint?, replaying ends: [LogID: UInt64] = [:],
        givingUpUnsent givesUpUnsent: Bool = false
    ) async throws(SyncError) {
        try await asking { () async throws(ReplicaError) in try await replica.beginRebuild() }
        for number in 0..<(checkpoint?.body.pieces.count ?? 0) {
            guard let checkpoint, let groups = try await piece(number, of: checkpoint) else { return }
            try await asking { () async throws(ReplicaError) in try await replica.addToRebuild(groups) }
        }
        let summaries = checkpoint?.body.logs ?? []
        let kept = try await keptRows(behind: checkpoint?.body.versions[logs.own] ?? 0)
        var facts = RebuiltFacts(
            versions: checkpoint?.body.versions ?? VersionVector(), clock: checkpoint?.body.clock ?? 0,
            labels: Dictionary(uniqueKeysWithValues: summaries.map { ($0.log, $0.introduction.label) }),
            rows: rebuiltRows(checkpoint) + kept, givesUpUnsent: givesUpUnsent)
        let ownEnd = logs.appliedSequence(logs.own)
        guard try await replay(ends, after: &facts) else { return }
        let result = facts
        let state = try await asking { () async throws(ReplicaError) in
            try await replica.finishRebuild(result)
        }
        if let checkpoint, state != checkpoint.body.stateHash {
            report(.otherState, of: checkpoint.dot)
        }
        ownLog.mustSeeEnd(atLeast: ownEnd)
        rounds.isRebuildWanted = false
        rounds.mustLoad()
        // So that others learn that this device has it.
        ownLog.owesAcknowledgement = checkpoint != nil || logs.hasChanges(after: VersionVector())
        try await load()
    }

    /// Collects commits that follow a checkpoint, in causal order, and begins with what is known of logs then.
    ///
    /// They were applied before the rebuild. In one transaction with it, nothing that they state disappears
    /// and comes back, and no program sees a file go that it is writing.
    ///
    /// - Parameters:
    ///   - ends: The last commit of each log to collect.
    ///   - facts: Those of the checkpoint; the commits' rows and labels are added.
    /// - Returns: False, with nothing changed, if one of them is no longer at the remote.
    private func replay(
        _ ends: [LogID: UInt64], after facts: inout RebuiltFacts
    ) async throws(SyncError) -> Bool {
        let before = (logs: logs, checkpoints: checkpoints)
        var isWhole = false
        defer { if !isWhole { (logs, checkpoints) = before } }
        let saved: SavedState
        let rows = facts.rows.compactMap { row in row.value.map { KeptRow(row.key, $0) } }
        do throws(FormatError) { saved = try SavedState(rows, duties: duties) } catch { throw .format(error) }
        logs.recordRebuilt()
        guard logs.restore(saved.logs, facts.versions) else { throw .otherVersions }
        checkpoints = saved.checkpoints
        rounds.beginPull()
        var pull = CommitPull(listed: ends, asked: [])
        while try await fetchWave(&pull) {
            try await addToRebuild(&pull)
            pull.wantGaps(&logs)
        }
        try await addToRebuild(&pull)
        if let failure = rounds.pullFailure { throw failure }
        if pull.absent.contains(where: { $0.sequence <= ends[$0.log] ?? 0 }) { return false }
        facts.rows += logs.applied.values.map(\.row) + checkpoints.changesToSave()
        for (log, summary) in logs.applied { facts.labels[log] = summary.introduction.label }
        isWhole = true
        return true
    }

    /// Adds the commits of a pull that are ready to those that the replica collects.
    private func addToRebuild(_ pull: inout CommitPull) async throws(SyncError) {
        let ready = pull.ready
        guard !ready.isEmpty else { return }
        let commits = ready.map { $0.change(after: logs.queue.counting($0.versions)) }
        for commit in ready {
            checkpoints.record(commit, logs.applied, isAdministrator: members.isAdministrator)
            logs.recordApplied(commit, LogSummary(commit, after: logs[commit.dot.log]))
        }
        try await asking { () async throws(ReplicaError) in
            try await replica.addToRebuild(commits)
        }
        pull.applied(ready.count)
    }

    private func rebuiltRows(_ checkpoint: VerifiedCheckpoint?) -> [KeptChange] {
        var rows = members.rows + duties.rows + retirements.rowsAfterRebuild
        guard let checkpoint else { return rows }
        rows += checkpoint.body.logs.map(\.row)
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
        let fetched = try await objects.fetch(name, byteCountMax: CheckpointPiece.byteCountMax)
        let groups = fetched.bytes.flatMap { checkpoint.groups(ofPiece: number, $0, root: setup.root) }
        if groups == nil { report(.piece(number), of: checkpoint.dot) }
        return groups
    }
}
