internal import CofferFormat
internal import CofferTrust

// Limits the number of logs, since each commit names all of them, and each device keeps all of them.
extension SyncEngine {
    /// The most stops for which logs beyond the limit are remembered; with more stops, they are fetched
    /// again.
    private static let stopCountMax = 1 << 16

    /// Whether a log is known, or may be added.
    ///
    /// Each author may have the first 256 logs that arrive. More are added once another author has applied
    /// them, because otherwise commits that name them would wait forever. No log is added beyond what a
    /// commit can name.
    func mayBegin(_ log: LogID, by author: IdentityID, _ pull: Pull) -> Bool {
        guard tails[log] == nil, log != setup.log else { return true }
        // One place is reserved for this device's log.
        let others = tails.values.count { $0.log != setup.log }
        guard others < setup.logCountMax - 1 else { return false }
        guard tails.values.count(where: { $0.author == author }) >= setup.authorLogCountMax else {
            return true
        }
        return isNamed(log, byOthersThan: author, pull)
    }

    /// Whether a commit by another author waits for the log.
    private func isNamed(_ log: LogID, byOthersThan author: IdentityID, _ pull: Pull) -> Bool {
        if queue.isNamed(log, where: { tails[$0].map { $0.author != author } ?? false }) { return true }
        // The queue does not keep the needs of commits that it has no room for, so any log that is waited for
        // may be among them.
        return pull.blocked.values.contains { $0.author != author }
            && (queue.isMissing(log) || pull.blocked.values.contains { $0.missing.log == log })
    }

    /// Lets stopped logs continue, except those that have ended.
    ///
    /// A log beyond the limit is not fetched again until there are new links.
    func forgetStops() {
        let waitOn = stopsSince == chain.nextSequence && stops.count <= Self.stopCountMax
        stopsSince = chain.nextSequence
        stops = stops.filter {
            if case .tooManyLogs = $0.value.problem { return waitOn }
            return $0.value.problem.isFinal
        }
    }

    /// The last commits of an author's logs that are applied here.
    ///
    /// An honest author never has more than 256 logs. If there are more, those that changed something come
    /// first, each group in the order of ids; no commit of the logs left out counts.
    func bounds(of identity: IdentityID) throws(SyncError) -> LogBounds {
        let logs = logs.values.filter { $0.author == identity }.sorted {
            ($0.lastWrite == nil ? 1 : 0, $0.log) < ($1.lastWrite == nil ? 1 : 0, $1.log)
        }
        do throws(FormatError) {
            return try LogBounds(
                logs.prefix(setup.authorLogCountMax).map {
                    LogBound(log: $0.log, sequence: $0.head.sequence, hash: $0.head.hash)
                })
        } catch {
            throw .format(error)
        }
    }

    /// The authors with more logs than are applied, and how many more.
    var logFindings: [SyncFinding] {
        var waiting: [IdentityID: Int] = [:]
        for stop in stops.values {
            if case .tooManyLogs(let author) = stop.problem { waiting[author, default: 0] += 1 }
        }
        return waiting.sorted { $0.key < $1.key }.map {
            .tooManyLogs($0.key, name: knownName(of: $0.key), waiting: $0.value)
        }
    }
}
