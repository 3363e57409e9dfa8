internal import CofferCrypto
internal import CofferFormat
internal import CofferRemote
internal import CofferTrust

// Identities, and the keys that others wrap for.
extension SyncEngine {
    /// Fetches several objects; those that are absent or too long are left out.
    func fetchAll(
        _ names: [RemoteName], byteCountMax: Int
    ) async throws(SyncError) -> [RemoteName: [UInt8]] {
        let results = await remote.fetchAll(names, named: { $0 }, byteCountMax: byteCountMax)
        var fetched: [RemoteName: [UInt8]] = [:]
        for (name, result) in results {
            let content = try await reaching { () throws(RemoteError) in try result.get() }
            guard case .bytes(let bytes) = content else { continue }
            status.progress.bytesFetched += bytes.count
            fetched[name] = bytes
        }
        return fetched
    }

    /// An identity's name, from its commits or its card, or otherwise the first words of its fingerprint.
    func name(of identity: IdentityID) -> String {
        knownName(of: identity)
            ?? "identity " + Fingerprint(of: identity).words.prefix(3).joined(separator: " ")
    }

    func knownName(of identity: IdentityID) -> String? {
        if identity == ownIdentity { return setup.introduction.name }
        let log = logs.values.filter { $0.author == identity }.min { $0.log < $1.log }
        return log?.introduction.name ?? user(of: identity).flatMap { duties.cards[$0]?.name }
    }

    func user(of identity: IdentityID) -> UserID? {
        identities[identity].map { UserID(low: $0.id.low, high: $0.id.high) }
    }

    /// The members that get wraps of the next epoch's key, with their newest transient keys.
    ///
    /// A member without a transient key signed by its current identity key is left out, so that nobody can
    /// block a change of the key by having none. It gets a wrap in a later epoch (`wrapForThoseWithout`).
    ///
    /// - Throws: `.membership(.noTransientKey)` if this user has none.
    func recipients(without removed: IdentityID?) async throws(SyncError) -> [Recipient] {
        var chains: [IdentityChain] = []
        for member in chain.state.recipients where member.identity != removed {
            guard let identity = identities[member.identity] else {
                throw .membership(.refused(.identityMissing(member.identity)))
            }
            chains.append(identity)
        }
        let keys = try await transientKeys(of: chains)
        var recipients: [Recipient] = []
        for identity in chains {
            guard let id = identity.identity, let key = keys[id] else {
                guard identity.identity != ownIdentity else {
                    throw .membership(.noTransientKey(name(of: ownIdentity)))
                }
                continue
            }
            recipients.append(try ruling { () throws(TrustError) in try Recipient(identity, key) })
        }
        return recipients
    }

    /// Begins an epoch for members that had no transient key when the current one began, once they have one.
    ///
    /// The other members' transient keys are fetched and kept as well, so that deleting them later leaves
    /// nobody out. A set of wraps that is merely missing at the storage is no reason: this device must have a
    /// set that has no wrap for the member.
    func wrapForThoseWithout() async throws(SyncError) {
        let chains = chain.state.recipients.compactMap { identities[$0.identity] }
        let keys = try await transientKeys(of: chains)
        func isNeeded() -> Bool {
            chain.state.recipients.contains { member in
                guard keys[member.identity] != nil,
                    let set = chain.wraps(for: member.identity).flatMap({ duties.keptWraps[$0] })
                else { return false }
                return set[member.identity] == nil
            }
        }
        if isNeeded() { try await rotateKey(while: isNeeded) }
    }

    /// The transient keys to wrap with: for each identity the newest one ever seen.
    ///
    /// So the storage can neither bring back an older key, nor block a change of the key by deleting keys.
    func transientKeys(of chains: [IdentityChain]) async throws(SyncError) -> [IdentityID: TransientKey] {
        let names = chains.map { layout.transientKey($0.id) }
        let fetched = try await fetchAll(names, byteCountMax: TransientKeyRecord.byteCount)
        let own = await setup.card()
        var keys: [IdentityID: TransientKey] = [:]
        var rows: [KeptChange] = []
        for chain in chains {
            guard let identity = chain.identity else { continue }
            let user = UserID(low: chain.id.low, high: chain.id.high)
            let kept = duties.cards[user]
            var candidates = [kept?.transient, fetched[layout.transientKey(chain.id)]].compactMap { bytes in
                bytes.flatMap { try? TransientKey($0, of: chain) }
            }
            if identity == ownIdentity, let own { candidates.append(own.transient) }
            guard let key = TransientKey.choice(from: candidates, at: time) else { continue }
            keys[identity] = key
            if key.record.bytes != kept?.transient {
                rows.append(keep(KeptCard(transient: key.record.bytes, name: kept?.name), of: user))
            }
        }
        let saved = rows
        if !saved.isEmpty {
            try await asking { () async throws(ReplicaError) in try await replica.save(saved) }
        }
        return keys
    }

