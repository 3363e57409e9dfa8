internal import CofferCrypto
internal import CofferFacts
internal import CofferFormat
internal import CofferRemote
internal import CofferTrust

// Puts back this device's commits that the remote has lost: other devices would wait for them forever.
extension SyncEngine {
    // MARK: What is kept

    /// The changes that delete kept commits of this device.
    private func forgetting(_ sequences: some Sequence<UInt64>) -> [KeptChange] {
        sequences.flatMap { sequence in
            [
                KeptChange(KeptRow.Key(.outgoing, number: sequence), nil),
                KeptChange(KeptRow.Key(.put, number: sequence), nil),
            ]
        }
    }

    /// Records that a commit is at the remote; keeps its bytes, and drops the oldest ones if there are too
    /// many.
    func hasPut(_ bytes: [UInt8], sequence: UInt64) async throws(SyncError) {
        ownCommits.kept[sequence] = nil
        let old = ownCommits.tooMany(with: bytes.count)
        // The hash is saved because a later commit may have the same number, for example after a restore of
        // the storage.
        let hash = Blake2b.hash(bytes, for: .commit)
        let rows = forgetting(old) + [KeptChange(KeptRow.Key(.put, number: sequence), hash)]
        try await asking { () async throws(ReplicaError) in try await replica.save(rows) }
        for sequence in old { ownCommits.kept[sequence] = nil }
        ownCommits.kept[sequence] = bytes.count
        outgoing[sequence] = nil
    }

    /// Separates the saved commits that were put from those that may not have been.
    func takePut(_ hashes: [UInt64: [UInt8]]) {
        ownCommits.kept = [:]
        for (sequence, hash) in hashes {
            guard let bytes = outgoing[sequence], Blake2b.hash(bytes, for: .commit) == hash else { continue }
            ownCommits.kept[sequence] = bytes.count
            outgoing[sequence] = nil
        }
    }

    /// The changes that delete all commits of this device.
    func forgettingAll() -> [KeptChange] { forgetting(Set(outgoing.keys).union(ownCommits.kept.keys)) }

    /// Drops commits that a checkpoint covers: no device needs them any more.
    func forgetCovered() async throws(SyncError) {
        guard let covered = standing?.covered[setup.log] else { return }
        let old = ownCommits.kept.keys.filter { $0 <= covered }
        guard !old.isEmpty else { return }
        let rows = forgetting(old)
        try await asking { () async throws(ReplicaError) in try await replica.save(rows) }
        for sequence in old { ownCommits.kept[sequence] = nil }
    }

    /// The rows of commits after a number that survive a rebuild.
    func keptRows(behind covered: UInt64) async throws(SyncError) -> [KeptChange] {
        guard let own = logs[setup.log] else { return [] }
        var rows: [KeptChange] = []
        for sequence in ownCommits.kept.keys.sorted() where sequence > covered {
            let dot = Dot(log: setup.log, sequence: sequence)
            guard !chain.hasRestored(dot, since: own.head.members), let bytes = try await keptBytes(sequence)
            else { continue }
            rows.append(KeptChange(KeptRow.Key(.outgoing, number: sequence), bytes))
            rows.append(
                KeptChange(KeptRow.Key(.put, number: sequence), Blake2b.hash(bytes, for: .commit)))
        }
        return rows
    }

    /// The bytes of a commit that was put; nil if they are not kept.
    func keptBytes(_ sequence: UInt64) async throws(SyncError) -> [UInt8]? {
        guard ownCommits.kept[sequence] != nil else { return nil }
        return try await asking { () async throws(ReplicaError) in
            try await replica.row(KeptRow.Key(.outgoing, number: sequence))
        }
    }

    // MARK: What the remote has

    /// Makes the next listing of all logs show the whole of this device's log, if that is due.
    func beginListingOwnLog(_ scope: RoundScope) {
        ownCommits.listing = nil
        guard let own = logs[setup.log] else { return }
        let now = setup.milliseconds()
        let isRecent = now >= ownCommits.comparedAt && now - ownCommits.comparedAt < OwnCommits.pause
        guard scope.asksAllLogs || !isRecent else { return }
        // Commits that may not have been put yet will be put anyway.
        let last = outgoing.keys.min().map { $0 - min($0, 1) } ?? own.head.sequence
        ownCommits.listing = OwnLogListing(covered: standing?.covered[setup.log] ?? 0, last: last)
    }

