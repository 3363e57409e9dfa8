internal import CofferCrypto
internal import CofferFacts
internal import CofferFormat
internal import CofferRemote
internal import CofferSystem
internal import CofferTrust

// Looks after what is at the remote: puts back commits and contents of this device that it has lost, and deletes
// packs that nothing refers to. Why that loses nothing: docs/adr/0045-packs-are-retired.md.
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
    var isOlderState: Bool {
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
    var lacksCommits: Bool { !logs.absent.missing.isEmpty || !logs.queue.missing.isEmpty }

    /// Whether a checkpoint by this device would help devices that wait for a commit that is lost for good.
    var needsCheckpointForLost: Bool {
        // A checkpoint that lacks others' commits would not help.
        !lacksCommits && ownLog.lost.contains { !checkpoints.mayCover(Dot(log: logs.own, sequence: $0)) }
    }

    // MARK: Packs

    /// Looks after the packs, if it is time to.
    func servePacks(_ scope: RoundScope) async throws(SyncError) {
        guard scope.listsLogs, scope.asksAllLogs, rounds.pullFailure == nil, !isOlderState,
            try ownRole()?.may(.write) == true
        else { return }
        // While a commit is missing, the content here may be older than that of a peer: sent again under a newer
        // clock, it would replace the newer content.
        guard !lacksCommits else { return }
        try await continueRetirement()
        guard packs.isLookDue(at: setup.milliseconds()) else { return }
        packs.beginLook(at: setup.milliseconds())
        let used = try await asking { () async throws(ReplicaError) in try await replica.contentPacks() }
        guard mayRetire || !used.packs.isEmpty else { return }
        let listing = try await listPacks(besides: used.packs)
        let hasLost = try await putContentsAgain(from: listing.missing, scope)
        if used.isComplete, !hasLost, mayRetire, retirements.own == nil {
            try await beginRetirement(of: listing)
            if retirements.own == nil { try await moveContents(of: listing, scope) }
        }
    }

    /// Compares the packs at the remote with those in use.
    private func listPacks(besides used: Set<PackID>) async throws(SyncError) -> PackListing {
        var listing = PackListing(used: used, layout)
        try await objects.list(layout.packs) { entries in
            for entry in entries { listing.add(entry.name, entry.byteCount) }
            return .next
        }
        return listing
    }

    // MARK: Contents that are lost

    /// Sends contents again whose packs the remote has lost.
    ///
    /// - Returns: Whether any are sent again.
    private func putContentsAgain(
        from missing: [RemoteName: PackID], _ scope: RoundScope
    ) async throws(SyncError) -> Bool {
        let lost = try await lostPacks(missing)
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
        if result.byteCount > 0 {
            findings.report(.contentsPutAgain(byteCount: result.byteCount))
            try await push(scope)
        }
        return result.byteCount > 0
    }

    /// Packs that contents refer to and that the remote lacks; if there are many, some of them, so that each
    /// gets its turn.
    private func lostPacks(_ missing: [RemoteName: PackID]) async throws(SyncError) -> [PackID] {
        var lost: [PackID] = []
        for name in packs.inTurn(missing.keys.sorted()) where lost.count < KnownPacks.packCountMax {
            // The listing may be old.
            let isThere = try await objects.has(name)
            if !isThere, let pack = missing[name] { lost.append(pack) }
            packs.asked(name)
        }
        return lost
    }

    // MARK: Packs that others want to delete

    /// Names the packs that this device refers to and others want to delete, before it makes any other commit.
    func answerRetirements() async throws(SyncError) {
        guard retirements.isCheckDue, try ownRole()?.may(.write) == true else { return }
        let used = try await asking { () async throws(ReplicaError) in try await replica.contentPacks() }
        let answers = retirements.answers(using: used)
        for start in stride(from: 0, to: answers.count, by: CommitBody.noticeCountMax) {
            let notices = Array(answers[start..<min(start + CommitBody.noticeCountMax, answers.count)])
            guard try await makeCommit(isNeeded: true, notices) else { return }
        }
        retirements.answered(answers, using: used)
        try await saveRetirements()
    }

    private func saveRetirements() async throws(SyncError) {
        var saved = retirements
        try await save(saved.changesToSave())
        retirements = saved
    }

    // MARK: Packs that nothing refers to

    /// The logs that this device waits for before it deletes packs, with its own.
    private var awaitedLogs: [LogSummary] { logs.active(chain, at: setup.milliseconds(), countsOwn: false) }

    /// Whether this device is the one that deletes packs: that of an owner or admin with the lowest log.
    private var mayRetire: Bool {
        awaitedLogs.filter { members.isAdministrator($0.author) }.map(\.log).min() == logs.own
    }

    /// Asks who still needs packs that nothing here refers to, if they take much room.
    private func beginRetirement(of listing: PackListing) async throws(SyncError) {
        let now = setup.milliseconds()
        guard packs.mayAsk(at: now),
            listing.unusedByteCount >= setup.retiredByteCountMin,
            listing.unusedByteCount >= listing.byteCount / setup.retiredFraction
        else { return }
        // What a program has overwritten stays until the new content is sent.
        guard try await !asking({ () async throws(ReplicaError) in try await replica.hasUnsent() }) else {
            return
        }
        if packs.areListedAgain(listing.unused) {
            packs.refusedDeletion()
            return findings.report(.packsStay(.failed("it still lists packs that were deleted")))
        }
        packs.asks(at: now)
        try await ask(Set(listing.unused.shuffled().prefix(CommitNotice.packCountMax)), isSecond: false)
    }

    /// Moves contents out of sparse and small packs, which then have nothing that this device needs.
    private func moveContents(of listing: PackListing, _ scope: RoundScope) async throws(SyncError) {
        // As long as others need the packs that contents moved out of before, moving more only takes room.
        guard packs.mayMove(at: setup.milliseconds()), setup.movedByteCountMax > 0,
            listing.unusedByteCount < max(setup.movedByteCountMax, listing.byteCount / setup.retiredFraction)
        else { return }
        guard try await !asking({ () async throws(ReplicaError) in try await replica.hasUnsent() }) else {
            return
        }
        let use = try await asking { () async throws(ReplicaError) in try await replica.packUse() }
        let sparse = listing.sparse(
            use, besides: packs.left(at: setup.milliseconds()), byteCountMax: setup.movedByteCountMax,
            smallCountMin: setup.smallPackCountMin)
        let isWorthIt =
            sparse.freeByteCount >= setup.retiredByteCountMin
            && sparse.freeByteCount >= listing.byteCount / setup.retiredFraction
        guard !sparse.packs.isEmpty, isWorthIt || sparse.hasManySmall else { return }
        packs.moves(from: sparse.packs, at: setup.milliseconds())
        publish(.sending)
        let byteCountMax = setup.movedByteCountMax
        let count = try await asking { () async throws(ReplicaError) in
            try await replica.moveContents(from: sparse.packs, byteCountMax: byteCountMax)
        }
        DebugLog.log(
            .info, .sync,
            "vault \(id: setup.vault.high): \(count) contents leave \(sparse.packs.count) sparse packs")
        if count > 0 { try await push(scope) }
    }

    /// Asks for the second time, or deletes, once every awaited log has answered.
    private func continueRetirement() async throws(SyncError) {
        guard let own = retirements.own else { return }
        var (isAnswered, isStuck) = (true, false)
        for summary in awaitedLogs where summary.log != logs.own {
            let role = members.role(of: summary.author)
            isAnswered = isAnswered && own.isDone(summary.log, role)
            isStuck = isStuck || own.isStuck(summary.log, role, at: setup.milliseconds())
        }
        guard !isStuck, mayRetire else { return try await endRetirement(deletedCount: 0) }
        // Commits of former members may be on their way.
        let isComplete = chain.bounds.allSatisfy { logs.appliedSequence($0.log) >= $0.sequence }
        guard isAnswered && isComplete || own.packs.isEmpty else { return }
        let used = try await asking { () async throws(ReplicaError) in try await replica.contentPacks() }
        let unused = used.isComplete ? own.packs.subtracting(used.packs) : []
        if !own.isSecond, !unused.isEmpty { return try await ask(unused, isSecond: true) }
        try await endRetirement(deletedCount: try await delete(unused))
    }

    private func ask(_ some: Set<PackID>, isSecond: Bool) async throws(SyncError) {
        guard try await makeCommit(isNeeded: true, [.retirement(some.sorted())]) else { return }
        retirements.beginOwn(
            some, isSecond: isSecond, by: logs.appliedSequence(logs.own), at: setup.milliseconds())
        try await saveRetirements()
        try await push()
    }

    /// Lets all devices forget this device's retirement.
    private func endRetirement(deletedCount: Int) async throws(SyncError) {
        packs.asked(deletedCount: deletedCount)
        guard try await makeCommit(isNeeded: true, [.retirement([])]) else { return }
        retirements.endOwn()
        try await saveRetirements()
        try await push()
    }

    /// Deletes packs.
    ///
    /// - Returns: How many; none if the remote does not let this device.
    private func delete(_ some: Set<PackID>) async throws(SyncError) -> Int {
        if some.isEmpty { return 0 }
        publish(.deleting)
        do throws(SyncError) {
            for pack in some.sorted() { try await objects.delete(layout.pack(pack)) }
        } catch {
            // Where nothing may be deleted, everything else goes on.
            guard case .remote(let reason, _) = error, !reason.canRetryHelp else { throw error }
            packs.refusedDeletion()
            findings.report(.packsStay(reason))
            return 0
        }
        packs.deleted(some)
        DebugLog.log(.info, .sync, "vault \(id: setup.vault.high): \(some.count) packs were deleted")
        return some.count
    }
}
