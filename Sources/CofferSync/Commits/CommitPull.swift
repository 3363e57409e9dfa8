internal import CofferFormat
internal import CofferTrust

/// The state of one pull: which commits to fetch next, and which to apply.
///
/// Commits are fetched in waves. Each wave takes the next commits of several logs, and what it brings decides
/// about the next one, until no log has a commit left that could be used.
struct CommitPull: Sendable {
    /// A commit that there is no room for.
    private struct Blocked {
        let missing: Dot
        let author: IdentityID
    }

    /// The last commit of each log that should be there: listed, or named by others.
    private(set) var targets: [LogID: UInt64] = [:]
    /// Logs whose next commit to ask for, listed or not.
    private let asked: Set<LogID>
    /// The number of logs that had their turn, so that all get one.
    private var turn = 0
    /// Logs whose next commit could not be fetched, or does not exist.
    private var ended: Set<LogID> = []
    /// Commits that were not there.
    private(set) var absent: Set<Dot> = []
    /// Logs whose next commit the queue has no room for, because it waits for another one.
    private var blocked: [LogID: Blocked] = [:]
    /// Checked commits to be applied next.
    private(set) var ready: [VerifiedCommit] = []
    /// Whether a commit named links or keys that this device lacks.
    private(set) var lacksMembers = false
    /// Whether the storage was restored to a state before a fork, so that all facts must be rebuilt.
    private(set) var needsRebuild = false

    /// - Parameters:
    ///   - listed: The last commit of each log in a listing; empty without one.
    ///   - asked: Logs whose next commit to ask for, listed or not.
    init(listed: [LogID: UInt64], asked: Set<LogID>) {
        (targets, self.asked) = (listed, asked)
    }

    // MARK: What to fetch

    /// Wants the commits that others wait for, and lets logs begin that are needed for that.
    mutating func wantGaps(_ logs: inout KnownLogs) {
        for gap in logs.queue.missing.union(blocked.values.map(\.missing)) {
            targets[gap.log] = max(targets[gap.log] ?? 0, gap.sequence)
            if case .tooManyLogs(let author)? = logs.stops[gap.log]?.problem,
                mayBegin(gap.log, by: author, logs)
            {
                logs.resume(gap.log)
            }
        }
    }

    /// The commits to fetch next: of each log those after the last one checked, in total as many as may be
    /// fetched at once.
    mutating func nextDots(_ logs: KnownLogs, countMax: Int) -> [Dot] {
        blocked = blocked.filter { !logs.queue.versions.contains($0.value.missing) }
        let listed = targets.filter { $0.value > logs.checkedSequence($0.key) }.map(\.key)
        let candidates = asked.union(listed).filter { log in
            isOpen(log, logs) && logs.forks[log]?.isProven != true
        }.sorted()
        guard !candidates.isEmpty else { return [] }
        let countMax = max(1, countMax)
        let share = UInt64(max(1, countMax / candidates.count))
        let first = turn % candidates.count
        let chosen = (candidates[first...] + candidates[..<first]).prefix(countMax)
        turn += chosen.count
        var dots: [Dot] = []
        for log in chosen {
            let next = logs.checkedSequence(log) + 1
            let last = max(next, min(targets[log] ?? 0, next + share - 1))
            for sequence in next...last { dots.append(Dot(log: log, sequence: sequence)) }
        }
        return dots
    }

    /// Whether more of a log is used in this pull: after a commit that failed, nothing of its log is.
    func isOpen(_ log: LogID, _ logs: KnownLogs) -> Bool {
        !ended.contains(log) && logs.stops[log] == nil && blocked[log] == nil
    }

    /// The number of commits left, for display only: a storage may claim any number.
    func commitsLeft(_ logs: KnownLogs) -> Int {
        targets.reduce(0) { sum, target in
            let known = logs.queue.versions[target.key]
            let isOpen = logs.mayContinue(target.key) && target.value > known
            let left = isOpen ? Int(clamping: target.value - known) : 0
            return sum.addingReportingOverflow(left).overflow ? .max : sum + left
        }
    }

