internal import CofferFormat
internal import CofferRemote
internal import CofferTrust

// What every member's device does for the members in each round, unasked: it continues changes, compares members
// and wraps with the remote, and puts back what the remote has lost.
extension SyncEngine {
    /// The most sets of wraps held in memory at a time.
    private static let setsAtOnce = 16
    /// The most names that are examined below one epoch.
    private static let wrapNameCountMax = 16384
    /// The most names of a listing that are kept in memory.
    private static let listedCountMax = 1 << 20

    /// Continues pending changes, publishes this user's keys, and compares members and wraps with the remote;
    /// if this user may, also changes the key if that is due, and admits invited users.
    ///
    /// A step that the rules do not allow is reported, and does not stop the others.
    func serveMembers() async throws(SyncError) {
        findings.resolve { if case .membership(.undone) = $0 { true } else { false } }
        try await tolerating { () async throws(SyncError) in try await resumePending() }
        try await tolerating { () async throws(SyncError) in try await publishOwnCard() }
        let isDue = duties.isInspectionDue(chain.head, at: setup.milliseconds())
        if isDue {
            findings.resolve {
                if case .membership(.putAgain) = $0 { return true }
                if case .membership(.linkMissing) = $0 { return true }
                if case .obstacle = $0 { return true }
                if case .putAgain = $0 { return true }
                if case .contentsPutAgain = $0 { return true }
                return false
            }
            try await tolerating { () async throws(SyncError) in try await lookForFork() }
            try await tolerating { () async throws(SyncError) in try await putIdentitiesAgain() }
        }
        if isDue, chain.state.may(ownIdentity, .recordKeys) {
            try await tolerating { () async throws(SyncError) in try await recordRevoked() }
        }
        try await tolerating { () async throws(SyncError) in try await boundThoseWhoLeft() }
        if !chain.state.owed.isEmpty, chain.state.may(ownIdentity, .rotate), hasNewestKeys {
            try await tolerating { () async throws(SyncError) in
                try await rotateKey { !chain.state.owed.isEmpty }
            }
        }
        if isDue { try await tolerating { () async throws(SyncError) in try await inspectWraps() } }
        if isDue, chain.state.may(ownIdentity, .rotate) {
            try await tolerating { () async throws(SyncError) in try await wrapForThoseWithout() }
        }
        // A user that may no longer admit others tells those who ask.
        let admits = chain.state.may(ownIdentity, .addMembers)
        let hasInvites = (try? await setup.invites?.load())?.isEmpty == false
        if admits || hasInvites {
            try await tolerating { () async throws(SyncError) in
                try await admitInvited(isDue: isDue && admits)
            }
        }
        try checkStanding()
    }

    private func tolerating(_ body: () async throws(SyncError) -> Void) async throws(SyncError) {
        do throws(SyncError) { try await body() } catch {
            guard case .membership(let problem) = error else { throw error }
            findings.report(.membership(.undone(problem)))
        }
    }

    /// Ends the rights of members whose identities are revoked.
    ///
    /// Other new keys are recorded by the member itself, which knows which of its commits should count, until
    /// the vault's key is changed.
    private func recordRevoked() async throws(SyncError) {
        try await pullListedIdentities()
        for member in chain.state.recipients where member.identity != ownIdentity {
            guard members.identities[member.identity]?.state.isRevoked == true else { continue }
            try await recordKeys(of: member.identity)
        }
    }

    // MARK: Forks of the member chain

    /// Compares the newest link with the one at the remote; if they differ, finds the first place where the
    /// histories do.
    private func lookForFork() async throws(SyncError) {
        guard let history = try await OtherHistory(of: chain, at: objects) else { return }
        var lost = history.lost
        // Finds the first place where the histories differ. A link before that place that could never be
        // valid there may have been signed by anybody.
        for other in history.others.reversed() {
            switch try await problem(of: other.bytes) {
            case nil: continue
            case .fork(let fork): return try await resolve(fork)
            case .identityMissing(let identity) where addsMember(other.bytes):
                return findings.report(
                    .memberLink(sequence: other.known.sequence, .identityMissing(identity)))
            default:
                lost.append(other.known)
                guard lost.count < OtherHistory.lostCountMax else { return }
            }
        }
        // The other history is gone.
        duties.forgetForks()
        findings.resolve { if case .membership(.fork) = $0 { true } else { false } }
        try await putLinksAgain(lost.sorted { $0.sequence < $1.sequence })
    }

