internal import CofferFacts
internal import CofferFormat
internal import CofferRemote
internal import CofferTrust

// Fetches commits concurrently, checks those of each log in order, and applies all in causal order.
extension SyncEngine {
    /// The most commits that are applied in one call.
    private static let batchCountMax = 256

    /// Fetches and applies commits.
    func pullLogs(_ scope: RoundScope) async throws(SyncError) {
        rounds.beginPull()
        logs.reviewStops(linkCount: chain.nextSequence)
        var listed: [LogID: UInt64] = [:]
        if scope.listsLogs {
            publish(.looking)
            ownLog.beginListing(
                head: logs.ownSummary?.head.sequence, covered: checkpoints.covered(logs.own),
                now: setup.milliseconds(), isThorough: scope.asksAllLogs)
            listed = try await listLogs()
            try await findStale(listed)
        }
        var asked = scope.asksAllLogs ? Set(logs.applied.keys).union(scope.logs) : scope.logs
        if !ownLog.hasSeenEnd { asked.insert(logs.own) }
        var pull = CommitPull(listed: listed, asked: asked)
        pull.wantGaps(&logs)
        var hasAskedMembers = false
        while try await fetchWave(&pull) {
            try await apply(&pull)
            if pull.lacksMembers, !hasAskedMembers {
                hasAskedMembers = true
                pull.askedMembers()
                try await pullMembers()
                try await openKeys()
            }
            pull.wantGaps(&logs)
        }
        try await apply(&pull)
        status.progress.commitsLeft = pull.commitsLeft(logs)
        if scope.listsLogs { logs.absent.record(pull.missing) }
        reportWithdrawn()
    }

    /// Fetches and applies all commits, so that bounds miss none that they could include.
    func pullAllLogs() async throws(SyncError) {
        if logs.applied.isEmpty { _ = try await rebuildFromCheckpoint() }
        try await pullLogs(.all)
        if let failure = rounds.pullFailure { throw failure }
        publish(.members)
    }

    /// Finds applied commits that no longer count.
    func reportWithdrawn() {
        for dot in logs.findWithdrawn(chain) {
            findings.report(.withdrawn(logs.author(dot.log), from: dot.sequence))
        }
    }

    // MARK: Listings

    /// The last commit of each log that the remote lists.
    private func listLogs() async throws(SyncError) -> [LogID: UInt64] {
        var listing = LogListing(logs, layout, own: ownLog.listing)
        try await objects.list(layout.logs) { listing.add($0) }
        ownLog.listing = listing.own
        logs.newLogTurn = listing.newLogTurn
        return listing.lastCommits
    }

    /// Finds logs of which the remote shows less than before; asks for their last commits, as the listing may
    /// be old.
    private func findStale(_ listed: [LogID: UInt64]) async throws(SyncError) {
        for (log, summary) in logs.applied {
            let head = Dot(log: log, sequence: summary.head.sequence)
            let isOwnUnsent = log == logs.own && !ownLog.unsent.isEmpty
            let isExpected =
                listed[log] ?? 0 < head.sequence && !isOwnUnsent && !checkpoints.covers(head)
                && !chain.hasRestored(head, since: summary.head.members)
            let isThere = isExpected ? try await objects.hasCommit(head) : true
            logs.stale.record(log, isStale: !isThere)
        }
        findings.resolve { if case .stale = $0 { true } else { false } }
        for log in logs.stale.reported {
            findings.report(
                .stale(logs.author(log), known: logs.appliedSequence(log), shown: listed[log] ?? 0))
        }
    }

    // MARK: Waves

