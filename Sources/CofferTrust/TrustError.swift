package import CofferCrypto
package import CofferFormat

/// Why something is not trusted.
package enum TrustError: Error, Equatable {
    // Records
    /// The bytes are not the expected record.
    case format(FormatError)
    /// A seal does not open, or a public key is weak.
    case crypto(CryptoError)
    /// A signature was not made by the expected key; names what it is for.
    case wrongSignature(SignaturePurpose)

    // Links
    /// The link is of another kind of chain, or of another user or vault.
    case otherChain
    /// Links before this one are missing.
    case gap(expected: UInt64, found: UInt64)
    /// The link's hash does not match its bytes.
    case wrongHash
    /// The link does not follow the link that is known before it.
    case notLinked(sequence: UInt64)
    /// Two links at one place are both valid there; the first one stays.
    case fork(Fork)
    /// The chain ends before a link that is known: the storage withholds links.
    case shorterChain(known: UInt64, offered: UInt64)
    /// The chain has no link 0 yet, or the operation may be only in link 0, or not in link 0.
    case wrongPlace

    // Devices and identities
    /// The signer has no right to sign in this chain at this place.
    case signerNotTrusted
    /// The device or the key was in the chain before, and cannot be added again.
    case usedBefore
    /// The device is not trusted, so it cannot be revoked.
    case noSuchDevice
    /// No device would be left.
    case lastDevice
    /// The identity has no valid keys any longer.
    case identityRevoked
    /// The identity chain is missing, or shorter than the link states: fetch it, and try again.
    case identityMissing(IdentityID)
    /// The identity chain has another link at the place that the link names.
    case identityHeadDiffers(IdentityID)

    // Members
    /// The signer is not a member at this place.
    case signerNotMember
    /// The signer's role does not have the right.
    case missingRight(Permission)
    /// No member has this identity.
    case notMember(IdentityID)
    /// The identity is a member already.
    case alreadyMember(IdentityID)
    /// The identity has left, and no other member has bounded its commits since: remove it before it is added
    /// again.
    case leftUnbounded(IdentityID)
    /// Another member has this signing key.
    case keyInUse
    /// The invite has been used already.
    case inviteUsed
    /// The vault has the largest possible number of members.
    case tooManyMembers
    /// Nothing would change.
    case nothingNew
    /// The vault would have no owner; a successor must be named.
    case lastOwner
    /// A successor is named although none is needed, or the named one is not possible.
    case wrongSuccessor
    /// Members cannot remove themselves; they must leave instead.
    case cannotRemoveSelf
    /// The link has bounds although no member loses the right to write.
    case needlessBounds
    /// The link begins an epoch other than the next one.
    case wrongEpoch(expected: Epoch, found: Epoch)

    // Keys
    /// The transient key is of another identity, or not signed by its current key.
    case transientKeyNotOfIdentity
    /// The transient key would be valid for longer than allowed.
    case validTooLong
    /// The transient key is not valid yet.
    case notYetValid
    /// This version does not know the suite of a wrap: a newer Coffer is needed.
    case unknownSuite(UInt16)
    /// The set has no wrap for this identity.
    case noWrap
    /// The recipients are wrong: none, too many, one twice, one that is not a member, or without the signer.
    case wrongRecipients
    /// The key is not the one that the member chain commits to.
    case wrongKey(Epoch)
    /// The key is right, but could not be stored on this device.
    case notKept

    /// The largest possible number of transient keys is stored; old ones are removed after a month.
    case tooManyTransientKeys

    // Invites
    /// The text is not an invite, or was not copied completely.
    case notAnInvite
    /// A newer Coffer made the invite.
    case newerInvite
    /// The remote's URL contains a password, or is not a URL.
    case unfitURL
    /// The largest possible number of invites is open.
    case tooManyInvites
    /// No open invite has that id.
    case noSuchInvite
    /// The invite has expired.
    case inviteExpired
    /// The maker of the invite has withdrawn it.
    case inviteWithdrawn
    /// The text is not an identity card, or was not copied completely.
    case notACard
}

/// Turns a `FormatError` of `body` into a `TrustError`.
func reading<Result>(
    _ body: () throws(FormatError) -> Result
) throws(TrustError) -> Result {
    do throws(FormatError) { return try body() } catch { throw .format(error) }
}

/// Verifies a signature, and throws a `TrustError` if it is wrong.
func check(
    _ signature: [UInt8], of message: [UInt8], by signer: SigningPublicKey, for purpose: SignaturePurpose
) throws(TrustError) {
    do throws(CryptoError) {
        try SigningKey.verify(signature, of: message, by: signer.bytes, for: purpose)
    } catch {
        throw .wrongSignature(purpose)
    }
}

extension SigningKey {
    /// The public key as an id for others.
    var publicID: SigningPublicKey { SigningPublicKey(publicKey) }
}
