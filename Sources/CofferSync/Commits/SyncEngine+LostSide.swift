internal import CofferFacts
internal import CofferFormat
internal import CofferRemote
internal import CofferTrust

// Commits of this device that no longer count: those from the lost side of a fork of the member chain are remade
// on the other side; what was written after the right to write had ended is set aside.
extension SyncEngine {
    /// Remakes this device's commits from the lost side, under the keys and links of the other side, and
    /// rebuilds all facts.
    ///
    /// The rebuild leaves out what others wrote on the lost side; they remake it themselves. The remade
    /// commits keep their numbers, clocks and facts, so nothing changes here. Contents sealed under the lost
    /// key are sent again. After a crash at any point, the next round continues.
    func leaveLostSide() async throws(SyncError) {
        let lost = try await ownLostCommits()
        try await asking { () async throws(ReplicaError) in try await replica.sealAnew(lost.items) }
        ownLog.isLeavingLostSide = true
        defer { ownLog.isLeavingLostSide = false }
        if try ownRole()?.may(.write) == true {
            for _ in 0..<Self.commitCountMax { guard try await makeCommit(isNeeded: false) else { break } }
        }
        // Changes that may not be made again are dropped here.
        if let role, !role.may(.write), !lost.items.isEmpty || !lost.made.isEmpty {
            try await asking { () async throws(ReplicaError) in
                try await replica.setAside(lost.items + lost.made, andUnsent: true)
            }
        }
        try await makeAnew(from: lost.first)
        retirements.beginAgain()
        try await putUnsent()
        try await rebuild()
    }

    /// This device's commits that may have to be remade.
    private struct LostCommits {
        /// The number of the first one.
        let first: UInt64
        /// Items whose contents they change.
        let items: [ItemID]
        /// Items that they made.
        let made: [ItemID]
    }

    /// Finds this device's commits that may have to be remade, and the items that they concern.
    private func ownLostCommits() async throws(SyncError) -> LostCommits {
        var next = logs.appliedSequence(logs.own) + 1
        var (items, made): (Set<ItemID>, Set<ItemID>) = ([], [])
        while next > 1, let bytes = try await ownCommit(next - 1) {
            let verifier = try verifier()
            let dot = Dot(log: logs.own, sequence: next - 1)
            if let lost = verifier.lostCommit(bytes, at: dot, by: ownIdentity) {
                for case .content(let item, _?) in lost.facts.map(\.assertion) { items.insert(item) }
                for case .moved(let item, _, _) in lost.facts.map(\.assertion) { items.insert(item) }
                for case .kind(let item, _) in lost.facts.map(\.assertion) { made.insert(item) }
            } else if ownLog.unsent[dot.sequence] == nil {
                break
            }
            next -= 1
        }
        return LostCommits(first: next, items: items.sorted(), made: made.sorted())
    }

    /// The bytes of a commit of this device; nil if they exist nowhere.
    private func ownCommit(_ sequence: UInt64) async throws(SyncError) -> [UInt8]? {
        if let bytes = ownLog.unsent[sequence] { return bytes }
        let found = try await objects.commit(Dot(log: logs.own, sequence: sequence)).bytes
        if let found { return found }
        return try await keptBytes(sequence)
    }

    /// Remakes this device's commits from a number on, if they name links or commits that do not count.
    private func makeAnew(from first: UInt64) async throws(SyncError) {
        guard var summary = logs.ownSummary, first <= summary.head.sequence else { return }
        var before: VerifiedCommit?
        if first > 1, let bytes = try await ownCommit(first - 1) {
            before = try? verifier().authentic(bytes, at: Dot(log: logs.own, sequence: first - 1))
        }
        // Without the commit before it, none can follow.
        guard first == 1 || before != nil else { return }
        let last = summary.head.sequence
        if summary.lastWrite?.sequence ?? 0 >= first { summary.lastWrite = nil }
        for sequence in first...last {
            guard let bytes = try await ownCommit(sequence) else { return }
            let commit = try await madeAnew(bytes, at: Dot(log: logs.own, sequence: sequence), after: before)
            guard let commit else { return }
            before = commit
            summary.head = commit.point
            if commit.point.writes { summary.lastWrite = commit.point }
        }
        try await save([summary.row])
        logs.recordRemade(summary)
    }