    /// Whether a link adds a member: only then is its signer checked before the identity that it names.
    private func addsMember(_ bytes: [UInt8]) -> Bool {
        if case .addMember? = MemberOperation(ofLink: bytes) { true } else { false }
    }

    /// Why the chain refuses a link for a place that is taken; nil if it has that very link.
    private func problem(of bytes: [UInt8]) async throws(SyncError) -> TrustError? {
        guard case .identityMissing(let identity)? = members.problem(of: bytes) else {
            return members.problem(of: bytes)
        }
        try await pullIdentity(of: identity)
        return members.problem(of: bytes)
    }

    /// Takes the other side of a fork if the rule that needs no decision says so; otherwise keeps and reports
    /// the fork.
    private func resolve(_ fork: Fork) async throws(SyncError) {
        let verdict = try ruling { () throws(TrustError) in
            try chain.verdict(on: fork, knowing: members.identities)
        }
        if verdict == .otherRemovesSigner { return try await adopt(fork) }
        duties.add(fork)
        findings.report(.membership(.fork(fork, verdict)))
    }

    /// Replaces the known link of a fork, and all links after it, by the other link.
    func adopt(_ fork: Fork) async throws(SyncError) {
        var adopted = members
        let rows = try ruling { () throws(TrustError) in try adopted.adopt(fork) }
        try await save(rows)
        members = adopted
        duties.forgetForks(from: fork.sequence)
        findings.resolve { if case .membership(.fork) = $0 { true } else { false } }
        // Commits that name the lost links no longer count, and others may count now.
        logs.resumeAll()
        rounds.isRebuildWanted = true
        try await pullMembers()
        try await openKeys()
    }

    // MARK: Wraps

    /// Compares the sets of wraps of the current epoch with the members, and records the time.
    private func inspectWraps() async throws(SyncError) {
        let isComplete = try await compareWraps()
        duties.inspected(isComplete ? chain.head : nil, at: setup.milliseconds())
    }

    /// Returns false if more sets must be fetched.
    private func compareWraps() async throws(SyncError) -> Bool {
        guard let epoch = chain.state.epoch else { return false }
        let granted = Set(chain.state.grants.map { layout.wraps($0.wraps, of: epoch) })
        let listed = try await objects.sizes(
            below: layout.wraps(epoch: UInt64(epoch.number)), countMax: Self.wrapNameCountMax
        ) { _ in true }
        let (wanted, isAll) = duties.wraps.begin(epoch, granted: granted, listed: listed.keys)
        try await putWrapsAgain(listed)
        for start in stride(from: 0, to: wanted.count, by: Self.setsAtOnce) {
            let part = Array(wanted[start..<min(start + Self.setsAtOnce, wanted.count)])
            let fetched = try await objects.fetchAll(part, byteCountMax: WrapSet.byteCountMax)
            let sets = part.compactMap { name in
                fetched[name].flatMap { duties.wraps.add($0, at: name, layout) }
            }
            try await keepWraps(sets)
        }
        guard isAll else { return false }
        findings.resolve { if case .membership(.wraps) = $0 { true } else { false } }
        for finding in duties.wraps.findings(chain) { findings.report(.membership(.wraps(finding))) }
        return true
    }

    /// Keeps sets of wraps that links of the current epoch name, and forgets those of earlier ones.
    func keepWraps(_ sets: [WrapSet]) async throws(SyncError) {
        var kept = duties
        try await save(kept.keep(sets, chain.state.grants))
        duties = kept
    }

    // MARK: Objects that the remote has lost

    // Signed objects that the remote has lost or replaced: each device that has one puts it back. Readers check
    // every object, so it does not matter which device does that.