    /// Fetches and checks the next commits of all logs; returns false if there are none.
    func fetchWave(_ pull: inout CommitPull) async throws(SyncError) -> Bool {
        let dots = pull.nextDots(logs, countMax: remote.limits.concurrentCallsMax)
        guard !dots.isEmpty else { return false }
        status.progress.commitsLeft = pull.commitsLeft(logs)
        publish(.fetching)
        let fetched = await objects.commits(dots)
        // In the order of each log.
        for dot in dots where pull.isOpen(dot.log, logs) {
            switch fetched[dot] {
            case nil: continue
            case .failure(let error):
                rounds.pullFailed(.remote(error, during: .fetching))
                pull.failed(dot)
            case .success(.absent):
                pull.wasAbsent(dot)
                if dot.log == logs.own { ownLog.sawEnd() }
            case .success(.tooLong(let byteCount)):
                pull.stop(dot, .tooLong(byteCount: byteCount), &logs, chain)
            case .success(.bytes(let bytes)):
                do throws(CommitProblem) {
                    pull.add(try verifiedCommit(bytes, at: dot), &logs, chain)
                } catch {
                    pull.stop(dot, error, &logs, chain)
                }
            }
        }
        if pull.needsRebuild { rounds.isRebuildWanted = true }
        return true
    }

    private func verifiedCommit(_ bytes: [UInt8], at dot: Dot) throws(CommitProblem) -> VerifiedCommit {
        guard let keyring else { throw .unknownEpoch(.first) }
        let verifier = CommitVerifier(vault: setup.vault, root: setup.root, chain: chain, keyring: keyring)
        let log = logs.checked[dot.log]
        guard dot.log == logs.own else { return try verifier.verify(bytes, at: dot, after: log) }
        do throws(CommitProblem) {
            return try verifier.verify(bytes, at: dot, after: log, of: ownIdentity)
        } catch {
            throw ownProblem(error, bytes, at: dot, verifier)
        }
    }

    // MARK: Applying

