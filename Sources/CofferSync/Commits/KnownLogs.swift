internal import CofferFormat
internal import CofferTrust

/// What a device knows of a vault's logs.
///
/// A log has two ends: the last commit that was applied, and the last one that was checked. Commits between
/// the two are in the queue, or ready to be applied. A log that has stopped is checked no further. Only what
/// was applied is saved; after a start, or a failure, everything else begins there again.
struct KnownLogs: Sendable {
    /// The most stops for which logs beyond the limit are remembered; with more stops, they are fetched
    /// again.
    private static let stopCountMax = 1 << 16

    /// The most logs that are applied, and the most bytes of commits that may wait.
    struct Limits: Sendable {
        /// In total.
        let logCountMax: Int
        /// Of one author, unless others name them.
        let authorLogCountMax: Int
        let waitingByteCountMax: Int
    }

    let limits: Limits
    /// This device's log.
    private(set) var own: LogID
    /// What was applied of each log.
    private(set) var applied: [LogID: LogSummary] = [:]
    /// What was checked of each log.
    private(set) var checked: [LogID: LogSummary] = [:]
    /// Checked commits that wait for others.
    private(set) var queue: CausalQueue<VerifiedCommit>
    /// Where logs have stopped, for now or forever.
    private(set) var stops: [LogID: LogStop] = [:]
    /// The number of links when the stops were last reviewed.
    private var reviewedLinkCount: UInt64 = 0
    /// Logs with two histories.
    private(set) var forks: [LogID: ForkedLog] = [:]
    private var hashes = KnownHashes()
    /// The first applied commit of each log that no longer counts.
    private(set) var withdrawn: [LogID: UInt64] = [:]
    /// How many of this device's commits each author had applied, according to its last commit.
    private(set) var seenOfOwn: [LogID: UInt64] = [:]
    /// The last unknown log that was examined, by its prefix at the remote.
    var newLogTurn: String?
    /// Logs of which the remote shows less than before.
    var stale: StaleLogs
    /// Commits that the remote does not have although it should.
    var absent = AbsentCommits()

    init(own: LogID, limits: Limits, staleRoundsMax: Int) {
        self.own = own
        self.limits = limits
        stale = StaleLogs(roundsMax: staleRoundsMax)
        queue = CausalQueue(applied: VersionVector(), byteCountMax: limits.waitingByteCountMax)
    }

    // MARK: Looking

    /// What was applied of a log; nil if nothing was.
    subscript(log: LogID) -> LogSummary? { applied[log] }

    /// What was applied of this device's log.
    var ownSummary: LogSummary? { applied[own] }

    /// The number of the last commit that was applied of a log; 0 if none was.
    func appliedSequence(_ log: LogID) -> UInt64 { applied[log]?.head.sequence ?? 0 }

    /// The number of the last commit that was checked of a log; 0 if none was.
    func checkedSequence(_ log: LogID) -> UInt64 { checked[log]?.head.sequence ?? 0 }

    /// The author of a log, for messages.
    func author(_ log: LogID) -> LogAuthor {
        let introduction = (checked[log] ?? applied[log])?.introduction
        return LogAuthor(log: log, name: introduction?.name, label: introduction?.label)
    }

    /// The last applied commit of every other log.
    func heads() throws(SyncError) -> LogBounds {
        let others = applied.values.filter { $0.log != own }
        guard others.count <= limits.logCountMax else { throw .tooManyLogs }
        do throws(FormatError) { return try LogBounds(others.map(\.bound)) } catch { throw .tooManyLogs }
    }

    /// The last commits of an author's logs that are applied here.
    ///
    /// An honest author never has more than 256 logs. If there are more, those that changed something come
    /// first, each group in the order of ids; no commit of the logs left out counts.
    func bounds(of identity: IdentityID) throws(SyncError) -> LogBounds {
        let logs = applied.values.filter { $0.author == identity }.sorted {
            ($0.lastWrite == nil ? 1 : 0, $0.log) < ($1.lastWrite == nil ? 1 : 0, $1.log)
        }
        do throws(FormatError) {
            return try LogBounds(logs.prefix(limits.authorLogCountMax).map(\.bound))
        } catch {
            throw .format(error)
        }
    }