    /// Puts back this device's commits that the remote has lost.
    ///
    /// A remote that was rolled back is left as it is: it lacks the end of this log, and commits of others.
    func putCommitsAgain() async throws(SyncError) {
        guard let listing = ownCommits.listing, pullFailure == nil, try ownRole() != nil else { return }
        ownCommits.listing = nil
        let kept = ownCommits.kept
        let missing = listing.missing(kept).filter { isExpected($0) }
        let end = missing.filter { $0 > listing.end }
        ownCommits.isEndLost = end.count > OwnCommits.endCountMax
        let isOldState = isOlderState
        let wanted = isOldState ? missing.filter { $0 <= listing.end } : missing
        let some = ownCommits.takeTurn(wanted)
        var lost = Set(ownCommits.lost).intersection(wanted)
        var restored: [UInt64] = []
        var failure: SyncError?
        for sequence in some {
            publish(.sending)
            do throws(SyncError) {
                switch try await putAgain(sequence) {
                case .isThere: lost.remove(sequence)
                case .wasPut:
                    lost.remove(sequence)
                    restored.append(sequence)
                case .isLost: lost.insert(sequence)
                }
            } catch {
                // An object that cannot be read or put does not hold up the rest of the round.
                guard case .remote = error else { throw error }
                failure = failure ?? error
            }
        }
        ownCommits.lost = lost.sorted()
        // If this batch helped, the next round deals with the others.
        let hasMore = some.count < wanted.count && !restored.isEmpty
        ownCommits.comparedAt = hasMore ? 0 : setup.milliseconds()
        pullFailure = pullFailure ?? failure
        guard let first = restored.min() else { return }
        if let head = logs[setup.log]?.head.sequence, restored.contains(head) { staleRounds[setup.log] = nil }
        note(.putAgain(sequence: first, others: restored.count - 1))
    }

    /// Whether the remote should have a commit of this device.
    private func isExpected(_ sequence: UInt64) -> Bool {
        guard let own = logs[setup.log], outgoing[sequence] == nil else { return false }
        let dot = Dot(log: setup.log, sequence: sequence)
        return standing?.covers(dot) != true && !chain.hasRestored(dot, since: own.head.members)
    }

    /// Whether the remote seems to show an old state.
    ///
    /// It then shows fewer links of the members, less of others' logs, much less of this device's log, or
    /// something else than before.
    var isOlderState: Bool {
        ownCommits.isEndLost || forks.values.contains(where: \.isProven)
            || staleRounds.keys.contains { $0 != setup.log }
            || notes.contains { if case .staleMembers = $0 { true } else { false } }
    }

    /// What happened to a commit that a listing did not show.
    private enum Restored { case isThere, wasPut, isLost }

    private func putAgain(_ sequence: UInt64) async throws(SyncError) -> Restored {
        let dot = Dot(log: setup.log, sequence: sequence)
        let name = layout.commit(dot.log, dot.sequence)
        let bytes = try await keptBytes(sequence)
        // On the lost side of a fork, it would be useless.
        guard let bytes, (try? verifier().authentic(bytes, at: dot, of: ownIdentity)) != nil else {
            let isThere = try await reaching { () async throws(RemoteError) in try await remote.has(name) }
            return isThere ? .isThere : .isLost
        }
        // The listing may be old.
        let found = try await reaching { () async throws(RemoteError) in
            try await remote.fetch(name, byteCountMax: SignedRecord.byteCountMax)
        }
        if found == .bytes(bytes) { return .isThere }
        try await put(bytes, at: dot)
        return found == .absent ? .wasPut : .isThere
    }

    /// This device's commits that the remote has lost for good, and that no checkpoint covers.
    var lostOwnCommits: [UInt64] {
        ownCommits.lost.filter { standing?.covers(Dot(log: setup.log, sequence: $0)) != true }
    }

    /// Whether a checkpoint by this device would help devices that wait for a commit that is lost for good.
    var needsCheckpointForLost: Bool {
        // A checkpoint that lacks others' commits would not help.
        guard missing.isEmpty, queue.missing.isEmpty else { return false }
        return ownCommits.lost.contains { sequence in
            let dot = Dot(log: setup.log, sequence: sequence)
            return standing?.covers(dot) != true && !unconfirmed.contains { $0.standing.covers(dot) }
        }
    }
}
