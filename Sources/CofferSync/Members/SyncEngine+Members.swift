internal import CofferFormat
internal import CofferRemote
package import CofferTrust

// Links, keys and identities: fetched, verified, kept; and this user's own, published.
extension SyncEngine {
    /// The most links of the member chain that are saved at once.
    private static let linkBatchCountMax = 256

    // MARK: Reading

    /// Fetches the links of the member chain after the last known one.
    func pullMembers() async throws(SyncError) {
        findings.resolve { if case .memberLink = $0 { true } else { false } }
        var reader = MemberReader(members, objects, .member)
        var end = MemberReader.End.none
        while case .none = end {
            do throws(SyncError) { end = try await reader.readLinks(countMax: Self.linkBatchCountMax) } catch
            {
                // Links already appended are saved: with a gap among the saved ones, none could be loaded any
                // more.
                try await save(&reader)
                throw error
            }
            try await save(&reader)
        }
        if case .refused(_, let reason?) = end {
            findings.report(.memberLink(sequence: chain.nextSequence, reason))
        }
        guard chain.nextSequence > 0 else { throw .noMembers }
    }

    /// Saves what was read.
    private func save(_ reader: inout MemberReader) async throws(SyncError) {
        try await save(reader.removeRows())
        let hasNewLinks = reader.members.chain.nextSequence > chain.nextSequence
        members = reader.members
        guard hasNewLinks else { return }
        // A commit that stopped for lack of a link may be valid now.
        logs.resumeStopped()
        if logs.reviewForks(chain) { rounds.isRebuildWanted = true }
    }

    /// Fetches new links of an identity, wherever it is beside the vault.
    func pullIdentity(of identity: IdentityID) async throws(SyncError) {
        var reader = MemberReader(members, objects, .member)
        try await reader.readIdentity(identity)
        try await save(&reader)
    }

    private func pullIdentity(_ user: UserID) async throws(SyncError) {
        var reader = MemberReader(members, objects, .member)
        try await reader.readIdentity(user)
        try await save(&reader)
    }

    /// Fetches the links that a listing shows to be new, of identities that are known.
    func pullListedIdentities() async throws(SyncError) {
        var new: Set<UserID> = []
        let known = members.identityChains
        try await objects.list(layout.identities) { entries in
            for name in entries.map(\.name) where name.segments.count == 6 && name.segments[4] == "chain" {
                // Only users that are or were members matter here.
                guard let user = name.user, let identity = known[user],
                    let sequence = RemoteLayout.sequence(of: name), sequence >= identity.nextSequence
                else { continue }
                new.insert(user)
            }
            return .next
        }
        for user in new.sorted() { try await pullIdentity(user) }
    }

    // MARK: Keys

    /// Checks that this user is a member with valid keys.
    ///
    /// - Throws: `.membership`: `.removed`, `.left`, `.revoked`; `.notMember` for a user that never was a
    ///   member.
    func checkStanding() throws(SyncError) {
        let names = names
        if let exclusion = members.exclusion(of: ownIdentity, name: names.name(of:)) { throw exclusion }
    }

    /// Opens the current epoch's key, unless it is open; a key that is open may belong to the lost side of a
    /// fork.
    ///
    /// - Throws: `.membership` for a user that is no longer a member: it keeps what it had, and gets nothing
    ///   new.
    func openKeys() async throws(SyncError) {
        try checkStanding()
        if keyring == nil { keyring = await setup.keys.keyring() }
        guard let beginning = chain.state.beginnings.last, keyring?.current.commitment != beginning.commitment
        else { return }
        try await openWraps()
    }

    /// Opens the wrap of the current epoch's key.
    private func openWraps() async throws(SyncError) {
        guard let epoch = chain.state.epoch, let hash = chain.wraps(for: ownIdentity) else {
            throw .notMember
        }
        let fetched = try await objects.fetch(
            layout.wraps(hash, of: epoch), byteCountMax: WrapSet.byteCountMax)
        let found = fetched.bytes.flatMap { try? WrapSet($0) }
        guard let set = found?.hash == hash ? found : duties.keptWraps[hash] else { throw .keys(.noWrap) }
        do throws(TrustError) {
            keyring = try await setup.keys.open(set, of: chain, known: keyring)
        } catch {
            throw .keys(error)
        }
    }

    /// Like `openKeys`, but if this user has no wrap, publishes its transient key so that others can make
    /// one.
    func openKeysOrPublish() async throws(SyncError) {
        do throws(SyncError) { try await openKeys() } catch {
            if case .keys = error {
                try await publishOwnIdentity()
                try checkOwnKeys()
            }
            throw error
        }
    }

    // MARK: Publishing identities

    /// Puts an identity chain and a transient key beside the vault, and adds them to what this device knows.
    ///
    /// This happens before the link that names the identity, which could not be verified without it.
    func publish(_ card: IdentityCard) async throws(SyncError) {
        let user = UserID(low: card.identity.id.low, high: card.identity.id.high)
        // The remote's version may be newer than the card.
        try await pullIdentity(user)
        var known = members
        guard known.add(card.identity), let identity = known.identityChains[user] else {
            throw .membership(.identityForked)
        }
        let published = PublishedIdentity(chain: identity, transient: card.transient)
        let newer = try await published.put(at: objects)
        var rows = KnownMembers.rows(of: identity)
        var kept = duties
        if published.isValid {
            let seen = KeptCard(transient: card.transient.record.bytes, name: card.name)
            rows.append(kept.keep(seen, of: user))
        }
        try await save(rows)
        (members, duties) = (known, kept)
        if let newer, identity.identity == ownIdentity { await setup.seenTransientKey(newer) }
    }

    /// Makes sure that the remote has this user's identity chain and newest transient key.
    @discardableResult
    func publishOwnIdentity() async throws(SyncError) -> IdentityCard? {
        guard let card = await setup.card(), card.identity.identity == ownIdentity else { return nil }
        if duties.published != card.bytes {
            try await publish(card)
            duties.published = card.bytes
        }
        return card
    }

    /// Checks that this device has the newest keys of this user's identity, as far as they are known.
    ///
    /// - Throws: `.membership(.keysReplaced)`.
    private func checkOwnKeys() throws(SyncError) {
        if !hasNewestKeys { throw .membership(.keysReplaced) }
    }

    /// Whether this device has the newest keys of this user's identity, as far as they are known.
    var hasNewestKeys: Bool {
        guard let known = members.identities[ownIdentity], !known.state.isRevoked else { return true }
        return known.state.current?.signing == setup.keys.author.signing
    }

    /// Whether this user's identity has links that are not in a chain of it: another device has made them.
    package func knowsLinks(besides own: IdentityChain) -> Bool {
        guard let known = members.identities[ownIdentity] else { return false }
        return known.links.count >= own.links.count && known.head != own.head
    }

    /// Makes sure that the remote has this user's identity chain and newest transient key, and that the
    /// member chain names the identity's current keys.
    ///
    /// Asks the remote once after a start, and once after each change.
    func publishOwnCard() async throws(SyncError) {
        guard let card = try await publishOwnIdentity() else { return }
        // An old key must not announce a new one.
        guard card.identity.state.current?.signing == setup.keys.author.signing else { return }
        try checkOwnKeys()
        try await recordKeys(of: ownIdentity)
    }
}

extension RemoteName {
    /// The user whose identity the object belongs to; nil if it is not part of an identity.
    var user: UserID? {
        guard segments.count >= 4, segments[2] == "identities" else { return nil }
        return UserID(hexadecimal: String(segments[3]))
    }
}