    /// Whether applied commits name links that the member chain no longer has.
    ///
    /// For other devices such commits do not count, nor do any that name them.
    func hasLostCommits(_ chain: MemberChain) -> Bool {
        applied.values.contains { !chain.has($0.head.members) }
    }

    /// Whether other devices' commits that change something were applied after the given ones.
    func hasChanges(after versions: VersionVector) -> Bool {
        applied.contains { log, summary in
            log != own && summary.lastWrite?.sequence ?? 0 > versions[log]
        }
    }

    /// Whether exactly the facts that a checkpoint covers are applied; later commits may only acknowledge.
    func haveJust(_ checkpoint: CheckpointStanding) -> Bool {
        guard queue.versions.firstMissing(of: checkpoint.covered) == nil else { return false }
        return applied.allSatisfy { log, summary in
            let isMaker = log == checkpoint.dot.log
            let last = isMaker ? checkpoint.announcement : checkpoint.covered[log]
            return summary.lastWrite?.sequence ?? 0 <= last
        }
    }

    /// Other devices' logs of members that go on, the most recently written ones first.
    func mostRecent(_ chain: MemberChain, countMax: Int) -> [LogID] {
        let open = applied.values.filter { summary in
            summary.log != own && stops[summary.log] == nil
                && chain.state.members[summary.author]?.keys != nil
        }
        return open.sorted { $0.clock > $1.clock }.prefix(countMax).map(\.log)
    }

    /// Whether a log has a commit that came too late to count.
    func hasEnded(_ log: LogID) -> Bool {
        guard let stop = stops[log], case .right(let refusal) = stop.problem else { return false }
        return switch refusal {
        case .tooLate, .notTheBound: true
        default: false
        }
    }

    /// Whether a log's device continues in another log.
    ///
    /// Either nothing added to the log counts any more, or its author's right has ended since, and a log of a
    /// device with the same label continued while this one did not. In the second case, commits that came too
    /// late may or may not be at the remote.
    func isLeft(_ log: LogID, _ chain: MemberChain) -> Bool {
        guard log != own, let summary = applied[log] else { return false }
        let bounding = chain.boundingLink(of: summary.author, behind: summary.head.members)
        guard let first = hasEnded(log) ? 0 : bounding else { return false }
        return applied.values.contains {
            $0.log != log && $0.author == summary.author
                && $0.introduction.label == summary.introduction.label
                && $0.clock >= summary.clock && $0.head.members.sequence >= first
        }
    }

    /// This device's logs: the current one, and those that it has left.
    func ownLogs(_ identity: IdentityID, label: String) -> Set<LogID> {
        let left = applied.values.filter { $0.author == identity && $0.introduction.label == label }
        return Set(left.map(\.log)).union([own])
    }

    /// Where the withdrawn commits begin in this device's logs.
    func ownWithdrawn(_ identity: IdentityID, label: String) -> [LogID: UInt64] {
        let logs = ownLogs(identity, label: label)
        return withdrawn.filter { logs.contains($0.key) }
    }

    // MARK: Saved state

    /// Begins again with what was applied.
    ///
    /// - Returns: False if the replica has applied other commits.
    mutating func restore(_ summaries: [LogSummary], _ versions: VersionVector) -> Bool {
        applied = Dictionary(summaries.map { ($0.log, $0) }) { _, last in last }
        for summary in summaries {
            hashes.add(Dot(log: summary.log, sequence: summary.head.sequence), summary.head.hash)
        }
        guard versions.sequences.count == applied.count,
            applied.allSatisfy({ versions[$0.key] == $0.value.head.sequence })
        else { return false }
        checked = applied
        resumeStopped()
        queue = CausalQueue(applied: versions, byteCountMax: limits.waitingByteCountMax)
        for (log, stop) in stops { _ = queue.end(log, at: stop.dot.sequence - 1) }
        return true
    }

