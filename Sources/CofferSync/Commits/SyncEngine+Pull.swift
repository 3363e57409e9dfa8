internal import CofferFacts
internal import CofferFormat
internal import CofferRemote
internal import CofferTrust

// Commits: fetched side by side, checked one after the other in each log, applied in causal order.
extension SyncEngine {
    /// What one pull knows.
    struct Pull {
        /// The last commit of each log that should be there: listed, or named by others.
        var targets: [LogID: UInt64] = [:]
        /// Logs whose next commit is asked for, listed or not.
        var asked: Set<LogID> = []
        /// How many were fetched, so that all logs have their turn.
        var turn = 0
        /// Logs whose next commit was looked for, and was not there.
        var ended: Set<LogID> = []
        /// Commits that were not there.
        var absent: Set<Dot> = []
        /// Logs that wait for a commit, as there is no room to hold theirs.
        var blocked: [LogID: Blocked] = [:]
        /// Checked, and next to be applied.
        var ready: [VerifiedCommit] = []
        /// Whether a commit named links or keys that are not here.
        var lacksMembers = false
    }

    /// A commit that there is no room for.
    struct Blocked {
        let missing: Dot
        let author: IdentityID
    }

    /// Fetches and applies what there is.
    func pullLogs(_ scope: RoundScope) async throws(SyncError) {
        pullFailure = nil
        var pull = Pull()
        forgetStops()
        if scope.listsLogs {
            publish(.looking)
            pull.targets = try await look()
            try await noticeStale(pull.targets)
        }
        pull.asked = scope.asksAllLogs ? Set(logs.keys).union(scope.logs) : scope.logs
        if !hasSeenOwnEnd { pull.asked.insert(setup.log) }
        wantGaps(&pull)
        var hasAskedMembers = false
        while try await wave(&pull) {
            try await apply(&pull)
            if pull.lacksMembers, !hasAskedMembers {
                hasAskedMembers = true
                pull.lacksMembers = false
                try await pullMembers()
                try await openKeys()
            }
            wantGaps(&pull)
        }
        try await apply(&pull)
        status.progress.commitsLeft = commitsLeft(pull)
        if scope.listsLogs {
            let before = missing
            missing = pull.absent.filter { pull.targets[$0.log] ?? 0 >= $0.sequence }
            lost = missing.intersection(before)
        }
        try await noticeWithdrawn()
    }

    private func wantGaps(_ pull: inout Pull) {
        for gap in queue.missing.union(pull.blocked.values.map(\.missing)) {
            pull.targets[gap.log] = max(pull.targets[gap.log] ?? 0, gap.sequence)
            if case .tooManyLogs(let author)? = stops[gap.log]?.problem, mayBegin(gap.log, by: author, pull) {
                stops[gap.log] = nil
            }
        }
    }

    // MARK: Fetching

    /// Fetches and checks the next commits of all logs; false if there were none.
    private func wave(_ pull: inout Pull) async throws(SyncError) -> Bool {
        let dots = nextDots(&pull)
        guard !dots.isEmpty else { return false }
        status.progress.commitsLeft = commitsLeft(pull)
        publish(.fetching)
        let fetched = await fetch(dots)
        // In the order of each log; behind one that did not work out, nothing of the log counts.
        for dot in dots
        where !pull.ended.contains(dot.log) && stops[dot.log] == nil && pull.blocked[dot.log] == nil {
            switch fetched[dot] {
            case nil: continue
            case .failure(let error):
                pullFailure = pullFailure ?? .remote(error, during: .fetching)
                pull.ended.insert(dot.log)
            case .success(.absent):
                pull.ended.insert(dot.log)
                pull.absent.insert(dot)
                if dot.log == setup.log { hasSeenOwnEnd = true }
            case .success(.tooLong(let byteCount)):
                stops[dot.log] = LogStop(dot: dot, problem: .tooLong(byteCount: byteCount))
            case .success(.bytes(let bytes)):
                status.progress.bytesFetched += bytes.count
                take(bytes, at: dot, &pull)
            }
        }
        return true
    }

    /// What to fetch next: of each log what follows the last commit that was checked, as many in all as may be
    /// fetched at once.
    private func nextDots(_ pull: inout Pull) -> [Dot] {
        pull.blocked = pull.blocked.filter { !queue.versions.contains($0.value.missing) }
        let listed = pull.targets.filter { $0.value > tails[$0.key]?.head.sequence ?? 0 }.map(\.key)
        let candidates = pull.asked.union(listed).filter { log in
            stops[log] == nil && forks[log]?.isProven != true && !pull.ended.contains(log)
                && pull.blocked[log] == nil
        }.sorted()
        guard !candidates.isEmpty else { return [] }
        let countMax = max(1, remote.limits.concurrentCallsMax)
        let share = UInt64(max(1, countMax / candidates.count))
        let first = pull.turn % candidates.count
        let turn = (candidates[first...] + candidates[..<first]).prefix(countMax)
        pull.turn += turn.count
        var dots: [Dot] = []
        for log in turn {
            let next = (tails[log]?.head.sequence ?? 0) + 1
            let last = max(next, min(pull.targets[log] ?? 0, next + share - 1))
            for sequence in next...last { dots.append(Dot(log: log, sequence: sequence)) }
        }
        return dots
    }

