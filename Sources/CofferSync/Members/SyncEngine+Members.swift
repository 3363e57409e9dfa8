internal import CofferFormat
internal import CofferRemote
internal import CofferTrust

// Links and keys: fetched, verified, kept.
extension SyncEngine {
    /// The most bytes of a set of wraps: one for each of 4096 members.
    static let wrapsByteCountMax = 1 << 20
    /// The most links of the member chain that are saved at once.
    private static let linkBatchCountMax = 256
    /// The most links that are fetched of one identity chain.
    private static let identityLinkCountMax: UInt64 = 1024

    /// Fetches the links of the member chain after the last known one, one by one.
    ///
    /// Does not rely on a listing, which may lag; an existing object cannot be hidden for long.
    func pullMembers() async throws(SyncError) {
        notes.removeAll { if case .memberLink = $0 { true } else { false } }
        var rows: [KeptChange] = []
        do throws(SyncError) {
            while let bytes = try await fetchLink(layout.member(chain.nextSequence)) {
                let sequence = chain.nextSequence
                guard try await appendMember(bytes) else { break }
                rows.append(KeptChange(KeptRow.Key(.memberLink, number: sequence), bytes))
                // A commit that stopped for lack of a link may be valid now.
                stops = stops.filter { $0.value.problem.isFinal }
                forgetRestoredForks()
                guard rows.count >= Self.linkBatchCountMax else { continue }
                try await save(rows)
                rows = []
            }
        } catch {
            // Links already appended are saved: with a gap among the saved ones, none could be loaded any
            // more.
            try await save(rows)
            throw error
        }
        try await save(rows)
        guard chain.nextSequence > 0 else { throw .noMembers }
    }

    private func save(_ rows: [KeptChange]) async throws(SyncError) {
        guard !rows.isEmpty else { return }
        try await asking { () async throws(ReplicaError) in try await replica.save(rows) }
    }

    func fetchLink(_ name: RemoteName) async throws(SyncError) -> [UInt8]? {
        let fetched = try await reaching { () async throws(RemoteError) in
            try await remote.fetch(name, byteCountMax: LinkRecord.byteCountMax)
        }
        guard case .bytes(let bytes) = fetched else { return nil }
        status.progress.bytesFetched += bytes.count
        return bytes
    }

    /// Verifies and appends a link; returns false if it, or an identity that it names, is missing or invalid.
    private func appendMember(_ bytes: [UInt8]) async throws(SyncError) -> Bool {
        let sequence = chain.nextSequence
        for isLast in [false, true] {
            var missing: IdentityID?
            do throws(TrustError) {
                return try chain.append(bytes, knowing: identities) == .added
            } catch {
                if case .identityMissing(let identity) = error { missing = identity }
                guard missing != nil, !isLast else {
                    note(.memberLink(sequence: sequence, error))
                    return false
                }
            }
            if let missing { try await pullIdentity(of: missing) }
        }
        return false
    }

    /// Fetches new links of an identity, wherever it is beside the vault.
    func pullIdentity(of identity: IdentityID) async throws(SyncError) {
        if let user = user(of: identity) { return try await pullIdentity(user) }
        let (layout, remote) = (layout, remote)
        var search = identitySearch
        try await reaching { () async throws(RemoteError) in
            try await search.look(for: [identity], at: remote, layout)
        }
        identitySearch = search
        if let user = search.users[identity] { try await pullIdentity(user) }
    }

    func pullIdentity(_ user: UserID) async throws(SyncError) {
        var known = identityChains[user] ?? IdentityChain(id: ChainID(user))
        var rows: [KeptChange] = []
        while known.nextSequence < Self.identityLinkCountMax {
            let sequence = known.nextSequence
            guard let bytes = try await fetchLink(layout.identityLink(user, sequence)) else { break }
            // An object that is not a link of this identity must not keep others from being read.
            guard (try? known.append(bytes)) == .added else { break }
            rows.append(KeptChange(KeptRow.Key(.identityLink, id: user.bytes, number: sequence), bytes))
        }
        guard !rows.isEmpty else { return }
        let saved = rows
        try await asking { () async throws(ReplicaError) in try await replica.save(saved) }
        identityChains[user] = known
        identities.add(known)
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
        let name = layout.wraps(epoch: UInt64(epoch.number), hash: hash.bytes)
        let fetched = try await fetchAll([name], byteCountMax: Self.wrapsByteCountMax)[name]
        let found = fetched.flatMap { try? WrapSet($0) }
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
            if case .keys = error { try await publishOwnIdentity() }
            throw error
        }
    }

    /// A verifier for commits, with the links and keys known now.
    func verifier() throws(SyncError) -> CommitVerifier {
        guard let keyring else { throw .keys(.noWrap) }
        return CommitVerifier(vault: setup.vault, root: setup.root, chain: chain, keyring: keyring)
    }
}

extension RemoteName {
    /// The user whose identity the object belongs to; nil if it is not part of an identity.
    var user: UserID? {
        guard segments.count >= 4, segments[2] == "identities" else { return nil }
        return UserID(hexadecimal: String(segments[3]))
    }
}
