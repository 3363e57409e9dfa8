package import CofferFormat
package import CofferRemote
internal import CofferSystem
internal import CofferTrust
internal import Synchronization

// What the engine shows of its state.
extension SyncEngine {
    /// The number of epochs begun by one member at which that is reported.
    private static let epochCountNamed = 1000

    /// The current status, then each change; a slow reader always gets the last one.
    package func statuses() -> AsyncStream<SyncStatus> {
        listenerCount += 1
        let number = listenerCount
        let (stream, continuation) = AsyncStream.makeStream(
            of: SyncStatus.self, bufferingPolicy: .bufferingNewest(1))
        continuation.yield(status)
        continuation.onTermination = { [weak self] _ in
            Task { await self?.forget(listener: number) }
        }
        listeners[number] = continuation
        return stream
    }

    private func forget(listener: UInt64) { listeners[listener] = nil }

    /// Updates the status and reports it.
    func publish(_ phase: SyncPhase) {
        DebugLog.log(.debug, .sync, "vault \(id: setup.vault.high): \(phase)")
        status.phase = phase
        status.findings = allFindings()
        if phase == .idle { status.devices = logs.devices(chain) }
        let snapshot = SyncSnapshot(status: status, chain: chain, role: role)
        latest.withLock { $0 = snapshot }
        for listener in listeners.values { listener.yield(status) }
    }

    private func allFindings() -> [SyncFinding] {
        let names = names
        var all = findings.all
        // During a round, the change may be about to be put.
        if status.phase == .idle, let pending = duties.pending {
            let change = PendingChange(pending, by: ownIdentity, names)
            all.append(.membership(.postponed(change.text, member: change.argument)))
        }
        for (identity, count) in chain.state.epochCounts.sorted(by: { $0.key < $1.key })
        where count >= Self.epochCountNamed && chain.state.members[identity] != nil {
            all.append(.membership(.manyEpochs(names.name(of: identity), count: count)))
        }
        all += logs.findings(name: names.known)
        if packs.lostByteCount > 0 { all.append(.contentsLost(byteCount: packs.lostByteCount)) }
        let lostOwn = ownLog.lost.filter { !checkpoints.covers(Dot(log: logs.own, sequence: $0)) }
        if let first = lostOwn.min() { all.append(.ownLost(sequence: first, others: lostOwn.count - 1)) }
        return all + logs.absentFindings
    }

    /// Whether the remote shows less than before, but not in enough rounds to be reported yet.
    package var isDoubtful: Bool { logs.stale.isDoubtful }

    /// The names of the last commits of each log that the remote must have, as far as this device knows.
    package func lastCommits() async throws(SyncError) -> [RemoteName] {
        try await load()
        return logs.applied.compactMap { log, summary in
            var sequence = summary.head.sequence
            // Commits that are still to be sent do not have to be there.
            if log == logs.own { sequence = ownLog.lastSent(head: sequence) }
            let last = Dot(log: log, sequence: sequence)
            guard sequence > 0, !checkpoints.covers(last),
                !chain.hasRestored(last, since: summary.head.members)
            else { return nil }
            return layout.commit(log, sequence)
        }
    }

    // MARK: What the remote has

    /// Looks for all that a new device would need from the remote besides packs; changes nothing.
    ///
    /// Does not wait for a round to end.
    ///
    /// - Parameter readsAll: Whether to fetch and verify it; otherwise, listings are believed.
    package func inspectRemote(readsAll: Bool) async -> RemoteFindings {
        var inspection: RemoteInspection
        do throws(SyncError) {
            if !isRunning, !rounds.isLoaded {
                try await alone { () async throws(SyncError) in try await load() }
            }
            if keyring == nil {
                let known = await setup.keys.keyring()
                // A round may have opened newer keys meanwhile.
                if keyring == nil { keyring = known }
            }
            inspection = RemoteInspection(
                objects, members, duties, names, logs, ownLog, standing: checkpoints.standing,
                try verifier(), try checkpointSearch(), isBehind: isBehind, readsAll: readsAll)
        } catch {
            var findings = RemoteFindings()
            findings.failures.append(("members, commits and checkpoints", error))
            return findings
        }
        await inspection.run()
        return inspection.findings
    }