    /// Puts back links that the remote lacks, or has other bytes in place of.
    ///
    /// - Parameter last: Links at the end of the chain, in order; the one before them is the same at the
    ///   remote.
    private func putLinksAgain(_ last: [LinkRecord]) async throws(SyncError) {
        let chain = chain
        if try await objects.hasLinks(behind: chain) {
            findings.report(.membership(.linkMissing(chain.nextSequence)))
        }
        let listed = try await objects.sizes(below: layout.members, countMax: Self.listedCountMax) {
            RemoteLayout.sequence(of: $0) != nil
        }
        var links: [RemoteName: LinkRecord] = [:]
        for link in chain.links { links[layout.member(link.sequence)] = link }
        let places = Set(last.map(\.sequence))
        let middle = chain.links.filter { !places.contains($0.sequence) }.map { KeptObject($0, layout) }
        let compared = duties.turns.next(middle, listed, .links) + last.map { KeptObject($0, layout) }
        for lost in try await objects.differing(compared, byteCountMax: LinkRecord.byteCountMax) {
            guard let link = links[lost.object.name] else { continue }
            // A different link of this vault is part of another history, which is not overwritten.
            if let found = lost.found.bytes, chain.isLink(found, at: link.sequence) {
                switch try await problem(of: found) {
                case .fork(let fork):
                    try await resolve(fork)
                    guard self.chain.head == chain.head else { return }
                    continue
                case .identityMissing(let identity) where addsMember(found):
                    findings.report(.memberLink(sequence: link.sequence, .identityMissing(identity)))
                    continue
                default: break
                }
            }
            guard try await objects.putAgain(lost) else { return }
            findings.report(.membership(.putAgain("link \(link.sequence) of the members")))
        }
    }

    /// Puts back members' links and transient keys that the remote lacks, or has other bytes in place of.
    private func putIdentitiesAgain() async throws(SyncError) {
        let identities = members.identityChains
        let listed = try await objects.sizes(below: layout.identities, countMax: Self.listedCountMax) {
            name in
            name.user.map { identities[$0] != nil } ?? false
        }
        let kept = members.keptIdentities(duties.cards, layout)
        let compared = duties.turns.next(kept, listed, .identities)
        for lost in try await objects.differing(compared, byteCountMax: LinkRecord.byteCountMax) {
            guard let user = lost.object.name.user, let identity = identities[user],
                let id = identity.identity
            else { continue }
            // A different key of that identity is newer, or gets its turn; a different link is part of
            // another history.
            if let found = lost.found.bytes,
                identity.isTransientKey(found) || isFork(found, of: lost.object, identity)
            {
                continue
            }
            guard try await objects.putAgain(lost) else { return }
            findings.report(.membership(.putAgain("keys of \(names.name(of: id))")))
        }
    }

    /// Whether the bytes are a different link in the same place that the identity's keys have signed.
    private func isFork(_ bytes: [UInt8], of object: KeptObject, _ identity: IdentityChain) -> Bool {
        var copy = identity
        do throws(TrustError) { try copy.append(bytes) } catch {
            if case .fork(let fork) = error { return fork.known.bytes == object.bytes }
        }
        return false
    }

    /// Puts back sets of wraps that the remote has lost, or has other bytes in place of.
    ///
    /// - Parameter listed: The names in a listing, with sizes.
    private func putWrapsAgain(_ listed: [RemoteName: Int]) async throws(SyncError) {
        guard let epoch = chain.state.epoch else { return }
        var links: [RemoteName: UInt64] = [:]
        var kept: [KeptObject] = []
        for grant in chain.state.grants {
            let name = layout.wraps(grant.wraps, of: epoch)
            guard let set = duties.keptWraps[grant.wraps], links[name] == nil else { continue }
            links[name] = grant.sequence
            kept.append(KeptObject(name: name, bytes: set.record.bytes))
        }
        kept.sort { $0.name < $1.name }
        let compared = duties.turns.next(kept, listed, .wraps)
        // The name is the hash of the set, so other bytes are useless, and more of them all the more.
        let byteCountMax = compared.map(\.bytes.count).max() ?? 0
        for lost in try await objects.differing(compared, byteCountMax: byteCountMax) {
            guard try await objects.putAgain(lost) else { return }
            findings.report(
                .membership(.putAgain("the vault keys granted by link \(links[lost.object.name] ?? 0)")))
        }
    }
}
