internal import CofferFormat
internal import CofferRemote
internal import CofferTrust

// What every member's device checks on its own: that there is one member chain, and that wraps and members agree.
extension SyncEngine {
    /// The most sets of wraps that are fetched in one round.
    private static let setCountMax = 256
    /// How many of them are in memory at a time.
    private static let setsAtOnce = 16
    /// The most names that are looked at below one epoch.
    private static let nameCountMax = 16384
    /// How many links may be missing at the end of the remote's history before nothing more is compared.
    private static let lostLinkCountMax: UInt64 = 64

    /// Whether the members changed since they were inspected, or that was long ago.
    func isInspectionDue() -> Bool {
        let now = setup.milliseconds()
        let isRecent = now >= duties.inspectedAt && now - duties.inspectedAt < MemberDuties.inspectionPause
        return duties.inspected == nil || duties.inspected != chain.head || !isRecent
    }

    /// Compares wraps with members, and notes when that was.
    func inspectWraps() async throws(SyncError) {
        let isComplete = try await auditWraps()
        duties.refused = [:]
        duties.inspected = isComplete ? chain.head : nil
        duties.inspectedAt = setup.milliseconds()
    }

    // MARK: Forks

    /// Compares the newest link with what the remote has in its place; where that is another one, finds the first
    /// place at which the two histories differ.
    func lookForFork() async throws(SyncError) {
        guard let head = chain.links.last else { return }
        var others: [(known: LinkRecord, bytes: [UInt8])] = []
        var lost: [LinkRecord] = []
        for known in chain.links.reversed() {
            let bytes = try await fetchLink(layout.member(known.sequence))
            if bytes == known.bytes { break }
            // The other history may be the shorter one; what is no link of this vault is of none.
            guard let bytes, chain.isLink(bytes, at: known.sequence) else {
                guard head.sequence - known.sequence < Self.lostLinkCountMax else { return }
                lost.append(known)
                continue
            }
            others.append((known, bytes))
        }
        // The first one at which the histories differ; what stands in front of it and could never be there, anybody
        // may have signed.
        for other in others.reversed() {
            switch try await problem(of: other.bytes) {
            case nil: continue
            case .fork(let fork): return try await settle(fork)
            case .identityMissing(let identity) where addsMember(other.bytes):
                return note(.memberLink(sequence: other.known.sequence, .identityMissing(identity)))
            default:
                lost.append(other.known)
                guard lost.count < Self.lostLinkCountMax else { return }
            }
        }
        // What there was of another history is gone.
        duties.forks = []
        notes.removeAll { if case .membership(.fork) = $0 { true } else { false } }
        try await putLinksAgain(lost.sorted { $0.sequence < $1.sequence })
    }

    /// Whether a link adds a member: only there the signer is checked before who it names.
    func addsMember(_ bytes: [UInt8]) -> Bool {
        if case .addMember? = MemberOperation(ofLink: bytes) { true } else { false }
    }

    /// What the chain says of a link in a place that is taken; nil if it has that link.
    func problem(of bytes: [UInt8]) async throws(SyncError) -> TrustError? {
        var copy = chain
        do throws(TrustError) {
            try copy.append(bytes, knowing: identities)
            return nil
        } catch {
            guard case .identityMissing(let identity) = error else { return error }
            try await pullIdentity(of: identity)
        }
        copy = chain
        do throws(TrustError) {
            try copy.append(bytes, knowing: identities)
            return nil
        } catch {
            return error
        }
    }

    /// Settles a fork by the rule that needs nobody's word, or keeps it in sight.
    func settle(_ fork: Fork) async throws(SyncError) {
        let verdict = try ruling { () throws(TrustError) in try chain.verdict(on: fork, knowing: identities) }
        if verdict == .otherRemovesSigner { return try await adopt(fork) }
        if !duties.forks.contains(fork) { duties.forks.append(fork) }
        note(.membership(.fork(fork, verdict)))
    }