    /// Applies the commits that are ready in batches; each comes with the new state of its log.
    private func apply(_ pull: inout CommitPull) async throws(SyncError) {
        while !pull.ready.isEmpty {
            let batch = Array(pull.ready.prefix(Self.batchCountMax))
            // The remote has later commits of this device's own log: its profile was restored, and must catch
            // up first.
            let isBehind = pull.targets[logs.own] ?? 0 > logs.appliedSequence(logs.own)
            let count = try await apply(batch, draft: isBehind ? nil : changesDraft())
            pull.applied(count)
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
        var summaries: [LogSummary?] = []
        var incoming: [IncomingCommit] = []
        // What they say of checkpoints and packs is recorded only once they are applied.
        var (known, recorded, retiring) = (logs.applied, checkpoints, retirements)
        for commit in batch {
            let summary = LogSummary(commit, after: known[commit.dot.log])
            known[commit.dot.log] = summary
            summaries.append(summary)
            recorded.record(commit, logs.applied, isAdministrator: members.isAdministrator)
            retiring.record(commit, own: logs.own, isAdministrator: members.isAdministrator)
            let rows =
                [summary?.row].compactMap(\.self) + recorded.changesToSave() + retiring.changesToSave()
            incoming.append(IncomingCommit(commit, needs: logs.queue.counting(commit.versions), rows: rows))
        }
        let commits = incoming
        let applied: AppliedCommits
        do throws(SyncError) {
            applied = try await asking { () async throws(ReplicaError) in
                try await replica.apply(commits, draft: draft)
            }
        } catch {
            // Some may have been made before it failed.
            if draft != nil { retirements.madeUnchecked() }
            throw error
        }
        let count = min(applied.count, batch.count)
        for commit in batch.prefix(count) { recordCheckpoints(in: commit) }
        _ = checkpoints.changesToSave()
        for commit in applied.made { recordMade(commit, changes: true) }
        if !applied.made.isEmpty { retirements.madeUnchecked() }
        for commit in batch.prefix(count) {
            retirements.record(commit, own: logs.own, isAdministrator: members.isAdministrator)
        }
        _ = retirements.changesToSave()
        for (commit, summary) in zip(batch, summaries).prefix(count) { logs.recordApplied(commit, summary) }
        status.progress.commitsApplied += count
        for commit in batch.prefix(count) where commit.dot.log != logs.own && commit.point.writes {
            ownLog.owesAcknowledgement = true
        }
        for finding in applied.findings { report(finding) }
        for commit in batch.prefix(count) { checkClock(of: commit) }
        guard count > 0 else { throw .replica("no commit was applied") }
        return count
    }

    /// Records what an applied commit says of checkpoints.
    private func recordCheckpoints(in commit: VerifiedCommit) {
        checkpoints.record(commit, logs.applied, isAdministrator: members.isAdministrator)
        for case .checkpoint(let sequence, _) in commit.body.notices
        where sequence == commit.dot.sequence - 1 {
            arrived(Dot(log: commit.dot.log, sequence: sequence))
        }
    }

    private func report(_ finding: CommitFinding) {
        switch finding {
        case .complaint(let dot, let complaint): findings.report(.complaint(logs.author(dot.log), complaint))
        case .otherState(let dot):
            findings.report(.otherState(logs.author(dot.log), sequence: dot.sequence))
        }
    }

    /// Reports a clock that is far ahead: clocks decide nothing, but users see their dates.
    private func checkClock(of commit: VerifiedCommit) {
        let now = setup.milliseconds()
        let then = commit.body.clock >> 16
        guard then > now, then - now > 86_400_000 else { return }
        let author = logs.author(commit.dot.log)
        findings.resolve { if case .clockAhead(author, _) = $0 { true } else { false } }
        findings.report(.clockAhead(author, milliseconds: then - now))
    }

    // MARK: The known ends of logs

    /// Compares the last known commit of each log with the one at the remote, once after a start.
    ///
    /// Also learns which of this device's commits the others have applied, and what this device has
    /// acknowledged.
    func checkHeads() async throws(SyncError) {
        var dots = logs.applied.map { Dot(log: $0.key, sequence: $0.value.head.sequence) }
        let countMax = max(1, remote.limits.concurrentCallsMax)
        while !dots.isEmpty {
            let some = Array(dots.suffix(countMax))
            dots.removeLast(some.count)
            for (dot, fetched) in await objects.commits(some) {
                try checkHead(dot, try objects.content(fetched))
            }
        }
        if let head = chain.head, try await !objects.has(layout.member(head.sequence)) {
            findings.report(.staleMembers(known: head.sequence + 1))
        }
        if logs.ownSummary == nil {
            ownLog.owesAcknowledgement = logs.applied.contains { $0.value.lastWrite != nil }
        }
        rounds.hasCheckedHeads = true
    }

    private func checkHead(_ dot: Dot, _ fetched: Fetched) throws(SyncError) {
        guard let summary = logs[dot.log] else { return }
        let unsent = dot.log == logs.own ? ownLog.unsent[dot.sequence] : nil
        let verifier = try verifier()
        guard let found = fetched.bytes ?? unsent, let other = try? verifier.authentic(found, at: dot),
            other.author == summary.author
        else { return }
        guard other.point.hash == summary.head.hash else {
            return report(
                ForkedLog(dot: dot, known: summary.head.hash, other: other.point.hash, witness: nil))
        }
        guard dot.log == logs.own else {
            logs.sawOwn(other.body.heads[logs.own]?.sequence ?? 0, by: dot.log)
            if let fork = logs.fork(in: other) { report(fork) }
            return
        }
        // A crash may have come between applying and acknowledging.
        ownLog.owesAcknowledgement = logs.hasChanges(after: other.versions)
    }

    private func report(_ fork: ForkedLog) {
        if logs.add(fork, chain) { rounds.isRebuildWanted = true }
    }
}

extension IncomingCommit {
    /// - Parameters:
    ///   - needs: The commits of other logs that it needs and that count.
    ///   - rows: The rows to save with it.
    fileprivate init(_ commit: VerifiedCommit, needs: VersionVector, rows: [KeptChange]) {
        var claimed = commit.versions
        claimed[commit.dot.log] = commit.dot.sequence - 1
        // A commit that was made again does not state it.
        let state = commit.body.stateHash == StateHash.zero ? nil : commit.body.stateHash
        self.init(
            commit.change(after: needs), claimedVersions: claimed, claimedState: state,
            rows: rows)
    }
}