    /// A storage may name commits of any number: what it says is shown, and no more.
    private func commitsLeft(_ pull: Pull) -> Int {
        pull.targets.reduce(0) { sum, target in
            let known = queue.versions[target.key]
            let left = mayGoOn(target.key) && target.value > known ? Int(clamping: target.value - known) : 0
            return sum.addingReportingOverflow(left).overflow ? .max : sum + left
        }
    }

    /// Whether more of a log may be applied: not of one that has ended, nor of one of which nothing was ever verified.
    private func mayGoOn(_ log: LogID) -> Bool {
        guard let stop = stops[log] else { return true }
        return !stop.problem.isFinal && logs[log] != nil
    }

    /// Fetches commits side by side.
    func fetch(_ dots: [Dot]) async -> [Dot: Result<Fetched, RemoteError>] {
        let layout = layout
        return await remote.fetchAll(
            dots, named: { layout.commit($0.log, $0.sequence) }, byteCountMax: SignedRecord.byteCountMax)
    }

    // MARK: Checking and ordering

    private func take(_ bytes: [UInt8], at dot: Dot, _ pull: inout Pull) {
        let commit: VerifiedCommit
        do throws(CommitProblem) {
            commit = try verifiedCommit(bytes, at: dot)
        } catch {
            stop(dot, error, &pull)
            return
        }
        guard mayBegin(dot.log, by: commit.author, pull) else {
            stops[dot.log] = LogStop(dot: dot, problem: .tooManyLogs(commit.author))
            return
        }
        let answer = queue.offer(
            commit, dot, needs: commit.versions, byteCount: commit.byteCount)
        switch answer {
        case .known: break
        case .full(let missing):
            pull.blocked[dot.log] = Blocked(missing: missing, author: commit.author)
            return
        case .held: pull.blocked[dot.log] = nil
        case .ready:
            pull.blocked[dot.log] = nil
            accept(commit, &pull)
        }
        if stops[dot.log] == nil { tails[dot.log] = summary(commit, after: tails[dot.log]) }
    }

    private func verifiedCommit(_ bytes: [UInt8], at dot: Dot) throws(CommitProblem) -> VerifiedCommit {
        guard let keyring else { throw .unknownEpoch(.first) }
        let verifier = CommitVerifier(vault: setup.vault, root: setup.root, chain: chain, keyring: keyring)
        guard dot.log == setup.log else { return try verifier.verify(bytes, at: dot, after: tails[dot.log]) }
        do throws(CommitProblem) {
            return try verifier.verify(bytes, at: dot, after: tails[dot.log], of: ownIdentity)
        } catch {
            throw ownProblem(error, bytes, at: dot, verifier)
        }
    }

    private func stop(_ dot: Dot, _ problem: CommitProblem, _ pull: inout Pull) {
        stops[dot.log] = LogStop(dot: dot, problem: problem)
        switch problem {
        case .unknownMembers, .unknownEpoch: pull.lacksMembers = true
        case .forked(let fork): alarm(fork)
        case _ where problem.isFinal:
            for commit in queue.end(dot.log, at: dot.sequence - 1) { accept(commit, &pull) }
        default: break
        }
    }

    /// Takes a commit that nothing is missing for, and those that waited for it.
    private func accept(_ commit: VerifiedCommit, _ pull: inout Pull) {
        var next = [commit]
        while let commit = next.popLast() {
            // What is in front of a stop counts, and would not be fetched again.
            if let stop = stops[commit.dot.log], commit.dot.sequence >= stop.dot.sequence { continue }
            // Not everybody knows the hash, and its author may lie: it counts all the same, for all.
            if let fork = fork(in: commit) { alarm(fork) }
            pull.ready.append(commit)
            hashes.note(commit.dot, commit.point.hash)
            next += queue.applied(commit.dot)
        }
    }

    func summary(_ commit: VerifiedCommit, after log: LogSummary?) -> LogSummary? {
        guard let introduction = log?.introduction ?? commit.body.introduction else { return nil }
        return LogSummary(
            log: commit.dot.log, author: commit.author, introduction: introduction,
            clock: commit.body.clock, head: commit.point,
            lastWrite: commit.point.writes ? commit.point : log?.lastWrite)
    }
}