    /// Forgets what was known of commits, because all facts were rebuilt.
    mutating func recordRebuilt() { (hashes, withdrawn, stops) = (KnownHashes(), [:], [:]) }

    /// Begins another log of this device.
    mutating func beginOwn(_ log: LogID) { own = log }

    // MARK: Commits

    /// Records the new state of a log after a commit of it was applied.
    mutating func recordApplied(_ commit: VerifiedCommit, _ summary: LogSummary?) {
        applied[commit.dot.log] = summary
        seenOfOwn[commit.dot.log] = commit.body.heads[own]?.sequence ?? 0
    }

    /// Records how many of this device's commits a log's author had applied.
    mutating func sawOwn(_ sequence: UInt64, by log: LogID) { seenOfOwn[log] = sequence }

    /// Records a commit that this device has made and saved.
    ///
    /// - Returns: Whether commits that waited for it were dropped from the queue, and have to be fetched again.
    mutating func recordMade(_ summary: LogSummary) -> Bool {
        let dot = Dot(log: own, sequence: summary.head.sequence)
        recordRemade(summary)
        hashes.add(dot, summary.head.hash)
        // Whatever is in its place at the remote is dealt with when it is put.
        if let stop = stops[own], !stop.problem.isFinal, stop.dot.sequence <= dot.sequence {
            stops[own] = nil
        }
        return !queue.applied(dot).isEmpty
    }

    /// Replaces the state of this device's log, whose commits were remade on the other side of a fork.
    mutating func recordRemade(_ summary: LogSummary) { (applied[own], checked[own]) = (summary, summary) }

    /// Records a commit that was checked, unless its log has stopped.
    mutating func recordChecked(_ commit: VerifiedCommit) {
        guard stops[commit.dot.log] == nil else { return }
        checked[commit.dot.log] = LogSummary(commit, after: checked[commit.dot.log])
    }

    /// Offers a checked commit to the queue.
    mutating func offer(_ commit: VerifiedCommit) -> CausalQueue<VerifiedCommit>.Answer {
        queue.offer(commit, commit.dot, needs: commit.versions, byteCount: commit.byteCount)
    }

    /// Records that a commit is to be applied next.
    ///
    /// - Returns: Commits that lack nothing from then on.
    mutating func recordAccepted(_ commit: VerifiedCommit) -> [VerifiedCommit] {
        hashes.add(commit.dot, commit.point.hash)
        return queue.applied(commit.dot)
    }

    // MARK: Stops

    /// Stops a log at a commit.
    ///
    /// - Returns: Commits that no longer wait for the log, and lack nothing.
    mutating func stop(at dot: Dot, _ problem: CommitProblem) -> [VerifiedCommit] {
        stops[dot.log] = LogStop(dot: dot, problem: problem)
        guard problem.isFinal else { return [] }
        return queue.end(dot.log, at: dot.sequence - 1)
    }

    /// Stops this device's log at an object that it may have made and no longer knows.
    ///
    /// Commits of others that wait for more of the log go on waiting until the state is loaded again.
    mutating func stopOwn(at dot: Dot, _ problem: CommitProblem) {
        stops[own] = LogStop(dot: dot, problem: problem)
    }

    /// Lets a log continue.
    mutating func resume(_ log: LogID) { stops[log] = nil }

    /// Lets stopped logs continue, except those that have ended.
    mutating func resumeStopped() { stops = stops.filter { $0.value.problem.isFinal } }

    /// Lets all logs continue: by the member chain that counts now, commits of ended logs may count.
    mutating func resumeAll() { stops = [:] }

    /// Lets stopped logs continue before a pull, except those that have ended.
    ///
    /// A log beyond the limit is not fetched again until there are new links.
    mutating func reviewStops(linkCount: UInt64) {
        let waitOn = reviewedLinkCount == linkCount && stops.count <= Self.stopCountMax
        reviewedLinkCount = linkCount
        stops = stops.filter {
            if case .tooManyLogs = $0.value.problem { return waitOn }
            return $0.value.problem.isFinal
        }
    }