    /// Commits that are not there although the remote lists them, or later ones of their logs.
    var missing: Set<Dot> { absent.filter { targets[$0.log] ?? 0 >= $0.sequence } }

    // MARK: What a wave brought

    /// Records that a commit could not be fetched.
    mutating func failed(_ dot: Dot) { ended.insert(dot.log) }

    /// Records that a commit does not exist.
    mutating func wasAbsent(_ dot: Dot) {
        ended.insert(dot.log)
        absent.insert(dot)
    }

    /// Adds a checked commit.
    mutating func add(_ commit: VerifiedCommit, _ logs: inout KnownLogs, _ chain: MemberChain) {
        let dot = commit.dot
        guard mayBegin(dot.log, by: commit.author, logs) else {
            _ = logs.stop(at: dot, .tooManyLogs(commit.author))
            return
        }
        switch logs.offer(commit) {
        case .known: break
        case .full(let missing):
            blocked[dot.log] = Blocked(missing: missing, author: commit.author)
            return
        case .held: blocked[dot.log] = nil
        case .ready:
            blocked[dot.log] = nil
            accept([commit], &logs, chain)
        }
        logs.recordChecked(commit)
    }

    /// Stops a log at a commit that is not valid, or not yet.
    mutating func stop(
        _ dot: Dot, _ problem: CommitProblem, _ logs: inout KnownLogs, _ chain: MemberChain
    ) {
        let freed = logs.stop(at: dot, problem)
        switch problem {
        case .unknownMembers, .unknownEpoch: lacksMembers = true
        case .forked(let fork): if logs.add(fork, chain) { needsRebuild = true }
        default: break
        }
        for commit in freed { accept([commit], &logs, chain) }
    }

    /// Accepts commits that lack nothing, and those that waited for them.
    private mutating func accept(
        _ commits: [VerifiedCommit], _ logs: inout KnownLogs, _ chain: MemberChain
    ) {
        var next = commits
        while let commit = next.popLast() {
            // Commits before a stop count, and would not be fetched again.
            if let stop = logs.stops[commit.dot.log], commit.dot.sequence >= stop.dot.sequence { continue }
            // Not every device knows the hash, and the author may lie, so the commit counts nevertheless, on
            // all devices.
            if let fork = logs.fork(in: commit), logs.add(fork, chain) { needsRebuild = true }
            ready.append(commit)
            next += logs.recordAccepted(commit)
        }
    }

    /// Records that the first commits that were ready have been applied.
    mutating func applied(_ count: Int) { ready.removeFirst(count) }

    /// Records that the members were fetched again, because commits named links or keys that were lacking.
    mutating func askedMembers() { lacksMembers = false }

    // MARK: Limits

    /// Whether a log is known, or may be added.
    ///
    /// Each author may have the first 256 logs that arrive. More are added once another author has applied
    /// them, because otherwise commits that name them would wait forever. No log is added beyond what a
    /// commit can name.
    private func mayBegin(_ log: LogID, by author: IdentityID, _ logs: KnownLogs) -> Bool {
        guard logs.checked[log] == nil, log != logs.own else { return true }
        // One place is reserved for this device's log.
        let others = logs.checked.values.count { $0.log != logs.own }
        guard others < logs.limits.logCountMax - 1 else { return false }
        let count = logs.checked.values.count { $0.author == author }
        return count < logs.limits.authorLogCountMax || isNamed(log, byOthersThan: author, logs)
    }

    /// Whether a commit by another author waits for the log.
    private func isNamed(_ log: LogID, byOthersThan author: IdentityID, _ logs: KnownLogs) -> Bool {
        let isOfOther = { (log: LogID) in logs.checked[log].map { $0.author != author } ?? false }
        if logs.queue.isNamed(log, where: isOfOther) { return true }
        // The queue does not keep the needs of commits that it has no room for, so any log that is waited for
        // may be among them.
        return blocked.values.contains { $0.author != author }
            && (logs.queue.isMissing(log) || blocked.values.contains { $0.missing.log == log })
    }
}
