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

    /// Fetches the links of the member chain behind the last one that is known, one after the other: a listing may lag
    /// behind, an object that is there cannot be denied for long.
    func pullMembers() async throws(SyncError) {
        notes.removeAll { if case .memberLink = $0 { true } else { false } }
        var rows: [KeptChange] = []
        do throws(SyncError) {
            while let bytes = try await fetchLink(layout.member(chain.nextSequence)) {
                let sequence = chain.nextSequence
                guard try await appendMember(bytes) else { break }
                rows.append(KeptChange(KeptRow.Key(.memberLink, number: sequence), bytes))
                // What waited for want of a link may be right now.
                stops = stops.filter { $0.value.problem.isFinal }
                forgetRestoredForks()
                guard rows.count >= Self.linkBatchCountMax else { continue }
                try await save(rows)
                rows = []
            }
        } catch {
            // What was taken is saved: with a gap in what was saved, nothing could be taken up any more.
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

    /// Verifies a link; false if it is not to be had, or not right.
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

    /// Fetches what is new of an identity, wherever beside the vault it lies.
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
            // What is no link of this identity keeps nobody else from being known.
            guard (try? known.append(bytes)) == .added else { break }
            rows.append(KeptChange(KeptRow.Key(.identityLink, id: user.bytes, number: sequence), bytes))
        }
        guard !rows.isEmpty else { return }
        let saved = rows
        try await asking { () async throws(ReplicaError) in try await replica.save(saved) }
        identityChains[user] = known
        identities.add(known)
    }

    /// Opens the keys of the present epoch, unless they are open: those that are here may be of a lost side of a fork.
    ///
    /// - Throws: `.membership` for who is no member any more: it has what it had before, and gets nothing new.
    func openKeys() async throws(SyncError) {
        try checkStanding()
        if keyring == nil { keyring = await setup.keys.keyring() }
        guard let beginning = chain.state.beginnings.last, keyring?.current.commitment != beginning.commitment
        else { return }
        try await openWraps()
    }

    /// Opens the wrap of the present epoch's key.
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

    /// As `openKeys`; who has no wrap sees to it that others have a transient key to make one for.
    func openKeysOrPublish() async throws(SyncError) {
        do throws(SyncError) { try await openKeys() } catch {
            if case .keys = error { try await publishOwnIdentity() }
            throw error
        }
    }

    /// What commits are checked with.
    func verifier() throws(SyncError) -> CommitVerifier {
        guard let keyring else { throw .keys(.noWrap) }
        return CommitVerifier(vault: setup.vault, root: setup.root, chain: chain, keyring: keyring)
    }
}

extension RemoteName {
    /// Whose identity an object beside a vault is of; nil if it is of none.
    var user: UserID? {
        guard segments.count >= 4, segments[2] == "identities" else { return nil }
        return UserID(hexadecimal: String(segments[3]))
    }
}
