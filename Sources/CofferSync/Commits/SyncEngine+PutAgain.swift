internal import CofferCrypto
internal import CofferFacts
internal import CofferFormat
internal import CofferRemote
internal import CofferTrust

// Puts back what the remote has lost of this device: its commits, for which other devices would wait forever, and
// contents that it has written and still has.
extension SyncEngine {
    // MARK: Commits that are kept

    /// Drops commits that a checkpoint covers: no device needs them any more.
    func forgetCovered() async throws(SyncError) {
        var forgotten = ownLog
        try await save(forgotten.forget(coveredBy: checkpoints.covered(logs.own)))
        ownLog = forgotten
    }

    /// The rows of commits after a number that survive a rebuild.
    func keptRows(behind covered: UInt64) async throws(SyncError) -> [KeptChange] {
        guard let own = logs.ownSummary else { return [] }
        var rows: [KeptChange] = []
        for sequence in ownLog.kept.keys.sorted() where sequence > covered {
            let dot = Dot(log: own.log, sequence: sequence)
            guard !chain.hasRestored(dot, since: own.head.members), let bytes = try await keptBytes(sequence)
            else { continue }
            rows.append(KeptChange(KeptRow.Key(.outgoing, number: sequence), bytes))
            rows.append(OwnLog.put(sequence, bytes))
        }
        return rows
    }

    /// The bytes of a commit that was put; nil if they are not kept.
    func keptBytes(_ sequence: UInt64) async throws(SyncError) -> [UInt8]? {
        guard ownLog.kept[sequence] != nil else { return nil }
        return try await asking { () async throws(ReplicaError) in
            try await replica.row(KeptRow.Key(.outgoing, number: sequence))
        }
    }

    // MARK: Commits that are lost

    /// Puts back this device's commits that the remote has lost.
    ///
    /// A remote that was rolled back is left as it is: it lacks the end of this log, and commits of others.
    func putCommitsAgain() async throws(SyncError) {
        guard let listing = ownLog.listing, rounds.pullFailure == nil, try ownRole() != nil else { return }
        var compared = ownLog
        compared.listing = nil
        let missing = compared.missing(in: listing) { isExpected($0) }
        ownLog = compared
        let wanted = isOlderState ? missing.filter { $0 <= listing.end } : missing
        let some = ownLog.nextBatch(wanted)
        var lost = Set(ownLog.lost).intersection(wanted)
        var restored: [UInt64] = []
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
                rounds.pullFailed(error)
            }
        }
        // If this batch helped, the next round deals with the others.
        let hasMore = some.count < wanted.count && !restored.isEmpty
        ownLog.compared(lost: lost, at: hasMore ? nil : setup.milliseconds())
        guard let first = restored.min() else { return }
        if restored.contains(logs.appliedSequence(logs.own)) { logs.stale.record(logs.own, isStale: false) }
        findings.report(.putAgain(sequence: first, others: restored.count - 1))
    }

    /// Whether the remote should have a commit of this device.
    private func isExpected(_ sequence: UInt64) -> Bool {
        guard let own = logs.ownSummary, ownLog.unsent[sequence] == nil else { return false }
        let dot = Dot(log: own.log, sequence: sequence)
        return !checkpoints.covers(dot) && !chain.hasRestored(dot, since: own.head.members)
    }

    /// Whether the remote seems to show an old state.
    ///
    /// It then shows fewer links of the members, less of others' logs, much less of this device's log, or
    /// something else than before.
    private var isOlderState: Bool {
        ownLog.isEndLost || logs.forks.values.contains(where: \.isProven)
            || logs.stale.contains(otherThan: logs.own)
            || findings.contains { if case .staleMembers = $0 { true } else { false } }
    }

    /// What happened to a commit that a listing did not show.
    private enum Restored { case isThere, wasPut, isLost }

    private func putAgain(_ sequence: UInt64) async throws(SyncError) -> Restored {
        let dot = Dot(log: logs.own, sequence: sequence)
        let bytes = try await keptBytes(sequence)
        // On the lost side of a fork, it would be useless.
        guard let bytes, (try? verifier().authentic(bytes, at: dot, of: ownIdentity)) != nil else {
            return try await objects.hasCommit(dot) ? .isThere : .isLost
        }
        // The listing may be old.
        let found = try await objects.commit(dot)
        if found == .bytes(bytes) { return .isThere }
        try await put(bytes, at: dot)
        return found == .absent ? .wasPut : .isThere
    }

    /// Whether commits are missing that this device needs: what it has is then not the newest state.
    private var lacksCommits: Bool { !logs.absent.missing.isEmpty || !logs.queue.missing.isEmpty }

    /// Whether a checkpoint by this device would help devices that wait for a commit that is lost for good.
    var needsCheckpointForLost: Bool {
        // A checkpoint that lacks others' commits would not help.
        !lacksCommits && ownLog.lost.contains { !checkpoints.mayCover(Dot(log: logs.own, sequence: $0)) }
    }

    // MARK: Contents that are lost

    /// Sends contents again whose packs the remote has lost, if it is time to look.
    func putContentsAgain(_ scope: RoundScope) async throws(SyncError) {
        guard scope.asksAllLogs, packs.isLookDue(at: setup.milliseconds()), rounds.pullFailure == nil,
            !isOlderState, try ownRole()?.may(.write) == true
        else { return }
        // While a commit is missing, the content here may be older than that of a peer: sent again under a newer
        // clock, it would replace the newer content.
        guard !lacksCommits else { return }
        packs.beginLook(at: setup.milliseconds())
        let lost = try await lostPacks()
        var result = ContentsPutAgain()
        if !lost.isEmpty {
            publish(.sending)
            let log = logs.own
            result = try await asking { () async throws(ReplicaError) in
                try await replica.putAgain(
                    contentsOf: Set(lost), writtenIn: log, byteCountMax: KnownPacks.byteCountMax)
            }
        }
        packs.looked(
            lostCount: lost.count, byteCount: result.byteCount, lostByteCount: result.lostByteCount,
            isPart: result.isPart)
        guard result.byteCount > 0 else { return }
        findings.report(.contentsPutAgain(byteCount: result.byteCount))
        try await push(scope)
    }

    /// Packs that contents refer to and that the remote lacks; if there are many, some of them, so that each
    /// gets its turn.
    private func lostPacks() async throws(SyncError) -> [PackID] {
        let wanted = try await asking { () async throws(ReplicaError) in try await replica.contentPacks() }
        guard !wanted.isEmpty else { return [] }
        var missing: [RemoteName: PackID] = [:]
        for pack in wanted { missing[layout.pack(pack)] = pack }
        try await objects.list(layout.packs) { entries in
            for entry in entries { missing[entry.name] = nil }
            return .next
        }
        var lost: [PackID] = []
        for name in packs.inTurn(missing.keys.sorted()) where lost.count < KnownPacks.packCountMax {
            // The listing may be old.
            let isThere = try await objects.has(name)
            if !isThere, let pack = missing[name] { lost.append(pack) }
            packs.asked(name)
        }
        return lost
    }
}