    private func keep(_ card: KeptCard, of user: UserID) -> KeptChange {
        duties.cards[user] = card
        return KeptChange(KeptRow.Key(.memberCard, id: user.bytes), card.bytes)
    }

    // MARK: Putting identities beside the vault

    /// Puts an identity chain and a transient key beside the vault, and adds them to what this device knows.
    ///
    /// This happens before the link that names the identity, which could not be verified without it.
    func publish(_ card: IdentityCard) async throws(SyncError) {
        let user = UserID(low: card.identity.id.low, high: card.identity.id.high)
        // The remote's version may be newer than the card.
        try await pullIdentity(user)
        guard let identity = card.identity.identity, identities.add(card.identity),
            let chain = identities[identity]
        else { throw .membership(.identityForked) }
        let published = PublishedIdentity(chain: chain, transient: card.transient, layout: layout)
        try await published.put(at: remote)
        identityChains[user] = chain
        var rows = chain.links.map {
            KeptChange(KeptRow.Key(.identityLink, id: user.bytes, number: $0.sequence), $0.bytes)
        }
        if published.isValid {
            rows.append(keep(KeptCard(transient: card.transient.record.bytes, name: card.name), of: user))
        }
        let saved = rows
        try await asking { () async throws(ReplicaError) in try await replica.save(saved) }
    }

    /// Fetches the links that a listing shows to be new, of identities that are known.
    func pullListedIdentities() async throws(SyncError) {
        var new: Set<UserID> = []
        try await list(layout.identities) { entries in
            for name in entries.map(\.name) where name.segments.count == 6 && name.segments[4] == "chain" {
                // Only users that are or were members matter here.
                guard let user = name.user, let known = identityChains[user],
                    let sequence = RemoteLayout.sequence(of: name), sequence >= known.nextSequence
                else { continue }
                new.insert(user)
            }
            return .next
        }
        for user in new.sorted() { try await pullIdentity(user) }
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

    /// Makes sure that the remote has this user's identity chain and newest transient key, and that the
    /// member chain names the identity's current keys.
    ///
    /// Asks the remote once after a start, and once after each change.
    func publishOwnCard() async throws(SyncError) {
        guard let card = try await publishOwnIdentity() else { return }
        // An old key must not announce a new one.
        guard card.identity.state.current?.signing == setup.keys.author.signing else { return }
        try await recordKeys(of: ownIdentity)
    }

    /// Records in the member chain the keys that an identity's chain has added, with the commits so far.
    ///
    /// From then on, data signed with older keys does not count.
    func recordKeys(of identity: IdentityID) async throws(SyncError) {
        func isNew() -> Bool {
            guard let member = chain.state.members[identity], let head = identities[identity]?.head else {
                return false
            }
            return head.sequence > member.head.sequence
        }
        guard isNew() else { return }
        try await pullAllLogs()
        try await link { () async throws(SyncError) in
            guard isNew(), let head = identities[identity]?.head else { return nil }
            let operation = MemberOperation.memberKeysRolled(
                identity, head: head, bounds: try bounds(of: identity))
            return PendingLink(link: try link(operation))
        }
    }

    /// A link without wraps, not yet appended to the chain.
    func link(_ operation: MemberOperation) throws(SyncError) -> [UInt8] {
        try ruling { () throws(TrustError) in
            try chain.link(operation, at: time, by: setup.keys.author.key, knowing: identities)
        }
    }

    /// Fetches and applies all commits, so that bounds miss none that they could include.
    func pullAllLogs() async throws(SyncError) {
        if logs.isEmpty, try await takeCheckpoint() { try await load() }
        try await pullLogs(.all)
        if let pullFailure { throw pullFailure }
        publish(.members)
    }
}