    /// A commit remade to follow another one, and saved unless it is unchanged; nil if it is not this
    /// device's.
    private func madeAnew(
        _ bytes: [UInt8], at dot: Dot, after before: VerifiedCommit?
    ) async throws(SyncError) -> VerifiedCommit? {
        guard let key = keyring?.current, let members = chain.head else { throw .keys(.noWrap) }
        let verifier = try verifier()
        let known = try? verifier.authentic(bytes, at: dot)
        guard let old = known?.body ?? verifier.lostCommit(bytes, at: dot, by: ownIdentity) else {
            return nil
        }
        let heads = try counting(old.heads, after: before?.body.heads)
        var versions = VersionVector(heads)
        versions[dot.log] = dot.sequence - 1
        let mayMove = role?.may(.moveContents) == true
        let facts = old.facts.compactMap { fact -> Fact? in
            if case .moved(_, let dot, _) = fact.assertion, !mayMove || !versions.contains(dot) { return nil }
            return Fact(fact.assertion, replaces: fact.replaces.filter { versions.contains($0) })
        }
        let previous = before?.point.hash ?? .zero
        if let known, known.body.previous == previous, known.body.heads == heads { return known }
        // The state hash and the notices from the lost side are useless to others.
        let body = CommitBody(
            previous: previous, clock: old.clock, stateHash: StateHash.zero, heads: heads,
            introduction: old.introduction, notices: [], facts: role?.may(.write) == true ? facts : [])
        let sealed = SignedRecord.sealing(
            body.paddedBytes, as: .commit, at: dot, under: key, members: members, writes: body.writes,
            by: setup.keys.author)
        try await save([KeptChange(KeptRow.Key(.outgoing, number: dot.sequence), sealed)])
        ownLog.made(sealed, sequence: dot.sequence)
        return try? verifier.authentic(sealed, at: dot)
    }

    /// The commits named by a commit that count, or that the commit before it named.
    private func counting(_ heads: LogBounds, after before: LogBounds?) throws(SyncError) -> LogBounds {
        let bounds = heads.bounds.compactMap { bound in
            if let known = logs[bound.log], chain.has(known.head.members) { return bound }
            return before?[bound.log]
        }
        do throws(FormatError) { return try LogBounds(bounds) } catch { throw .format(error) }
    }

    // MARK: Changes that may not be sent

    /// The number of registers read in one call.
    private static let pageCount = 4096

    /// Whether there are unsent changes although the user, a member, may not write.
    ///
    /// They would be visible only here, for as long as the vault exists.
    func mustGiveUpUnsent() async throws(SyncError) -> Bool {
        guard let role, !role.may(.write) else { return false }
        return try await asking { () async throws(ReplicaError) in try await replica.hasUnsent() }
    }

    /// Copies everything that a rebuild drops, and that only this device has, to a place of the user's own.
    ///
    /// That is what only withdrawn commits of this device state, what it wrote to files that withdrawn commits of
    /// others made, and unsent changes if those are dropped, too.
    func setAsideWhatGoes(withUnsent: Bool) async throws(SyncError) {
        let items = logs.withdrawn.isEmpty ? [] : try await itemsThatGo()
        guard withUnsent || !items.isEmpty else { return }
        try await asking { () async throws(ReplicaError) in
            try await replica.setAside(items, andUnsent: withUnsent)
        }
    }

    /// Items that are visible because of withdrawn commits, and that this device made or wrote to.
    private func itemsThatGo() async throws(SyncError) -> [ItemID] {
        let own = logs.ownLogs(ownIdentity, label: setup.introduction.label)
        var found = ItemsThatGo(withdrawn: logs.withdrawn, own: own)
        var last: Register?
        while true {
            let after = last
            let page = try await asking { () async throws(ReplicaError) in
                try await replica.values(after: after, limit: Self.pageCount)
            }
            guard let end = page.last else { break }
            last = end.register
            for values in page { found.add(values) }
        }
        return found.items.sorted()
    }

    /// Begins another log if the current one has ended and everything of it that counts is applied.
    ///
    /// A rebuild without the log leads to this state.
    func beginLogIfEnded() async throws(SyncError) -> Bool {
        guard logs.withdrawn.isEmpty, ownLog.unsent.isEmpty, logs.hasEnded(logs.own) else { return false }
        try await beginLog()
        return true
    }

    /// Begins another log, because no commit after this device's withdrawn ones counts.
    func beginLog() async throws(SyncError) {
        // Forgotten first, because they would otherwise be put as commits of the new log.
        var forgotten = ownLog
        try await save(forgotten.forgetAll())
        ownLog = forgotten
        guard let log = await setup.newLog() else { throw .replica("a new log could not be kept") }
        logs.beginOwn(log)
        retirements.beginAgain()
    }
}
