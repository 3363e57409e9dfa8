internal import CofferFacts
internal import CofferFormat
internal import CofferTrust

// Applies commits that were checked and ordered to the replica.
extension SyncEngine {
    /// The most commits that are applied in one call.
    private static let batchCountMax = 256

    /// Applies the commits that are ready in batches; each comes with the new state of its log.
    func apply(_ pull: inout Pull) async throws(SyncError) {
        while !pull.ready.isEmpty {
            let batch = Array(pull.ready.prefix(Self.batchCountMax))
            // The remote has later commits of this device's own log: its profile was restored, and must catch
            // up first.
            let isBehind = pull.targets[setup.log] ?? 0 > logs[setup.log]?.head.sequence ?? 0
            let count = try await apply(batch, draft: isBehind ? nil : changesDraft())
            pull.ready.removeFirst(count)
        }
    }

    /// The draft for a commit of local changes; nil if this device can make none.
    private func changesDraft() throws(SyncError) -> CommitDraft? {
        guard let role = try? ownRole(), role.may(.write) else { return nil }
        do throws(SyncError) { return try draft(isNeeded: false) } catch {
            // The device still receives others' commits, and removals, which end this state.
            guard error == .tooManyLogs else { throw error }
            return nil
        }
    }

    /// Applies commits from the start of a batch.
    ///
    /// - Returns: The number of commits applied.
    private func apply(_ batch: [VerifiedCommit], draft: CommitDraft?) async throws(SyncError) -> Int {
        var heads: [LogSummary?] = []
        var incoming: [IncomingCommit] = []
        let before = (standing, unconfirmed, keptCheckpoints)
        var known = logs
        for commit in batch {
            let summary = summary(commit, after: known[commit.dot.log])
            known[commit.dot.log] = summary
            heads.append(summary)
            var rows: [KeptChange] = []
            if let summary {
                rows.append(KeptChange(KeptRow.Key(.log, id: summary.log.bytes), summary.bytes))
            }
            noticeCheckpoints([commit])
            incoming.append(self.incoming(commit, rows + checkpointRows()))
        }
        // What they say of checkpoints is recorded only once they are applied.
        (standing, unconfirmed, keptCheckpoints) = before
        let commits = incoming
        let applied = try await asking { () async throws(ReplicaError) in
            try await replica.apply(commits, draft: draft)
        }
        let count = min(applied.count, batch.count)
        noticeCheckpoints(Array(batch.prefix(count)))
        _ = checkpointRows()
        for commit in applied.made { hasMade(commit, changes: true) }
        for (commit, head) in zip(batch, heads).prefix(count) {
            logs[commit.dot.log] = head
            seenOfOwn[commit.dot.log] = commit.body.heads[setup.log]?.sequence ?? 0
        }
        status.progress.commitsApplied += count
        for commit in batch.prefix(count) where commit.dot.log != setup.log && commit.point.writes {
            owesAcknowledgement = true
        }
        for finding in applied.findings { note(finding) }
        for commit in batch.prefix(count) { noticeClock(commit) }
        guard count > 0 else { throw .replica("no commit was applied") }
        return count
    }

    private func incoming(_ commit: VerifiedCommit, _ rows: [KeptChange]) -> IncomingCommit {
        var claimed = commit.versions
        claimed[commit.dot.log] = commit.dot.sequence - 1
        let facts = FactCommit(
            stamp: Stamp(clock: commit.body.clock, dot: commit.dot),
            versions: queue.counting(commit.versions),
            label: commit.body.introduction?.label, facts: commit.body.facts)
        // A commit that was made again does not state it.
        let state = commit.body.stateHash == StateHash.zero ? nil : commit.body.stateHash
        return IncomingCommit(facts, claimedVersions: claimed, claimedState: state, rows: rows)
    }

    private func note(_ finding: CommitFinding) {
        switch finding {
        case .complaint(let dot, let complaint): note(.complaint(author(dot.log), complaint))
        case .otherState(let dot): note(.otherState(author(dot.log), sequence: dot.sequence))
        }
    }

    /// Reports a clock that is far ahead: clocks decide nothing, but users see their dates.
    private func noticeClock(_ commit: VerifiedCommit) {
        let now = setup.milliseconds()
        let then = commit.body.clock >> 16
        guard then > now, then - now > 86_400_000 else { return }
        let author = author(commit.dot.log)
        notes.removeAll { if case .clockAhead(author, _) = $0 { true } else { false } }
        note(.clockAhead(author, milliseconds: then - now))
    }
}
