internal import CofferCrypto
internal import CofferFormat
internal import CofferSystem
internal import CofferTrust
internal import CofferVault
internal import Synchronization

// The parts of a profile that sharing needs.
extension Profile {
    /// The person's keys.
    var identityKeys: IdentityKeys { state.withLock { $0.body.identity } }

    /// The person's public identity, created on first use; rolls its transient key when due.
    func publicIdentity() throws(ClientError) -> PublicIdentity {
        let (known, keys) = state.withLock { ($0.body.publicIdentity, $0.body.identity) }
        if let known {
            let rolled: PublicIdentity?
            do throws(TrustError) { rolled = try known.rolled(by: keys, at: Clock.realTime) } catch {
                throw .trust(error)
            }
            if rolled == nil { return known }
        }
        return try changeIdentity { known, keys throws(TrustError) in
            try known.rolled(by: keys, at: Clock.realTime) ?? known
        }
    }

    /// Makes a new transient key, for which others wrap keys as soon as they find it at the remotes.
    ///
    /// The old one is kept as long as there may be wraps for it.
    func rollTransientKey() throws(ClientError) {
        _ = try changeIdentity { known, keys throws(TrustError) in
            try known.rolledNow(by: keys, at: Clock.realTime)
        }
    }

    /// Changes the public identity, which is founded if there is none.
    ///
    /// The change is made to what the profile has then, so that it undoes nothing that another thread has done.
    private func changeIdentity(
        _ edit: (PublicIdentity, IdentityKeys) throws(TrustError) -> PublicIdentity
    ) throws(ClientError) -> PublicIdentity {
        var changed: PublicIdentity?
        try change { state throws(ClientError) in
            let (time, keys) = (Clock.realTime, state.body.identity)
            do throws(TrustError) {
                var known = state.body.publicIdentity
                if known == nil { known = try PublicIdentity(founding: keys, at: time) }
                changed = try known.map { known throws(TrustError) in try edit(known, keys) }
            } catch {
                throw .trust(error)
            }
            state.body.publicIdentity = changed
            state.body.former.removeAll { $0.isOver(at: time) }
        }
        guard let changed else { throw .trust(.wrongPlace) }
        return changed
    }

    /// The person's signed identity card, to give to others.
    func identityCard() throws(ClientError) -> IdentityCard {
        let (identity, keys) = (try publicIdentity(), identityKeys)
        do throws(TrustError) {
            return try IdentityCard.signed(
                name: keys.name, identity: identity.chain, transient: identity.transient.key, by: keys.signing
            )
        } catch {
            throw .trust(error)
        }
    }

    // MARK: Shares

    /// The shares of all vaults that have a remote, or had one.
    var shares: [VaultShare] { state.withLock { $0.body.shares } }

    /// The share of a vault that has a remote, or had one; nil for one that never had.
    func share(of vault: VaultID) -> VaultShare? {
        state.withLock { $0.body.shares.first { $0.vault == vault } }
    }

    /// Records the remote of a vault, or its new place.
    func setShare(_ share: VaultShare) throws(ClientError) {
        try change { state throws(ClientError) in
            state.body.shares.removeAll { $0.vault == share.vault }
            state.body.shares.append(share)
        }
    }

    /// Records that a vault has no remote; keeps this device's log in it, in case it gets a remote again.
    func giveUpShare(of vault: VaultID) throws(ClientError) {
        try change { state throws(ClientError) in
            guard let index = state.body.shares.firstIndex(where: { $0.vault == vault }) else { return }
            state.body.shares[index].url = ""
            if let use = state.body.uses.firstIndex(where: { $0.vault == vault }) {
                state.body.uses[use].isForReading = false
                state.body.uses[use].isBeingDeleted = false
                if state.body.uses[use].isUsual { state.body.uses.remove(at: use) }
            }
        }
    }

    /// Changes the open invites of a vault.
    func changeInvites(
        of vault: VaultID, _ edit: (inout OpenInvites) throws(TrustError) -> Void
    ) throws(ClientError) {
        try change { state throws(ClientError) in
            guard let index = state.body.shares.firstIndex(where: { $0.vault == vault }) else { return }
            do throws(TrustError) { try edit(&state.body.shares[index].invites) } catch {
                throw .trust(error)
            }
        }
    }

    /// Begins a new log of this device in a shared vault; later additions to the old log do not count.
    ///
    /// - Returns: The log's id, once it is on disk; nil if the vault is no longer shared.
    func beginLog(in vault: VaultID) throws(ClientError) -> LogID? {
        let log = LogID(low: Random.number(), high: Random.number())
        var isKept = false
        try change { state throws(ClientError) in
            guard let index = state.body.shares.firstIndex(where: { $0.vault == vault }) else { return }
            state.body.shares[index].log = log
            isKept = true
        }
        return isKept ? log : nil
    }

    /// Stores the keys of a vault, and those of epochs on lost sides of forks of its member chain.
    func setKeys(_ keys: [EpochKey], lost: [EpochKey], of vault: VaultID) throws(ClientError) {
        try change { state throws(ClientError) in
            guard let index = state.body.vaults.firstIndex(where: { $0.id == vault }) else { return }
            state.body.vaults[index] = state.body.vaults[index].with(keys, lost: lost)
        }
    }

    // MARK: Joining

    /// The vaults that the user has asked to join.
    var joins: [PendingJoin] { state.withLock { $0.body.joins } }

    /// Records that the user asks to join a vault; replaces an earlier request for it.
    ///
    /// - Throws: `.hasVault` if the profile already has it.
    func add(_ join: PendingJoin) throws(ClientError) {
        try change { state throws(ClientError) in
            if let known = state.body.vaults.first(where: { $0.id == join.invite.vault }) {
                throw .joining(.hasVault(name: known.name))
            }
            state.body.joins.removeAll { $0.invite.vault == join.invite.vault }
            state.body.joins.append(join)
        }
    }

    /// Removes the request to join a vault.
    func removeJoin(_ vault: VaultID) throws(ClientError) {
        try change { state throws(ClientError) in state.body.joins.removeAll { $0.invite.vault == vault } }
    }
}

// The identities whose words the person has compared aloud.
extension Profile {
    /// Whether the words of an identity were compared and matched.
    func hasVerified(_ identity: IdentityID) -> Bool {
        state.withLock { $0.body.verified.contains(identity) }
    }

    /// All verified identities.
    var verified: Set<IdentityID> { state.withLock { Set($0.body.verified) } }

    /// The name of an identity when its words were compared; nil if it was not compared, or had no name.
    func verifiedName(of identity: IdentityID) -> String? {
        state.withLock { $0.body.verifiedNames[identity] }
    }

    /// Records that the words of an identity were compared and matched, and its name at that time.
    func recordVerified(_ identity: IdentityID, called name: String?) throws(ClientError) {
        if hasVerified(identity), verifiedName(of: identity) == name { return }
        try change { state throws(ClientError) in
            if !state.body.verified.contains(identity) { state.body.verified.append(identity) }
            state.body.verifiedNames[identity] = name
        }
    }
}
