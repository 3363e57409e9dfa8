package import CofferCrypto
package import CofferFormat

/// A link that gives keys, with the wrap set that must be at the remote before it.
package struct KeyedLink: Sendable {
    /// The link, which no chain contains yet.
    package let link: [UInt8]
    /// The wrap set that the link names; to be stored first.
    package let wraps: WrapSet
    /// The key that the set contains.
    package let key: EpochKey
}

extension TrustChain where State == MemberLedger {
    /// Makes link 0, which turns a local vault into a shared one; its key becomes that of epoch 1.
    ///
    /// - Throws: `.wrongEpoch`, `.otherChain` for a key of another vault, and whatever `append` would throw.
    package func creating(
        _ key: EpochKey, by creator: Recipient, signing: borrowing SigningKey, at time: Int64,
        knowing identities: KnownIdentities
    ) throws(TrustError) -> KeyedLink {
        guard key.epoch == .first else { throw .wrongEpoch(expected: .first, found: key.epoch) }
        guard ChainID(key.vault) == id else { throw .otherChain }
        let wraps = try WrapSet.sealing(key, for: [creator], by: signing)
        let operation = MemberOperation.createVault(
            creator: creator.identity, head: try head(of: creator, identities), commitment: key.commitment,
            wraps: wraps.hash)
        return KeyedLink(
            link: try link(operation, at: time, by: signing, knowing: identities), wraps: wraps, key: key)
    }

    /// Makes a link that adds a member, and wraps the current epoch's key for it.
    ///
    /// - Throws: `.wrongKey` if the keyring does not have the current epoch, and whatever `append` would
    ///   throw.
    package func adding(
        _ recipient: Recipient, role: Role, invite: InviteID?, keyring: Keyring,
        signing: borrowing SigningKey, at time: Int64, knowing identities: KnownIdentities
    ) throws(TrustError) -> KeyedLink {
        let key = try current(of: keyring)
        let wraps = try WrapSet.sealing(key, for: [recipient], by: signing)
        let operation = MemberOperation.addMember(
            recipient.identity, head: try head(of: recipient, identities), role: role, invite: invite,
            wraps: wraps.hash)
        return KeyedLink(
            link: try link(operation, at: time, by: signing, knowing: identities), wraps: wraps, key: key)
    }

    /// Makes a link that removes a member and begins the next epoch.
    ///
    /// - Parameters:
    ///   - bounds: The last commit that counts of each of the member's logs. Of a log that is omitted, no
    ///     commit counts that names an earlier link.
    ///   - recipients: The members after the link, with valid keys. A member who is omitted does not get the
    ///     key of the next epoch, but a later epoch can include them again.
    /// - Throws: `.wrongRecipients`, `.identityHeadDiffers` for a recipient whose new keys the chain does not
    ///   know yet (record them first), `.wrongKey`, and whatever `append` would throw.
    package func removing(
        _ identity: IdentityID, bounds: LogBounds, recipients: [Recipient], keyring: Keyring,
        signing: borrowing SigningKey, at time: Int64, knowing identities: KnownIdentities
    ) throws(TrustError) -> KeyedLink {
        let next = try nextEpoch(keyring, recipients, without: identity, signing)
        let operation = MemberOperation.removeMember(identity, start: next.start, bounds: bounds)
        return KeyedLink(
            link: try link(operation, at: time, by: signing, knowing: identities), wraps: next.wraps,
            key: next.key)
    }

    /// Makes a link that begins the next epoch, so that rotation is no longer owed.
    ///
    /// - Throws: Like `removing`.
    package func rotating(
        recipients: [Recipient], keyring: Keyring, signing: borrowing SigningKey, at time: Int64,
        knowing identities: KnownIdentities
    ) throws(TrustError) -> KeyedLink {
        let next = try nextEpoch(keyring, recipients, without: nil, signing)
        return KeyedLink(
            link: try link(.rotateKey(start: next.start), at: time, by: signing, knowing: identities),
            wraps: next.wraps, key: next.key)
    }

    /// The wrap set that has the current epoch's key for a member; nil if the identity is not a member.
    package func wraps(for identity: IdentityID) -> WrapSetHash? {
        guard let member = state.members[identity] else { return nil }
        return state.grants.first { $0.sequence == member.granted }?.wraps
    }

    /// Opens all keys that a member has.
    ///
    /// - Parameters:
    ///   - wraps: The set that `wraps(for:)` names.
    ///   - known: A keyring that was opened before.
    /// - Throws: `.noWrap` if it is another set, or has no wrap for the member; `.crypto`, `.wrongKey`, …
    package func keyring(
        opening wraps: WrapSet, for identity: IdentityID, agreement: borrowing AgreementKey,
        transient: borrowing AgreementKey, known: Keyring? = nil
    ) throws(TrustError) -> Keyring {
        guard wraps.hash == self.wraps(for: identity) else { throw .noWrap }
        guard ChainID(wraps.record.vault) == id else { throw .otherChain }
        let key = try wraps.open(for: identity, agreement: agreement, transient: transient)
        return try Keyring(opening: key, of: self, known: known)
    }

    private func nextEpoch(
        _ keyring: Keyring, _ recipients: [Recipient], without removed: IdentityID?,
        _ signing: borrowing SigningKey
    ) throws(TrustError) -> (start: MemberOperation.EpochStart, wraps: WrapSet, key: EpochKey) {
        let previous = try current(of: keyring)
        guard previous.epoch.number < .max else { throw .wrongPlace }
        let members = state.recipients.filter { $0.identity != removed }
        let identities = Set(recipients.map(\.identity))
        guard !identities.isEmpty, Set(members.map(\.identity)).isSuperset(of: identities) else {
            throw .wrongRecipients
        }
        // A member that changes the key must get it. Whether the signer is a member is for the chain's rules.
        if let signer = state.member(signing: signing.publicID), signer.identity != removed {
            guard identities.contains(signer.identity) else { throw .wrongRecipients }
        }
        for recipient in recipients where state.members[recipient.identity]?.keys != recipient.keys {
            throw .identityHeadDiffers(recipient.identity)
        }
        let key = EpochKey(vault: previous.vault, epoch: Epoch(previous.epoch.number + 1), key: .random())
        let wraps = try WrapSet.sealing(key, for: recipients, by: signing)
        let start = MemberOperation.EpochStart(
            epoch: key.epoch, commitment: key.commitment, sealedPrevious: key.seal(previous: previous),
            wraps: wraps.hash)
        return (start, wraps, key)
    }

    private func current(of keyring: Keyring) throws(TrustError) -> EpochKey {
        let key = keyring.current
        guard ChainID(key.vault) == id else { throw .otherChain }
        guard let beginning = state.beginnings.last, beginning.epoch == key.epoch,
            beginning.commitment == key.commitment
        else { throw .wrongKey(key.epoch) }
        return key
    }

    private func head(
        of recipient: Recipient, _ identities: KnownIdentities
    ) throws(TrustError) -> LinkHead {
        guard let chain = identities[recipient.identity], let head = chain.head else {
            throw .identityMissing(recipient.identity)
        }
        guard chain.state.current == recipient.keys else { throw .identityHeadDiffers(recipient.identity) }
        return head
    }
}