    /// Whether this device knows of commits that it has yet to apply, or of applied ones that no longer count.
    private var isBehind: Bool {
        rounds.isRebuildWanted || !logs.withdrawn.isEmpty || logs.hasLostCommits(chain) || lacksCommits
            || logs.stops.values.contains { !$0.problem.isFinal }
    }

    /// The sizes of packs, as a listing shows them: of those that it shows, even if it fails midway.
    package func listedSizes(of packs: Set<PackID>) async -> [PackID: Int] {
        var sizes: [PackID: Int] = [:]
        try? await objects.list(layout.packs) { entries in
            for entry in entries {
                if let pack = entry.name.pack, packs.contains(pack) { sizes[pack] = entry.byteCount }
            }
            return sizes.count < packs.count ? .next : .enough
        }
        return sizes
    }

    // MARK: Members

    /// The names of members.
    var names: MemberNames {
        MemberNames(
            own: (ownIdentity, setup.introduction.name), logs: logs.applied, members: members,
            cards: duties.cards)
    }

    /// Lists the members, as far as this device knows.
    ///
    /// - Parameter verified: The identities whose fingerprints this user has compared.
    package func roster(verified: Set<IdentityID>) async throws(SyncError) -> Roster {
        try await alone { () async throws(SyncError) in
            try await load()
            return Roster(
                members, names, duties, invites: try await setup.invites?.load().all ?? [],
                verified: verified, at: time)
        }
    }

    /// The other members and their names, as far as this device knows at this moment.
    ///
    /// Unlike `roster`, this does not wait for a round to end.
    ///
    /// - Returns: Nil for the name of a member that has not given one.
    package func otherMembers() async -> [IdentityID: String?] {
        if !isRunning, !rounds.isLoaded {
            try? await alone { () async throws(SyncError) in try await load() }
        }
        let names = names
        var others: [IdentityID: String?] = [:]
        for identity in chain.state.members.keys where identity != ownIdentity {
            others.updateValue(names.known(identity), forKey: identity)
        }
        return others
    }

    /// The logs of which anything is applied, those of people who have left included.
    ///
    /// Does not wait for a round to end.
    package func knownLogs() async throws(SyncError) -> [KnownLog] {
        if !isRunning, !rounds.isLoaded {
            try await alone { () async throws(SyncError) in try await load() }
        }
        return logs.applied.values.map { KnownLog(author: logs.author($0.log), identity: $0.author) }
    }

    /// The change of the members that waits for the remote; nil if none does.
    package func pendingChange() async throws(SyncError) -> PendingChange? {
        try await alone { () async throws(SyncError) in
            try await load()
            return duties.pending.map { PendingChange($0, by: ownIdentity, names) }
        }
    }

    /// A receipt for each removal, in order.
    ///
    /// Asks the remote for the commits around each change of the key, if it still has them.
    ///
    /// - Parameter usage: Returns how many bytes in the vault now are sealed under each epoch.
    package func removalReceipts(
        usage: @Sendable () async -> [Epoch: UInt64]
    ) async throws(SyncError) -> [RemovalReceipt] {
        let usage = await usage()
        return try await alone { () async throws(SyncError) in
            try await load()
            let (objects, names) = (objects, names)
            var receipts: [RemovalReceipt] = []
            for removal in chain.state.removals {
                let readable = ReadableCommits(objects: objects, verifier: try verifier(), removal: removal)
                receipts.append(
                    RemovalReceipt(
                        removal, name: names.known(removal.identity),
                        readable: try await readable.last(of: logs.applied), usage: usage))
            }
            return receipts
        }
    }
}