    /// Puts the other link of a fork in the place of the known one, which counts no more with what follows it.
    func adopt(_ fork: Fork) async throws(SyncError) {
        let old = chain.nextSequence
        let adopted = try ruling { () throws(TrustError) in try chain.adopting(fork, knowing: identities) }
        var rows = [KeptChange(KeptRow.Key(.memberLink, number: fork.sequence), fork.other.bytes)]
        for sequence in fork.sequence + 1..<max(old, fork.sequence + 1) {
            rows.append(KeptChange(KeptRow.Key(.memberLink, number: sequence), nil))
        }
        let saved = rows
        try await asking { () async throws(ReplicaError) in try await replica.save(saved) }
        chain = adopted
        duties.forks.removeAll { $0.sequence >= fork.sequence }
        notes.removeAll { if case .membership(.fork) = $0 { true } else { false } }
        // What names the lost links counts no more, and what did not count may.
        stops = [:]
        isRebuildWanted = true
        try await pullMembers()
        try await openKeys()
    }

    /// Decides a fork that no rule decides, as the user says.
    ///
    /// - Parameter adopting: Whether the other link counts from now on instead of the known one. What the lost link
    ///   did is to be done again.
    package func settleFork(at sequence: UInt64, adopting: Bool) async throws(SyncError) {
        try await changingMembers { () async throws(SyncError) in
            guard let fork = duties.forks.first(where: { $0.sequence == sequence }) else {
                throw .membership(.refused(.nothingNew))
            }
            if adopting { return try await adopt(fork) }
            duties.forks.removeAll { $0 == fork }
            notes.removeAll { if case .membership(.fork(fork, _)) = $0 { true } else { false } }
        }
    }

    // MARK: Wraps

    /// Compares the sets of wraps of the present epoch with the members; false if not all could be fetched yet.
    private func auditWraps() async throws(SyncError) -> Bool {
        guard let epoch = chain.state.epoch else { return false }
        if duties.wrapsEpoch != epoch { (duties.wraps, duties.wrapsEpoch, duties.strays) = ([:], epoch, []) }
        // A listing may lag behind; what links name is asked for by its name.
        let granted = Set(
            chain.state.grants.map { layout.wraps(epoch: UInt64(epoch.number), hash: $0.wraps.bytes) })
        let listed = try await listedWraps(epoch)
        let names = granted.union(listed.keys)
        let new = names.filter { name in
            guard let seen = duties.wraps[name.text] else { return true }
            return granted.contains(name) && seen.set == nil
        }
        try await putWrapsAgain(listed)
        let wanted = Array(new.sorted().prefix(Self.setCountMax))
        for start in stride(from: 0, to: wanted.count, by: Self.setsAtOnce) {
            let part = Array(wanted[start..<min(start + Self.setsAtOnce, wanted.count)])
            let fetched = try await fetchAll(part, byteCountMax: Self.wrapsByteCountMax)
            var sets: [WrapSet] = []
            for name in part {
                guard let bytes = fetched[name] else { continue }
                let set = (try? WrapSet(bytes)).flatMap { set in
                    layout.wraps(epoch: UInt64(epoch.number), hash: set.hash.bytes) == name ? set : nil
                }
                let isGranted = granted.contains(name)
                // One that links name may be whole later.
                guard set != nil || !isGranted else { continue }
                duties.wraps[name.text] =
                    isGranted ? SeenWraps(set: bytes, stray: nil) : SeenWraps(set: nil, stray: set?.hash)
                if isGranted, let set { sets.append(set) }
            }
            try await keepWraps(sets)
        }
        guard new.count == wanted.count else { return false }
        let seen = names.compactMap { duties.wraps[$0.text] }
        let findings = WrapAudit.findings(chain, sets: seen.compactMap(\.set))
        tell(findings.union(seen.compactMap(\.stray).map { .setWithoutLink($0) }))
        return true
    }

    private func tell(_ findings: Set<WrapAudit.Finding>) {
        notes.removeAll { if case .membership(.wraps) = $0 { true } else { false } }
        var strays: Set<WrapSetHash> = []
        for finding in findings.sorted(by: { "\($0)" < "\($1)" }) {
            if case .setWithoutLink(let hash) = finding {
                strays.insert(hash)
                // Its link may just be on its way.
                guard duties.strays.contains(hash) else { continue }
            }
            note(.membership(.wraps(finding)))
        }
        duties.strays = strays
    }

    /// The names of sets, with their sizes.
    private func listedWraps(_ epoch: Epoch) async throws(SyncError) -> [RemoteName: Int] {
        var names: [RemoteName: Int] = [:]
        try await list(layout.wraps(epoch: UInt64(epoch.number))) { entries in
            for entry in entries { names[entry.name] = entry.byteCount }
            return names.count < Self.nameCountMax ? .next : .enough
        }
        return names
    }
}
