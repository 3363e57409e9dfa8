internal import CofferFacts
internal import CofferFormat
internal import CofferRemote
internal import CofferTrust

// Fetches commits concurrently, checks those of each log in order, and applies all in causal order.
extension SyncEngine {
    /// The state of one pull.
    struct Pull {
        /// The last commit of each log that should be there: listed, or named by others.
        var targets: [LogID: UInt64] = [:]
        /// Logs whose next commit to ask for, listed or not.
        var asked: Set<LogID> = []
        /// The number of logs that had their turn, so that all get one.
        var turn = 0
        /// Logs whose next commit could not be fetched, or does not exist.
        var ended: Set<LogID> = []
        /// Commits that were not there.
        var absent: Set<Dot> = []
        /// Logs whose next commit the queue has no room for, because it waits for another one.
        var blocked: [LogID: Blocked] = [:]
        /// Checked commits to be applied next.
        var ready: [VerifiedCommit] = []
        /// Whether a commit named links or keys that this device lacks.
        var lacksMembers = false
    }

    /// A commit that there is no room for.
    struct Blocked {
        let missing: Dot
        let author: IdentityID
    }

    /// Fetches and applies commits.
    func pullLogs(_ scope: RoundScope) async throws(SyncError) {
        pullFailure = nil
        var pull = Pull()
        forgetStops()
        if scope.listsLogs {
            publish(.looking)
            beginListingOwnLog(scope)
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

    /// Fetches and checks the next commits of all logs; returns false if there are none.
    private func wave(_ pull: inout Pull) async throws(SyncError) -> Bool {
        let dots = nextDots(&pull)
        guard !dots.isEmpty else { return false }
        status.progress.commitsLeft = commitsLeft(pull)
        publish(.fetching)
        let fetched = await fetch(dots)
        // In the order of each log: after a commit that failed, nothing of its log is used.
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

    /// The commits to fetch next: of each log those after the last one checked, in total as many as may be
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

    /// The number of commits left, for display only: a storage may claim any number.
    private func commitsLeft(_ pull: Pull) -> Int {
        pull.targets.reduce(0) { sum, target in
            let known = queue.versions[target.key]
            let left = mayGoOn(target.key) && target.value > known ? Int(clamping: target.value - known) : 0
            return sum.addingReportingOverflow(left).overflow ? .max : sum + left
        }
    }

    /// Whether more of a log may be applied: not if it has ended, or if nothing of it was ever verified.
    private func mayGoOn(_ log: LogID) -> Bool {
        guard let stop = stops[log] else { return true }
        return !stop.problem.isFinal && logs[log] != nil
    }

    /// Fetches commits concurrently.
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

    /// Accepts a commit that lacks nothing, and those that waited for it.
    private func accept(_ commit: VerifiedCommit, _ pull: inout Pull) {
        var next = [commit]
        while let commit = next.popLast() {
            // Commits before a stop count, and would not be fetched again.
            if let stop = stops[commit.dot.log], commit.dot.sequence >= stop.dot.sequence { continue }
            // Not every device knows the hash, and the author may lie, so the commit counts nevertheless, on
            // all devices.
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