    /// Whether more of a log may be applied: not if it has ended, or if nothing of it was ever verified.
    func mayContinue(_ log: LogID) -> Bool {
        guard let stop = stops[log] else { return true }
        return !stop.problem.isFinal && applied[log] != nil
    }

    // MARK: Forks and withdrawn commits

    /// Keeps a fork, so that it is reported.
    ///
    /// - Returns: Whether an entitled member has said that the storage was restored to a state before the
    ///   fork, so that the storage's commits replace the known ones instead.
    mutating func add(_ fork: ForkedLog, _ chain: MemberChain) -> Bool {
        guard let summary = applied[fork.dot.log] ?? checked[fork.dot.log] else { return false }
        if chain.hasRestored(fork.dot, since: summary.head.members) { return true }
        if fork.isProven || forks[fork.dot.log]?.isProven != true { forks[fork.dot.log] = fork }
        return false
    }

    /// Reviews the known forks once more is known of the members; returns what `add` does.
    mutating func reviewForks(_ chain: MemberChain) -> Bool {
        let known = forks
        forks = [:]
        return known.values.reduce(false) { add($1, chain) || $0 }
    }

    /// Keeps a fork of this device's log, which allows no more commits.
    mutating func addOwn(_ fork: ForkedLog) { forks[own] = fork }

    /// Compares the commits that a commit names with those known here.
    ///
    /// - Returns: A log of which the author has seen another history; nil if there is none.
    func fork(in commit: VerifiedCommit) -> ForkedLog? {
        for head in commit.body.heads.bounds {
            let dot = Dot(log: head.log, sequence: head.sequence)
            if let known = hashes[dot], known != head.hash {
                return ForkedLog(dot: dot, known: known, other: head.hash, witness: commit.dot)
            }
        }
        return nil
    }

    /// Finds applied commits that no longer count, because their author was removed or lost the right to
    /// write.
    ///
    /// - Returns: The first one of each log that loses changes by it, not only acknowledgements: a device
    ///   acknowledges until it learns that its right has ended.
    mutating func findWithdrawn(_ chain: MemberChain) -> [Dot] {
        var found: [Dot] = []
        for (log, summary) in applied {
            for (point, isWrite) in [(summary.lastWrite, true), (summary.head, false)] {
                guard let point, let end = chain.end(of: summary.claim(point)), point.sequence > end else {
                    continue
                }
                withdrawn[log] = min(withdrawn[log] ?? .max, end + 1)
                if isWrite { found.append(Dot(log: log, sequence: end + 1)) }
            }
        }
        return found
    }
}

/// Where a log stops, for now or forever.
struct LogStop: Equatable, Sendable {
    let dot: Dot
    let problem: CommitProblem

    /// Whether the status names the commit, rather than the author of too many logs, or nothing.
    ///
    /// A device acknowledges until it learns that its user is no longer a member. That is nobody's fault.
    var isNamed: Bool {
        switch problem {
        case .tooManyLogs, .right(.tooLate(_, writes: false)): false
        default: true
        }
    }
}

extension LogSummary {
    /// The state of a log after a commit; nil if nothing introduces the author.
    init?(_ commit: VerifiedCommit, after log: LogSummary?) {
        guard let introduction = log?.introduction ?? commit.body.introduction else { return nil }
        self.init(
            log: commit.dot.log, author: commit.author, introduction: introduction,
            clock: commit.body.clock, head: commit.point,
            lastWrite: commit.point.writes ? commit.point : log?.lastWrite)
    }

    /// Its last commit.
    var bound: LogBound { LogBound(log: log, sequence: head.sequence, hash: head.hash) }

    /// The row that saves it.
    var row: KeptChange { KeptChange(KeptRow.Key(.log, id: log.bytes), bytes) }

    /// What one of its commits claims about its author's right.
    func claim(_ point: CommitPoint) -> CommitClaim {
        CommitClaim(
            author: author, log: log, sequence: point.sequence, hash: point.hash, head: point.members,
            writes: point.writes)
    }
}
