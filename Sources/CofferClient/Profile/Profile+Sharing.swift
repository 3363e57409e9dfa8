internal import CofferCrypto
internal import CofferFormat
internal import CofferSystem
internal import CofferTrust
internal import CofferVault

// What a profile keeps of vaults that others have, too.
extension Profile {
    /// The keys of the person and of this machine.
    var identityKeys: IdentityKeys { state.withLock { $0.body.identity } }

    /// What others know of the person; made if it was not needed before, and its transient key rolled if it is time.
    func publicIdentity() throws(ProfileError) -> PublicIdentity {
        let (known, keys) = state.withLock { ($0.body.publicIdentity, $0.body.identity) }
        let present: PublicIdentity?
        do throws(TrustError) {
            present =
                if let known { try known.rolled(by: keys, at: Clock.realTime) } else {
                    try PublicIdentity(founding: keys, at: Clock.realTime)
                }
        } catch {
            throw .trust(error)
        }
        if let present { return try keep(present, instead: known) }
        guard let known else { throw .trust(.wrongPlace) }
        return known
    }

    /// Has others wrap keys for a new transient key from now on, as soon as it is at the remotes.
    ///
    /// The old one is kept as long as there may be wraps by it.
    func rollTransientKey() throws(ProfileError) {
        let known = try publicIdentity()
        let rolled: PublicIdentity
        do throws(TrustError) {
            rolled = try known.rolledNow(by: identityKeys, at: Clock.realTime)
        } catch {
            throw .trust(error)
        }
        _ = try keep(rolled, instead: known)
    }

    private func keep(
        _ identity: PublicIdentity, instead known: PublicIdentity?
    ) throws(ProfileError) -> PublicIdentity {
        var kept = identity
        try change { state throws(ProfileError) in
            // Somebody may have made or rolled it meanwhile.
            if let other = state.body.publicIdentity, other.transient.key != known?.transient.key {
                kept = other
            } else {
                state.body.publicIdentity = identity
            }
        }
        return kept
    }

    /// The person's card, to be handed to others.
    func identityCard() throws(ProfileError) -> IdentityCard {
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

    /// All vaults that have a remote, or had one.
    var shares: [VaultShare] { state.withLock { $0.body.shares } }

    /// What is kept of a vault that has a remote; nil for one that has none.
    func share(of vault: VaultID) -> VaultShare? {
        state.withLock { $0.body.shares.first { $0.vault == vault } }
    }

    /// Keeps that a vault has a remote, or has it elsewhere.
    func setShare(_ share: VaultShare) throws(ProfileError) {
        try change { state throws(ProfileError) in
            state.body.shares.removeAll { $0.vault == share.vault }
            state.body.shares.append(share)
        }
    }

    /// Keeps that a vault has no remote at present, and this device's log in it, should it get one again.
    func giveUpShare(of vault: VaultID) throws(ProfileError) {
        try change { state throws(ProfileError) in
            guard let index = state.body.shares.firstIndex(where: { $0.vault == vault }) else { return }
            state.body.shares[index].url = ""
            if let use = state.body.uses.firstIndex(where: { $0.vault == vault }) {
                state.body.uses[use].isForReading = false
                state.body.uses[use].isBeingDeleted = false
                if state.body.uses[use].isUsual { state.body.uses.remove(at: use) }
            }
        }
    }

    /// Changes the invites that nobody has used.
    func changeInvites(
        of vault: VaultID, _ edit: (inout OpenInvites) throws(TrustError) -> Void
    ) throws(ProfileError) {
        try change { state throws(ProfileError) in
            guard let index = state.body.shares.firstIndex(where: { $0.vault == vault }) else { return }
            do throws(TrustError) { try edit(&state.body.shares[index].invites) } catch {
                throw .trust(error)
            }
        }
    }

    /// Begins another log of this device in a shared vault: nothing that is added to the one before counts.
    ///
    /// - Returns: Its id, once it is kept; nil if the vault is not shared any more.
    func beginLog(in vault: VaultID) throws(ProfileError) -> LogID? {
        let log = LogID(low: Random.number(), high: Random.number())
        var isKept = false
        try change { state throws(ProfileError) in
            guard let index = state.body.shares.firstIndex(where: { $0.vault == vault }) else { return }
            state.body.shares[index].log = log
            isKept = true
        }
        return isKept ? log : nil
    }

    /// The keys of a vault, by epoch, and those of lost sides of forks of its members.
    func setKeys(_ keys: [EpochKey], lost: [EpochKey], of vault: VaultID) throws(ProfileError) {
        try change { state throws(ProfileError) in
            guard let index = state.body.vaults.firstIndex(where: { $0.id == vault }) else { return }
            state.body.vaults[index] = state.body.vaults[index].with(keys, lost: lost)
        }
    }

    // MARK: Joining

    /// Vaults that are to be joined.
    var joins: [PendingJoin] { state.withLock { $0.body.joins } }

    /// Keeps that a vault is to be joined.
    ///
    /// - Throws: `.hasVault`.
    func add(_ join: PendingJoin) throws(ProfileError) {
        try change { state throws(ProfileError) in
            if let known = state.body.vaults.first(where: { $0.id == join.invite.vault }) {
                throw .hasVault(name: known.name)
            }
            state.body.joins.removeAll { $0.invite.vault == join.invite.vault }
            state.body.joins.append(join)
        }
    }

    /// Forgets that a vault is to be joined.
    func removeJoin(_ vault: VaultID) throws(ProfileError) {
        try change { state throws(ProfileError) in state.body.joins.removeAll { $0.invite.vault == vault } }
    }
}

// Which identities the person has compared aloud.
extension Profile {
    /// Whether the words of an identity were compared, and the same.
    func hasVerified(_ identity: IdentityID) -> Bool {
        state.withLock { $0.body.verified.contains(identity) }
    }

    /// All of them.
    var verified: Set<IdentityID> { state.withLock { Set($0.body.verified) } }

    /// What somebody was called when the words were compared; nil for who was not compared, or had no name.
    func verifiedName(of identity: IdentityID) -> String? {
        state.withLock { $0.body.verifiedNames[identity] }
    }

    /// Remembers that the words of an identity were compared, and the same, and the name that it had.
    func noteVerified(_ identity: IdentityID, called name: String?) throws(ProfileError) {
        if hasVerified(identity), verifiedName(of: identity) == name { return }
        try change { state throws(ProfileError) in
            if !state.body.verified.contains(identity) { state.body.verified.append(identity) }
            state.body.verifiedNames[identity] = name
        }
    }
}
