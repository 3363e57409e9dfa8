internal import CofferFacts
internal import CofferFormat
internal import CofferRemote
internal import CofferTrust

// What this device has written on a side of a fork of the members that was lost: it is made anew on the other one.
extension SyncEngine {
    /// Whether commits are applied that name links which the member chain does not have any more: for others they do
    /// not count, nor does what names them.
    var hasLostCommits: Bool { logs.values.contains { !chain.has($0.head.members) } }

    /// Makes this device's commits of the lost side anew, under the keys and links of the other one, and takes all facts
    /// anew, without what others have written on the lost side; that they do themselves.
    ///
    /// The commits keep their numbers, clocks and facts, so that nothing changes here. Contents that were sealed with
    /// the lost key are sent once more. A crash at any point leaves what the next round goes on with.
    func leaveLostSide() async throws(SyncError) {
        let lost = try await ownLostCommits()
        try await asking { () async throws(ReplicaError) in try await replica.sealAnew(lost.items) }
        isLeavingLostSide = true
        defer { isLeavingLostSide = false }
        if try ownRole()?.may(.write) == true {
            for _ in 0..<Self.commitCountMax { guard try await makeCommit(isNeeded: false) else { break } }
        }
        // What may not be said again goes from here.
        if let role, !role.may(.write), !lost.items.isEmpty || !lost.made.isEmpty {
            try await asking { () async throws(ReplicaError) in
                try await replica.setAside(lost.items + lost.made, andUnsent: true)
            }
        }
        try await makeAnew(from: lost.first)
        try await putOutgoing()
        try await rebuild()
    }

    /// Commits of this device that may have to be made anew.
    private struct LostCommits {
        /// The first one.
        let first: UInt64
        /// Items whose contents they change.
        let items: [ItemID]
        /// Items that they made.
        let made: [ItemID]
    }

    /// Where the commits of this device begin that may have to be made anew, and the items whose contents they change.
    private func ownLostCommits() async throws(SyncError) -> LostCommits {
        var next = (logs[setup.log]?.head.sequence ?? 0) + 1
        var (items, made): (Set<ItemID>, Set<ItemID>) = ([], [])
        while next > 1, let bytes = try await ownCommit(next - 1) {
            let verifier = try verifier()
            let dot = Dot(log: setup.log, sequence: next - 1)
            if let lost = verifier.lostCommit(bytes, at: dot, by: ownIdentity) {
                for case .content(let item, _?) in lost.facts.map(\.assertion) { items.insert(item) }
                for case .kind(let item, _) in lost.facts.map(\.assertion) { made.insert(item) }
            } else if outgoing[dot.sequence] == nil {
                break
            }
            next -= 1
        }
        return LostCommits(first: next, items: items.sorted(), made: made.sorted())
    }

    /// A commit of this device; nil if it is nowhere.
    private func ownCommit(_ sequence: UInt64) async throws(SyncError) -> [UInt8]? {
        if let bytes = outgoing[sequence] { return bytes }
        let name = layout.commit(setup.log, sequence)
        let fetched = try await reaching { () async throws(RemoteError) in
            try await remote.fetch(name, byteCountMax: SignedRecord.byteCountMax)
        }
        guard case .bytes(let bytes) = fetched else { return nil }
        return bytes
    }

    /// Makes the commits of this device from one on anew, as far as they name what does not count.
    private func makeAnew(from first: UInt64) async throws(SyncError) {
        guard var summary = logs[setup.log], first <= summary.head.sequence else { return }
        var before: VerifiedCommit?
        if first > 1, let bytes = try await ownCommit(first - 1) {
            before = try? verifier().authentic(bytes, at: Dot(log: setup.log, sequence: first - 1))
        }
        // Without the commit in front, nothing can follow it.
        guard first == 1 || before != nil else { return }
        let last = summary.head.sequence
        if summary.lastWrite?.sequence ?? 0 >= first { summary.lastWrite = nil }
        for sequence in first...last {
            guard let bytes = try await ownCommit(sequence) else { return }
            let commit = try await madeAnew(bytes, at: Dot(log: setup.log, sequence: sequence), after: before)
            guard let commit else { return }
            before = commit
            summary.head = commit.point
            if commit.point.writes { summary.lastWrite = commit.point }
        }
        let row = KeptChange(KeptRow.Key(.log, id: summary.log.bytes), summary.bytes)
        try await asking { () async throws(ReplicaError) in try await replica.save([row]) }
        (logs[setup.log], tails[setup.log]) = (summary, summary)
    }

    /// A commit as it can follow another one, saved if it is not the same; nil if it is not this device's.
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
        let facts = old.facts.map { fact in
            Fact(fact.assertion, replaces: fact.replaces.filter { versions.contains($0) })
        }
        let previous = before?.point.hash ?? .zero
        if let known, known.body.previous == previous, known.body.heads == heads { return known }
        // What was shown on the lost side, and said of the storage, is of no use to others.
        let body = CommitBody(
            previous: previous, clock: old.clock, stateHash: StateHash.zero, heads: heads,
            introduction: old.introduction, notices: [], facts: role?.may(.write) == true ? facts : [])
        let sealed = SignedRecord.sealing(
            body.paddedBytes, as: .commit, at: dot, under: key, members: members, writes: body.writes,
            by: setup.keys.author)
        let row = KeptChange(KeptRow.Key(.outgoing, number: dot.sequence), sealed)
        try await asking { () async throws(ReplicaError) in try await replica.save([row]) }
        outgoing[dot.sequence] = sealed
        return try? verifier.authentic(sealed, at: dot)
    }

    /// Which of the commits that a commit names count, or counted when the one in front of it was made.
    private func counting(_ heads: LogBounds, after before: LogBounds?) throws(SyncError) -> LogBounds {
        let bounds = heads.bounds.compactMap { bound in
            if let known = logs[bound.log], chain.has(known.head.members) { return bound }
            return before?[bound.log]
        }
        do throws(FormatError) { return try LogBounds(bounds) } catch { throw .format(error) }
    }
}
