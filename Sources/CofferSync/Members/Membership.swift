internal import CofferFormat
package import CofferTrust

/// Where the user's profile keeps the invites that nobody has used yet.
package protocol InviteBook: Sendable {
    /// The invites to this vault.
    ///
    /// - Throws: `.membership(.profile)`.
    func load() async throws(SyncError) -> OpenInvites
    /// Keeps them, sealed; has survived a crash when it returns.
    ///
    /// - Throws: `.membership(.profile)`.
    func save(_ invites: OpenInvites) async throws(SyncError)
}

/// Why the members of a vault are not changed, or why this user's sync ends.
package enum MembershipError: Error, Equatable {
    /// The rules of the member chain do not allow it.
    case refused(TrustError)
    /// This user was removed: by whom, and by which link.
    case removed(by: String, link: UInt64)
    /// This user has left.
    case left
    /// This user's identity is revoked.
    case revoked
    /// The profile has no identity to be a member with, or no place for invites.
    case noIdentity
    /// The remote has another vault in this one's place.
    case taken
    /// No transient key of a member is to be had, so that nothing can be wrapped for it.
    case noTransientKey(String)
    /// The remote has other links of this user's identity: another device, or a thief, has changed it.
    case identityForked
    /// An object that is no link of the chain is where the next link belongs; it is to be deleted by hand.
    case blocked(link: UInt64)
    /// Others changed the members each time that it was tried.
    case contended
    /// The profile could not read or keep the invites.
    case profile(String)
    /// The remote cannot take it now: it is kept, and done once the remote can.
    case postponed(String, because: String)
    /// No change of the members waits for the remote.
    case nothingPending
    /// What was to be given up has been done.
    case tookPlace
}

/// Something about the members that is not as it should be; the rest goes on.
package enum MembershipFinding: Equatable, Sendable {
    /// A request to join is refused: by its name at the remote, with who asks if that is known.
    case request(String, name: String?, TrustError)
    /// Wraps and members do not agree.
    case wraps(WrapAudit.Finding)
    /// Two links stand at one place; the first one counts for this device.
    case fork(Fork, ForkVerdict)
    /// What this device was to do for the members was not done.
    case undone(MembershipError)
    /// A link of the member chain is not at the remote, and later ones are: what they do is not known here.
    case linkMissing(UInt64)
    /// Somebody has begun very many epochs of the vault's key: what each costs is little, all of them are kept for ever.
    case manyEpochs(String, count: Int)
    /// A change that was asked for is not at the remote yet.
    case postponed(String)
    /// The remote had lost something that this device has: it was put again.
    case putAgain(String)
}

extension MembershipError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .refused(let error): "the members are not changed: \(Self.sentence(error))"
        case .removed(let name, let link):
            "\(name) has removed you from this vault (link \(link) of the members)"
        case .left: "you have left this vault"
        case .revoked: "your identity is revoked"
        case .noIdentity: "the profile has no identity to be a member with"
        case .taken: "the remote has another vault in this one's place"
        case .noTransientKey(let name): "the remote has no valid key of \(name) to wrap the vault's key with"
        case .identityForked: "the remote has other links of your identity than this device"
        case .blocked(let link):
            "an object that is no link is where link \(link) of the members belongs: delete it at the remote"
        case .contended: "others change the members at the same time: try again"
        case .profile(let reason): "the profile's invites: \(reason)"
        case .postponed(let what, let reason):
            """
            \(what) is kept, and will be done as soon as the remote takes it (\(reason)); “coffer member cancel” \
            withdraws it
            """
        case .nothingPending: "no change of the members waits for the remote"
        case .tookPlace: "it has taken place already, and cannot be withdrawn"
        }
    }

    /// What a refusal means, for people.
    static func sentence(_ error: TrustError) -> String {
        switch error {
        case .missingRight(let permission): "your role may not \(permission.rawValue)"
        case .notMember: "there is no such member"
        case .alreadyMember: "that identity is a member already"
        case .leftUnbounded:
            "that identity has left, and an owner's or admin's device has yet to say what counts of it"
        case .nothingNew: "nothing would change"
        case .lastOwner: "the vault would have no owner: name a successor"
        case .wrongSuccessor: "no successor is needed, or that one cannot be it"
        case .cannotRemoveSelf: "who removes itself leaves instead"
        case .inviteUsed: "the invite was used before"
        case .inviteExpired: "the invite has expired"
        case .inviteWithdrawn: "the invite was withdrawn"
        case .noSuchInvite: "no such invite is open"
        case .tooManyInvites: "too many invites are open"
        case .tooManyMembers: "the vault has as many members as it can have"
        case .identityRevoked: "that identity is revoked"
        case .identityHeadDiffers: "that identity has two histories"
        case .identityMissing: "the remote does not have that identity"
        case .crypto: "it was made without the invite, or changed"
        case .wrongSignature: "it is not signed by who it says"
        case .unfitURL: "the remote's URL cannot stand in an invite"
        default: "\(error)"
        }
    }
}

extension MembershipFinding: CustomStringConvertible {
    package var description: String {
        switch self {
        case .request(let request, let name, let error):
            "the request to join \(name.map { "of \($0) " } ?? "")(\(request)) is refused: "
                + MembershipError.sentence(error)
        case .wraps(let finding): Self.sentence(finding)
        case .fork(let fork, _):
            "link \(fork.sequence) of the members is there twice: \(fork.known.hash), which counts here, and "
                + "\(fork.other.hash)"
        case .undone(let error): error.description
        case .manyEpochs(let name, let count):
            "\(name) has changed the vault's key \(count) times: remove who does so without need"
        case .postponed(let what):
            "\(what) waits until the remote takes it; “coffer member cancel” withdraws it"
        case .linkMissing(let sequence):
            """
            link \(sequence) of the members is not at the remote, and later ones are: a device that has it puts it there \
            again when it syncs
            """
        case .putAgain(let what): "the remote had lost \(what): this device has put it there again"
        }
    }

    private static func sentence(_ finding: WrapAudit.Finding) -> String {
        switch finding {
        case .setMissing(let hash, let link):
            "the keys that link \(link) gives are not at the remote: \(hash)"
        case .setWithoutLink(let hash): "keys are at the remote that no link gives: \(hash)"
        case .setDoesNotFit(let hash, let link): "the keys that link \(link) gives are others: \(hash)"
        case .memberWithoutWrap(let identity):
            "the member \(identity) has no key of this epoch: it gets one once its device has put a key to wrap for"
        case .strangerWithWrap(let identity, let link):
            "link \(link) gives keys to \(identity), who should have none: rotate"
        case .rotationOwed(.left): "a member has left: an owner's or admin's device will change the key"
        case .rotationOwed(.revoked):
            "a member's identity is revoked: an owner's or admin's device will change the key"
        case .rotationOwed(.keysRolled):
            "a member has new identity keys: an owner's or admin's device will change the key"
        }
    }
}
