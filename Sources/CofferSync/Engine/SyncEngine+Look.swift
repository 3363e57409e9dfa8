internal import CofferFormat
package import CofferRemote
internal import CofferTrust

// Finds out which commits are at the remote, and whether it shows less than before.
extension SyncEngine {
    /// The most unknown logs that are examined at a time; the others get their turn later.
    private static let newLogCountMax = 1024

    /// The last commit of each log that the remote lists.
    ///
    /// Asks only for names after the known commits: about one page for each log, and one more.
    func look() async throws(SyncError) -> [LogID: UInt64] {
        var shown: [LogID: UInt64] = [:]
        var (new, newBefore) = (NewLogs(), NewLogs())
        try await list(layout.logs) { entries in
            var last: Dot?
            for entry in entries {
                let name = entry.name
                guard let dot = dot(of: name) else { continue }
                if logs[dot.log] == nil {
                    // Logs that have ended, or that wait until others name them, take no turn from others.
                    if stops[dot.log] != nil { continue }
                    if let turn = newLogTurn, name.parent.text <= turn {
                        newBefore.add(dot, name)
                    } else {
                        new.add(dot, name)
                    }
                    continue
                }
                last = dot
                shown[dot.log] = max(shown[dot.log] ?? 0, dot.sequence)
                if dot.log == setup.log { ownCommits.listing?.note(dot.sequence, entry.byteCount) }
            }
            // Applied commits of this log need not be listed, except the last one, to see that it is there.
            guard let last, let known = logs[last.log]?.head.sequence else { return .next }
            // Now and then this device's whole log is listed.
            let whole = last.log == setup.log ? ownCommits.listing?.covered : nil
            let wanted = whole.map { min($0, known) + 1 } ?? known
            guard wanted > last.sequence + 1 else { return .next }
            return .behind(layout.commit(last.log, wanted - 1))
        }
        // Logs that never become known must not keep others from being examined.
        let isRoundOver = new.last == nil
        newLogTurn = isRoundOver ? newBefore.last : new.last
        return shown.merging((isRoundOver ? newBefore : new).shown) { known, _ in known }
    }

    /// Unknown logs, in the order of their names, as many as are examined at a time.
    private struct NewLogs {
        private(set) var shown: [LogID: UInt64] = [:]
        private(set) var last: String?

        mutating func add(_ dot: Dot, _ name: RemoteName) {
            if shown[dot.log] == nil {
                guard shown.count < newLogCountMax else { return }
                last = name.parent.text
            }
            shown[dot.log] = max(shown[dot.log] ?? 0, dot.sequence)
        }
    }

    private func dot(of name: RemoteName) -> Dot? {
        let segments = name.segments
        guard segments.count == 5, let log = LogID(hexadecimal: String(segments[3])),
            let sequence = RemoteLayout.sequence(of: name), 1...Dot.sequenceMax ~= sequence
        else { return nil }
        return Dot(log: log, sequence: sequence)
    }

    /// Finds logs of which the remote shows less than before; asks for their last commits, as the listing may
    /// be old.
    func noticeStale(_ shown: [LogID: UInt64]) async throws(SyncError) {
        for (log, summary) in logs {
            let head = Dot(log: log, sequence: summary.head.sequence)
            let isOwnUnsent = log == setup.log && !outgoing.isEmpty
            guard shown[log] ?? 0 < head.sequence, !isOwnUnsent, standing?.covers(head) != true,
                !chain.hasRestored(head, since: summary.head.members)
            else {
                staleRounds[log] = nil
                continue
            }
            let isThere = try await reaching { () async throws(RemoteError) in
                try await remote.has(layout.commit(log, head.sequence))
            }
            staleRounds[log] = isThere ? nil : (staleRounds[log] ?? 0) + 1
        }
        notes.removeAll { if case .stale = $0 { true } else { false } }
        for (log, rounds) in staleRounds where rounds >= setup.staleRoundsMax {
            note(.stale(author(log), known: logs[log]?.head.sequence ?? 0, shown: shown[log] ?? 0))
        }
    }

    /// The names of the last commits of each log that the remote must have, as far as this device knows.
    package func lastCommits() async throws(SyncError) -> [RemoteName] {
        try await load()
        return logs.compactMap { log, summary in
            var sequence = summary.head.sequence
            // Commits that are still to be sent do not have to be there.
            if log == setup.log, let unsent = outgoing.keys.min() {
                sequence = min(sequence, unsent - min(unsent, 1))
            }
            let last = Dot(log: log, sequence: sequence)
            guard sequence > 0, standing?.covers(last) != true,
                !chain.hasRestored(last, since: summary.head.members)
            else { return nil }
            return layout.commit(log, sequence)
        }
    }

    /// Compares the last known commit of each log with the one at the remote, once after a start.
    ///
    /// Also learns which of this device's commits the others have applied, and what this device has
    /// acknowledged.
    func checkHeads() async throws(SyncError) {
        var dots = logs.map { Dot(log: $0.key, sequence: $0.value.head.sequence) }
        let countMax = max(1, remote.limits.concurrentCallsMax)
        while !dots.isEmpty {
            let some = Array(dots.suffix(countMax))
            dots.removeLast(some.count)
            for (dot, fetched) in await fetch(some) {
                let fetched = try await reaching { () throws(RemoteError) in try fetched.get() }
                try checkHead(dot, fetched)
            }
        }
        if let head = chain.head {
            let isThere = try await reaching { () async throws(RemoteError) in
                try await remote.has(layout.member(head.sequence))
            }
            if !isThere { note(.staleMembers(known: head.sequence + 1)) }
        }
        if logs[setup.log] == nil { owesAcknowledgement = logs.contains { $0.value.lastWrite != nil } }
        hasCheckedHeads = true
    }

    private func checkHead(_ dot: Dot, _ fetched: Fetched) throws(SyncError) {
        guard let summary = logs[dot.log] else { return }
        var found: [UInt8]?
        if case .bytes(let bytes) = fetched { found = bytes }
        if dot.log == setup.log, let unsent = outgoing[dot.sequence] { found = found ?? unsent }
        let verifier = try verifier()
        guard let found, let other = try? verifier.authentic(found, at: dot), other.author == summary.author
        else { return }
        guard other.point.hash == summary.head.hash else {
            return alarm(
                ForkedLog(dot: dot, known: summary.head.hash, other: other.point.hash, witness: nil))
        }
        guard dot.log == setup.log else {
            seenOfOwn[dot.log] = other.body.heads[setup.log]?.sequence ?? 0
            if let fork = fork(in: other) { alarm(fork) }
            return
        }
        // A crash may have come between applying and acknowledging.
        let seen = other.versions
        owesAcknowledgement = logs.contains { log, summary in
            log != setup.log && summary.lastWrite?.sequence ?? 0 > seen[log]
        }
    }

    /// Keeps a fork, so that it is reported.
    ///
    /// If an entitled member has said that the storage was restored to a state before the fork, the storage's
    /// commits replace the known ones instead.
    func alarm(_ fork: ForkedLog) {
        guard let summary = logs[fork.dot.log] ?? tails[fork.dot.log] else { return }
        if chain.hasRestored(fork.dot, since: summary.head.members) {
            isRebuildWanted = true
        } else if fork.isProven || forks[fork.dot.log]?.isProven != true {
            forks[fork.dot.log] = fork
        }
    }

    /// Reviews the known forks once more is known of the members.
    func forgetRestoredForks() {
        let known = forks
        forks = [:]
        for fork in known.values { alarm(fork) }
    }

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
}
