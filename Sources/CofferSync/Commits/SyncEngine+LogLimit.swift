internal import CofferFormat
internal import CofferTrust

// How many logs there may be: each commit names all, and each device keeps all.
extension SyncEngine {
    /// The most stops beside which logs beyond the limit are remembered; beyond that they are fetched again.
    private static let stopCountMax = 1 << 16

    /// Whether a log is known, or may be one more.
    ///
    /// Of each author the first 256 that come may. More of them may once somebody else has applied them: else nothing
    /// would be heard any more of whoever names them. None is beyond what a commit can name.
    func mayBegin(_ log: LogID, by author: IdentityID, _ pull: Pull) -> Bool {
        guard tails[log] == nil, log != setup.log else { return true }
        // One place is this device's.
        let others = tails.values.count { $0.log != setup.log }
        guard others < setup.logCountMax - 1 else { return false }
        guard tails.values.count(where: { $0.author == author }) >= setup.authorLogCountMax else {
            return true
        }
        return isNamed(log, byOthersThan: author, pull)
    }

    /// Whether a commit by somebody else waits for a log.
    private func isNamed(_ log: LogID, byOthersThan author: IdentityID, _ pull: Pull) -> Bool {
        if queue.isNamed(log, where: { tails[$0].map { $0.author != author } ?? false }) { return true }
        // What commits name that there is no room for is not kept: any log that is waited for may be it.
        return pull.blocked.values.contains { $0.author != author }
            && (queue.isMissing(log) || pull.blocked.values.contains { $0.missing.log == log })
    }

    /// Lets logs go on that stopped, but those that ended; what one too many says is not fetched again before there
    /// are new links.
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
    /// Of more than 256 logs, which no honest author has, those that changed something, in the order of their ids, and
    /// then the others; of the rest nothing counts.
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

    /// Who has more logs than are applied, and how many more.
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
