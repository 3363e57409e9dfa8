internal import CofferFacts
internal import CofferFormat
internal import CofferTrust

// Commits that were checked and ordered, taken into the replica.
extension SyncEngine {
    /// Commits that are applied in one transaction.
    private static let batchCountMax = 256

    /// Applies what is ready, in batches, each commit with what is then known of its log.
    func apply(_ pull: inout Pull) async throws(SyncError) {
        while !pull.ready.isEmpty {
            let batch = Array(pull.ready.prefix(Self.batchCountMax))
            // This device's log goes on at the remote: its profile was put back, and it catches up first.
            let isBehind = pull.targets[setup.log] ?? 0 > logs[setup.log]?.head.sequence ?? 0
            let count = try await apply(batch, draft: isBehind ? nil : changesDraft())
            pull.ready.removeFirst(count)
        }
    }

    /// The draft by which what was changed here becomes a commit; nil if this device can make none.
    private func changesDraft() throws(SyncError) -> CommitDraft? {
        guard let role = try? ownRole(), role.may(.write) else { return nil }
        do throws(SyncError) { return try draft(isNeeded: false) } catch {
            // Then others are heard all the same, and removals, which end it.
            guard error == .tooManyLogs else { throw error }
            return nil
        }
    }

    /// Applies some commits.
    ///
    /// - Returns: How many.
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
        // Noticed once they are applied.
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
        // One that was made anew does not say.
        let state = commit.body.stateHash == StateHash.zero ? nil : commit.body.stateHash
        return IncomingCommit(facts, claimedVersions: claimed, claimedState: state, rows: rows)
    }

    private func note(_ finding: CommitFinding) {
        switch finding {
        case .complaint(let dot, let complaint): note(.complaint(author(dot.log), complaint))
        case .otherState(let dot): note(.otherState(author(dot.log), sequence: dot.sequence))
        }
    }

    /// Nothing is decided by clocks, but dates are shown.
    private func noticeClock(_ commit: VerifiedCommit) {
        let now = setup.milliseconds()
        let then = commit.body.clock >> 16
        guard then > now, then - now > 86_400_000 else { return }
        let author = author(commit.dot.log)
        notes.removeAll { if case .clockAhead(author, _) = $0 { true } else { false } }
        note(.clockAhead(author, milliseconds: then - now))
    }
}
