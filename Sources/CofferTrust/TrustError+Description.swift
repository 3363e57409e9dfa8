internal import CofferCrypto
internal import CofferFormat

extension TrustError: CustomStringConvertible {
    /// A part of a sentence, without a full stop.
    package var description: String {
        switch self {
        case .format(let error): "it is damaged: \(error)"
        case .crypto: "a seal does not open, or a key is weak"
        case .wrongSignature(let purpose):
            "a signature (\(purpose.rawValue)) was not made by the expected key"
        case .tooManyTransientKeys:
            "no more transient keys can be stored; old ones are removed after a month"
        case .notAnInvite: "the text is not an invite, or was not copied completely"
        case .newerInvite: "a newer Coffer made the invite; update this one"
        case .unfitURL: "the remote's URL is not allowed in an invite"
        case .tooManyInvites: "no more invites can be open; withdraw one"
        case .noSuchInvite: "no open invite has that id"
        case .inviteExpired: "the invite has expired"
        case .inviteWithdrawn: "the invite was withdrawn"
        case .inviteUsed: "the invite has been used already"
        case .notACard: "the text is not an identity card, or was not copied completely"
        default: linkText ?? memberText
        }
    }

    /// The text for an error of a link, or of its signer.
    private var linkText: String? {
        switch self {
        case .otherChain: "the link is of another chain"
        case .gap(let expected, let found): "link \(expected) is missing before link \(found)"
        case .wrongHash: "the link's hash does not match its bytes"
        case .notLinked(let sequence): "link \(sequence) does not follow the link that is known before it"
        case .fork: "there are two links at one place"
        case .shorterChain(let known, let offered):
            "there are \(offered) links, but there were \(known): the storage withholds links"
        case .wrongPlace: "the link is in the wrong place"
        case .signerNotTrusted, .signerNotMember: "its signer had no right to sign it"
        case .usedBefore: "a device or key was used before, and cannot be used again"
        case .noSuchDevice: "the device is not trusted"
        case .lastDevice: "no device would be left"
        case .identityRevoked: "the identity was revoked"
        case .identityMissing(let identity): "the identity chain of \(identity) is missing"
        case .identityHeadDiffers(let identity): "the identity chain of \(identity) has a different history"
        default: nil
        }
    }

    /// The text for an error of a change of members, or of their keys.
    private var memberText: String {
        switch self {
        case .missingRight(let permission): "the role does not have the right: \(permission.rawValue)"
        case .notMember(let identity): "\(identity) is not a member"
        case .alreadyMember(let identity): "\(identity) is already a member"
        case .leftUnbounded(let identity):
            "\(identity) has left, and must be removed before being added again"
        case .keyInUse: "another member signs with this key"
        case .tooManyMembers: "the vault has the largest possible number of members"
        case .nothingNew: "nothing would change"
        case .lastOwner: "the vault would have no owner: name a successor"
        case .wrongSuccessor: "a successor is not needed, or this one is not possible"
        case .cannotRemoveSelf: "to remove yourself, use: coffer member leave"
        case .wrongEpoch(let expected, let found):
            "the next key is number \(expected.number), not \(found.number)"
        case .notYetValid: "a key is not valid yet: a clock may be wrong"
        case .unknownSuite(let number): "the key is wrapped with suite \(number): a newer Coffer is needed"
        case .wrongKey(let epoch): "key \(epoch.number) is not the one that the members agreed on"
        case .notKept: "the key could not be stored on this device"
        default: "the keys do not match the members"
        }
    }
}
