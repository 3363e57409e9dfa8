internal import CofferCrypto
internal import CofferFormat
internal import CofferSync
internal import CofferTrust
internal import CofferVault
internal import Synchronization

/// The keys of one shared vault, stored in the profile.
final class ProfileKeys: VaultKeys {
    let author: RecordAuthor
    private let profile: Profile
    private let vault: VaultID
    /// Called with the keys after each change.
    private let adopt: @Sendable (ContentKeys) -> Void

    /// - Parameter adopt: Called with the new keys; makes the open vault seal with the newest one.
    init(
        of vault: VaultID, in profile: Profile, adopt: @escaping @Sendable (ContentKeys) -> Void
    ) throws(ClientError) {
        let identity = try profile.publicIdentity()
        author = RecordAuthor(identity.id, key: profile.identityKeys.signing.duplicate())
        self.profile = profile
        self.vault = vault
        self.adopt = adopt
    }

    func keyring() async -> Keyring? {
        guard let record = profile.vaults.first(where: { $0.id == vault }) else { return nil }
        return Keyring(kept: record.keys, lost: record.lost)
    }

    func open(_ wraps: WrapSet, of chain: MemberChain, known: Keyring?) async throws(TrustError) -> Keyring {
        let opened = try profile.open(wraps, of: chain, known: known)
        do throws(ClientError) {
            try profile.setKeys(opened.all, lost: opened.lost, of: vault)
        } catch {
            // The engine keeps the old keyring, and opens the wraps again in a later round.
            throw .notKept
        }
        if let keys = ContentKeys(vault: vault, opened.all, lost: opened.lost) { adopt(keys) }
        return opened
    }
}

extension Profile {
    /// Opens a vault's keys with the wrap for this person.
    func open(_ wraps: WrapSet, of chain: MemberChain, known: Keyring?) throws(TrustError) -> Keyring {
        let identity: PublicIdentity
        do throws(ClientError) { identity = try publicIdentity() } catch { throw .noWrap }
        guard let wrap = wraps[identity.id] else { throw .noWrap }
        let name = try KeyWrap.transientKey(of: wrap)
        func open(
            _ agreement: borrowing AgreementKey, _ transient: borrowing AgreementKey
        ) throws(TrustError) -> Keyring {
            try chain.keyring(
                opening: wraps, for: identity.id, agreement: agreement, transient: transient, known: known)
        }
        if let pair = identity.transients.first(where: { $0.key.record.id == name }) {
            return try open(identityKeys.agreement, pair.agreement)
        }
        // Another device of this person may have published a later key.
        if let seed = identity.seed?.ahead(to: name) {
            return try open(identityKeys.agreement, seed.agreement())
        }
        for keys in state.withLock({ $0.body.former }) {
            if let keyring = try keys.withKeys(for: name, open) { return keyring }
        }
        throw .noWrap
    }
}

extension SigningKey {
    /// Copies the key.
    func duplicate() -> SigningKey { seed.withBytes { SigningKey(seed: SecretBytes(copying: $0)) } }
}
