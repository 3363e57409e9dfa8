internal import CofferFormat
internal import CofferRemote
internal import CofferTrust

// Checks that every member's device makes for itself: that there is only one member chain, and that wraps
// match members.
extension SyncEngine {
    /// The most sets of wraps that are fetched in one round.
    private static let setCountMax = 256
    /// The most sets of wraps held in memory at a time.
    private static let setsAtOnce = 16
    /// The most names that are examined below one epoch.
    private static let nameCountMax = 16384
    /// The most links that the end of the remote's chain may lack before the comparison ends.
    private static let lostLinkCountMax: UInt64 = 64

    /// Whether the members changed since the last inspection, or that was long ago.
    func isInspectionDue() -> Bool {
        let now = setup.milliseconds()
        let isRecent = now >= duties.inspectedAt && now - duties.inspectedAt < MemberDuties.inspectionPause
        return duties.inspected == nil || duties.inspected != chain.head || !isRecent
    }

    /// Compares wraps with members, and records the time.
    func inspectWraps() async throws(SyncError) {
        let isComplete = try await auditWraps()
        duties.refused = [:]
        duties.inspected = isComplete ? chain.head : nil
        duties.inspectedAt = setup.milliseconds()
    }

    // MARK: Forks

    /// Compares the newest link with the one at the remote; if they differ, finds the first place where the
    /// histories do.
    func lookForFork() async throws(SyncError) {
        guard let head = chain.links.last else { return }
        var others: [(known: LinkRecord, bytes: [UInt8])] = []
        var lost: [LinkRecord] = []
        for known in chain.links.reversed() {
            let bytes = try await fetchLink(layout.member(known.sequence))
            if bytes == known.bytes { break }
            // The other history may be the shorter one. An object that is not a link of this vault is part of
            // none.
            guard let bytes, chain.isLink(bytes, at: known.sequence) else {
                guard head.sequence - known.sequence < Self.lostLinkCountMax else { return }
                lost.append(known)
                continue
            }
            others.append((known, bytes))
        }
        // Finds the first place where the histories differ. A link before that place that could never be
        // valid there may have been signed by anybody.
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
        // The other history is gone.
        duties.forks = []
        notes.removeAll { if case .membership(.fork) = $0 { true } else { false } }
        try await putLinksAgain(lost.sorted { $0.sequence < $1.sequence })
    }

    /// Whether a link adds a member: only then is its signer checked before the identity that it names.
    func addsMember(_ bytes: [UInt8]) -> Bool {
        if case .addMember? = MemberOperation(ofLink: bytes) { true } else { false }
    }

    /// Why the chain refuses a link for a place that is taken; nil if it has that very link.
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

    /// Settles a fork if the rule that needs no decision applies; otherwise keeps it and reports it.
    func settle(_ fork: Fork) async throws(SyncError) {
        let verdict = try ruling { () throws(TrustError) in try chain.verdict(on: fork, knowing: identities) }
        if verdict == .otherRemovesSigner { return try await adopt(fork) }
        if !duties.forks.contains(fork) { duties.forks.append(fork) }
        note(.membership(.fork(fork, verdict)))
    }

    /// Replaces the known link of a fork, and all links after it, by the other link.
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
        // Commits that name the lost links no longer count, and others may count now.
        stops = [:]
        isRebuildWanted = true
        try await pullMembers()
        try await openKeys()
    }

    /// Settles a fork as the user decides, where no rule applies.
    ///
    /// - Parameter adopting: Whether the other link replaces the known one. Changes made by the lost links
    ///   have to be made again.
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

    /// Compares the sets of wraps of the current epoch with the members; returns false if more must be
    /// fetched.
    private func auditWraps() async throws(SyncError) -> Bool {
        guard let epoch = chain.state.epoch else { return false }
        if duties.wrapsEpoch != epoch { (duties.wraps, duties.wrapsEpoch, duties.strays) = ([:], epoch, []) }
        // A listing may lag, so sets that links name are fetched by name.
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
                // A set that links name may become complete later.
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
                // Its link may still be on its way.
                guard duties.strays.contains(hash) else { continue }
            }
            note(.membership(.wraps(finding)))
        }
        duties.strays = strays
    }

    /// The names of the sets at the remote, with their sizes.
    private func listedWraps(_ epoch: Epoch) async throws(SyncError) -> [RemoteName: Int] {
        var names: [RemoteName: Int] = [:]
        try await list(layout.wraps(epoch: UInt64(epoch.number))) { entries in
            for entry in entries { names[entry.name] = entry.byteCount }
            return names.count < Self.nameCountMax ? .next : .enough
        }
        return names
    }
}
