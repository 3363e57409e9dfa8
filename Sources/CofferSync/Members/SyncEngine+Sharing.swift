internal import CofferFormat
package import CofferTrust
internal import CofferCrypto
internal import CofferRemote

// Turns a local vault into a shared one.
extension SyncEngine {
    /// Publishes the vault: the format marker, this user's identity, and link 0 with the wrap of the vault's
    /// key.
    ///
    /// Does nothing if this was done before, and continues if it was interrupted. The next round sends the
    /// vault's contents.
    ///
    /// - Parameter key: The vault's current key, which becomes the key of epoch 1.
    /// - Throws: `.membership`: `.noIdentity`, `.taken`, `.identityForked`.
    package func share(_ key: EpochKey) async throws(SyncError) {
        try await alone { () async throws(SyncError) in
            try await load()
            publish(.members)
            guard let card = await setup.card(), card.identity.identity == ownIdentity else {
                throw .membership(.noIdentity)
            }
            _ = try await putNew(layout.format, RemoteFormat(vault: setup.vault).bytes)
            try await publish(card)
            if chain.nextSequence == 0 { try await checkFirstLink(key) }
            try await pullFirstMembers()
            if chain.nextSequence == 0 { try await resumePending() }
            try await link { () async throws(SyncError) in
                guard chain.nextSequence == 0 else { return nil }
                return try ruling { () throws(TrustError) in
                    PendingLink(
                        try chain.creating(
                            key, by: try card.recipient, signing: setup.keys.author.key, at: time,
                            knowing: identities))
                }
            }
            guard chain.state.beginnings.first?.commitment == key.commitment else {
                throw .membership(.taken)
            }
        }
        wakes.wake(.all)
    }

    /// Checks that a first link at the remote is by this user, for this key, before anything of it is
    /// accepted.
    private func checkFirstLink(_ key: EpochKey) async throws(SyncError) {
        guard let bytes = try await fetchLink(layout.member(0)) else { return }
        guard let record = try? LinkRecord(bytes) else { throw .membership(.blocked(link: 0)) }
        let body = record.body
        let operation = try? unsafe MemberOperation(code: record.code, body: body.span.bytes)
        guard case .createVault(ownIdentity, _, key.commitment, _) = operation else {
            throw .membership(.taken)
        }
    }

    /// Fetches the links that the remote has, if any.
    private func pullFirstMembers() async throws(SyncError) {
        do throws(SyncError) { try await pullMembers() } catch {
            guard error == .noMembers else { throw error }
        }
    }
}
