internal import CofferCrypto
internal import CofferFormat
internal import CofferRemote
internal import CofferTrust

// Identities, and the keys that others wrap for.
extension SyncEngine {
    /// Fetches objects: those that are there.
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

    /// What somebody is called: as it says in its commits, or on its card; else the first words of the fingerprint.
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

    /// Those who get wraps of the next epoch's key, with their newest transient keys.
    ///
    /// Whoever has no transient key that its present identity key has signed is left out: nobody can keep the key from
    /// being changed by having none. It gets a wrap of a later epoch (`wrapForThoseWithout`).
    ///
    /// - Throws: `.membership(.noTransientKey)` where this user has none.
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

    /// Begins an epoch for members who have no key of the present one, once they have a transient key: they had none when
    /// it began.
    ///
    /// Of the other members the transient keys are fetched and kept, so that whoever deletes them later leaves nobody
    /// out. What is missing at the storage alone is no reason: a set that says nothing of somebody is in front of it.
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

    /// The transient keys to wrap with: the newest of those that were ever seen, so that nobody who has the storage
    /// can bring up an older one, or keep a key from being changed by deleting them.
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

    /// Puts an identity chain and a transient key beside the vault, and takes them up.
    ///
    /// Nobody can verify a link that names an identity which the remote does not have: it is put before that.
    func publish(_ card: IdentityCard) async throws(SyncError) {
        let user = UserID(low: card.identity.id.low, high: card.identity.id.high)
        // What the remote has may be newer than the card.
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

    /// Fetches what a listing shows to be new of the identities beside the vault.
    func pullListedIdentities() async throws(SyncError) {
        var new: Set<UserID> = []
        try await list(layout.identities) { entries in
            for name in entries.map(\.name) where name.segments.count == 6 && name.segments[4] == "chain" {
                // Only those who are or were members count here.
                guard let user = name.user, let known = identityChains[user],
                    let sequence = RemoteLayout.sequence(of: name), sequence >= known.nextSequence
                else { continue }
                new.insert(user)
            }
            return .next
        }
        for user in new.sorted() { try await pullIdentity(user) }
    }

    /// Sees to it that the remote has this user's identity chain and newest transient key.
    @discardableResult
    func publishOwnIdentity() async throws(SyncError) -> IdentityCard? {
        guard let card = await setup.card(), card.identity.identity == ownIdentity else { return nil }
        if duties.published != card.bytes {
            try await publish(card)
            duties.published = card.bytes
        }
        return card
    }

    /// Sees to it that the remote has this user's identity chain and newest transient key, and the member chain the
    /// identity's present keys; asks the remote once after a start, and once after each change.
    func publishOwnCard() async throws(SyncError) {
        guard let card = try await publishOwnIdentity() else { return }
        // Nobody says with an old key that there is a new one.
        guard card.identity.state.current?.signing == setup.keys.author.signing else { return }
        try await recordKeys(of: ownIdentity)
    }

    /// Names in the member chain the keys that an identity's chain has brought, with the commits so far: what is
    /// signed with older keys from then on does not count.
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

    /// A link without keys; not taken yet.
    func link(_ operation: MemberOperation) throws(SyncError) -> [UInt8] {
        try ruling { () throws(TrustError) in
            try chain.link(operation, at: time, by: setup.keys.author.key, knowing: identities)
        }
    }

    /// Fetches and applies all commits, so that none is left out of bounds that could be in them.
    func pullAllLogs() async throws(SyncError) {
        if logs.isEmpty, try await takeCheckpoint() { try await load() }
        try await pullLogs(.all)
        if let pullFailure { throw pullFailure }
        publish(.members)
    }
}
