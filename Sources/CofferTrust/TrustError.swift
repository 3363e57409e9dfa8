package import CofferCrypto
package import CofferFormat

/// Why something is not trusted.
package enum TrustError: Error, Equatable {
    // Records
    /// The bytes are not the record that they should be.
    case format(FormatError)
    /// A seal does not open, or a public key is weak.
    case crypto(CryptoError)
    /// A signature is not by who must have made it; says over what.
    case wrongSignature(SignaturePurpose)

    // Links
    /// The link is of another kind of chain, another user or another vault.
    case otherChain
    /// Links are missing in between.
    case gap(expected: UInt64, found: UInt64)
    /// The link's hash is not that of its bytes.
    case wrongHash
    /// The link follows another link than the one that is known in front of it.
    case notLinked(sequence: UInt64)
    /// Two links at one place, both valid there; the first one stays.
    case fork(Fork)
    /// The chain ends before a link that is known: links are kept back.
    case shorterChain(known: UInt64, offered: UInt64)
    /// The chain has no link 0 yet, or the operation may only be in link 0, or not there.
    case wrongPlace

    // Devices and identities
    /// The signer has no say in this chain at this point.
    case signerNotTrusted
    /// The device or key was in the chain before: none comes back.
    case usedBefore
    /// The device is not trusted, so it cannot be revoked.
    case noSuchDevice
    /// No device would be left.
    case lastDevice
    /// The identity has no valid keys any more.
    case identityRevoked
    /// The identity chain is not at hand, or is shorter than the link says: fetch it, and try again.
    case identityMissing(IdentityID)
    /// The identity chain has another link at the place that the link names.
    case identityHeadDiffers(IdentityID)

    // Members
    /// The signer is no member at this point.
    case signerNotMember
    /// The signer's role does not have the right.
    case missingRight(Permission)
    /// Nobody who is a member has this identity.
    case notMember(IdentityID)
    /// The identity is a member already.
    case alreadyMember(IdentityID)
    /// Who is to come back has left, and nobody has said yet which of its commits count.
    case leftUnbounded(IdentityID)
    /// Another member signs with this key.
    case keyInUse
    /// The invite was used before.
    case inviteUsed
    /// The vault has as many members as it can have.
    case tooManyMembers
    /// Nothing would change.
    case nothingNew
    /// The vault would have no owner: a successor must be named.
    case lastOwner
    /// A successor is named where none is needed, or one who cannot be.
    case wrongSuccessor
    /// Who removes itself must leave instead.
    case cannotRemoveSelf
    /// The link bounds logs, although nobody loses the right to write.
    case needlessBounds
    /// The next epoch is another one.
    case wrongEpoch(expected: Epoch, found: Epoch)

    // Keys
    /// The transient key is of another identity, or signed by other than its current key.
    case transientKeyNotOfIdentity
    /// The transient key would be valid for longer than allowed.
    case validTooLong
    /// The transient key is not valid yet.
    case notYetValid
    /// This version does not have that way of wrapping: a newer Coffer is needed.
    case unknownSuite(UInt16)
    /// The set has no wrap for this identity.
    case noWrap
    /// A recipient is there twice, or one is missing, or one too many.
    case wrongRecipients
    /// The key is not the one that the member chain commits to.
    case wrongKey(Epoch)
    /// The key is right, and could not be kept on this device.
    case notKept

    /// As many transient keys were made as can be kept; the old ones go in a month.
    case tooManyTransientKeys

    // Invites
    /// The text is no invite, or was not copied whole.
    case notAnInvite
    /// A newer Coffer made the invite.
    case newerInvite
    /// The remote's URL has a password in it, or is none.
    case unfitURL
    /// As many invites are open as there can be.
    case tooManyInvites
    /// No invite of that id is open.
    case noSuchInvite
    /// The invite has expired.
    case inviteExpired
    /// Who made the invite has withdrawn it.
    case inviteWithdrawn
    /// The text is no identity card, or was not copied whole.
    case notACard
}

/// Runs what may meet wrong bytes, in the words of this layer.
func reading<Result>(
    _ body: () throws(FormatError) -> Result
) throws(TrustError) -> Result {
    do throws(FormatError) { return try body() } catch { throw .format(error) }
}

/// Checks a signature, in the words of this layer.
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
    /// The public key as others know it.
    var publicID: SigningPublicKey { SigningPublicKey(publicKey) }
}
