internal import CofferCrypto
internal import CofferFormat

extension TrustError: CustomStringConvertible {
    /// Part of a sentence, without a full stop.
    package var description: String {
        switch self {
        case .format(let error): "it is damaged: \(error)"
        case .crypto: "a seal does not open, or a key is weak"
        case .wrongSignature(let purpose): "a signature (\(purpose.rawValue)) is not by who must have made it"
        case .tooManyTransientKeys:
            "as many transient keys were made as can be kept; the old ones go in a month"
        case .notAnInvite: "the text is no invite, or was not copied whole"
        case .newerInvite: "the invite was made by a newer Coffer; update this one"
        case .unfitURL: "the remote's URL cannot stand in an invite"
        case .tooManyInvites: "as many invites are open as there can be; withdraw one"
        case .noSuchInvite: "no invite of that id is open"
        case .inviteExpired: "the invite has expired"
        case .inviteWithdrawn: "the invite was withdrawn"
        case .inviteUsed: "the invite was used before"
        case .notACard: "the text is no identity card, or was not copied whole"
        default: linkText ?? memberText
        }
    }

    /// What is wrong with a link, or with who made it.
    private var linkText: String? {
        switch self {
        case .otherChain: "the link is of another chain"
        case .gap(let expected, let found): "link \(expected) is missing in front of link \(found)"
        case .wrongHash: "the link's hash is not that of its bytes"
        case .notLinked(let sequence): "link \(sequence) follows another one than is known"
        case .fork: "there are two links at one place"
        case .shorterChain(let known, let offered):
            "there are \(offered) links, and there were \(known): links are kept back"
        case .wrongPlace: "the link is in the wrong place"
        case .signerNotTrusted, .signerNotMember: "who signed it had no say at that point"
        case .usedBefore: "a device or key was there before, and none comes back"
        case .noSuchDevice: "the device is not trusted"
        case .lastDevice: "no device would be left"
        case .identityRevoked: "the identity was revoked"
        case .identityMissing(let identity): "identity \(identity) is not at hand"
        case .identityHeadDiffers(let identity): "identity \(identity) has another history"
        default: nil
        }
    }

    /// What is wrong with a change of the members, or with their keys.
    private var memberText: String {
        switch self {
        case .missingRight(let permission): "the role does not have the right: \(permission.rawValue)"
        case .notMember(let identity): "\(identity) is no member"
        case .alreadyMember(let identity): "\(identity) is a member already"
        case .leftUnbounded(let identity): "\(identity) has left, and is to be removed before it comes back"
        case .keyInUse: "another member signs with this key"
        case .tooManyMembers: "the vault has as many members as it can have"
        case .nothingNew: "nothing would change"
        case .lastOwner: "the vault would have no owner: name a successor"
        case .wrongSuccessor: "the successor is not needed, or cannot be one"
        case .cannotRemoveSelf: "who goes must leave: coffer member leave"
        case .wrongEpoch(let expected, let found):
            "the next key is number \(expected.number), and not \(found.number)"
        case .notYetValid: "a key is not valid yet: a clock may be wrong"
        case .unknownSuite(let number): "keys are wrapped in way \(number): a newer Coffer is needed"
        case .wrongKey(let epoch): "key \(epoch.number) is not the one that the members agreed on"
        case .notKept: "the key could not be kept on this device"
        default: "the keys do not fit the members"
        }
    }
}
