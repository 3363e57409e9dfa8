internal import CofferFormat
package import CofferTrust

/// The place in the user's profile for invites that have not been used yet.
package protocol InviteBook: Sendable {
    /// The invites to this vault.
    ///
    /// - Throws: `.membership(.profile)`.
    func load() async throws(SyncError) -> OpenInvites
    /// Saves the invites, sealed; they survive a crash once this returns.
    ///
    /// - Throws: `.membership(.profile)`.
    func save(_ invites: OpenInvites) async throws(SyncError)
}

/// Why a change of members fails, or why this user's sync ends.
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
    /// No transient key of a member is available, so nothing can be wrapped for it.
    case noTransientKey(String)
    /// The remote has other links of this user's identity: another device, or a thief, has changed it.
    case identityForked
    /// The identity has newer keys than this device: another device of the user has replaced them.
    case keysReplaced
    /// An object that is not a link of the chain occupies the next link's place; a person has to delete it.
    case blocked(link: UInt64)
    /// Other devices changed the members first in each attempt.
    case contended
    /// The profile could not read or keep the invites.
    case profile(String)
    /// The remote cannot accept the change now; it is saved, and made once the remote can.
    case postponed(String, member: String, because: String)
    /// No change of the members waits for the remote.
    case nothingPending
    /// The change that was to be cancelled has already been made.
    case tookPlace
}

/// A problem with the members that does not stop the sync.
package enum MembershipFinding: Equatable, Sendable {
    /// A request to join is refused: the request's name at the remote, the user's name if known, and why.
    case request(String, name: String?, TrustError)
    /// A request to join was answered, but stays at the remote: its name there, and why.
    case requestStays(String, String)
    /// The wraps do not match the members.
    case wraps(WrapAudit.Finding)
    /// Two links claim one place; this device uses the first one.
    case fork(Fork, ForkVerdict)
    /// A task of this device for the members failed.
    case undone(MembershipError)
    /// The remote lacks a link of the member chain but has later ones, whose effects are unknown here.
    case linkMissing(UInt64)
    /// A member has begun very many epochs. Each costs little, but all of them are kept forever.
    case manyEpochs(String, count: Int)
    /// A requested change is not at the remote yet.
    case postponed(String, member: String)
    /// The remote had lost an object that this device has; this device has put it back.
    case putAgain(String)
}

extension MembershipError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .refused(let error): "the members were not changed: \(Self.sentence(error))"
        case .removed(let name, let link):
            "\(name) has removed you from this vault (link \(link) of the members)"
        case .left: "you have left this vault"
        case .revoked: "your identity is revoked"
        case .noIdentity: "the profile has no identity to be a member with"
        case .taken: "the remote has another vault in this one's place"
        case .noTransientKey(let name):
            "the remote has no valid key of \(name), so the vault's key cannot be encrypted for that member"
        case .identityForked: "the remote has other links of your identity than this device has"
        case .keysReplaced:
            """
            your identity has newer keys than this device, so nothing is sent: another of your devices has replaced \
            them. Get them with “coffer device refresh”, unless this device was revoked
            """
        case .blocked(let link):
            "the remote has an object other than a link in place of link \(link) of the members: delete it"
        case .contended: "other devices are changing the members at the same time: try again"
        case .profile(let reason): "the profile could not read or save its invites: \(reason)"
        case .postponed(let what, _, let reason):
            "\(what) is saved, and will be done once the remote accepts it (\(reason))"
        case .nothingPending: "no change of the members waits for the remote"
        case .tookPlace: "the change has already been made, and cannot be cancelled"
        }
    }

    /// Explains a refusal to the user.
    static func sentence(_ error: TrustError) -> String {
        switch error {
        case .missingRight(let permission): "your role may not \(permission.rawValue)"
        case .notMember: "there is no such member"
        case .alreadyMember: "that identity is already a member"
        case .leftUnbounded:
            "that identity has left, and an owner's or admin's device has yet to say which changes count"
        case .nothingNew: "nothing would change"
        case .lastOwner: "the vault would be left without an owner: name a successor"
        case .wrongSuccessor: "no successor is needed, or that member cannot be the successor"
        case .cannotRemoveSelf: "a member cannot remove itself, but it can leave"
        case .inviteUsed: "the invite was used before"
        case .inviteExpired: "the invite has expired"
        case .inviteWithdrawn: "the invite was withdrawn"
        case .noSuchInvite: "no such invite is open"
        case .tooManyInvites: "too many invites are open"
        case .tooManyMembers: "the vault has as many members as it can have"
        case .identityRevoked: "that identity is revoked"
        case .identityHeadDiffers: "that identity has two histories"
        case .identityMissing: "the remote does not have that identity"
        case .crypto: "it was made without the invite, or altered"
        case .wrongSignature: "its signature is not by the identity that it names"
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
        case .requestStays(let request, let reason):
            "the request to join \(request) has been answered, but cannot be removed from the remote: \(reason)"
        case .wraps(let finding): Self.sentence(finding)
        case .fork(let fork, _):
            "two links claim place \(fork.sequence) of the members: \(fork.known.hash), which this device "
                + "uses, and \(fork.other.hash)"
        case .undone(let error): error.description
        case .manyEpochs(let name, let count):
            "\(name) has changed the vault's key \(count) times: remove a member that does so needlessly"
        case .postponed(let what, _): "\(what) waits until the remote accepts it"
        case .linkMissing(let sequence):
            """
            link \(sequence) of the members is not at the remote, and later ones are: a device that has it \
            puts it back when it syncs
            """
        case .putAgain(let what): "the remote had lost \(what): this device has put it back"
        }
    }

    private static func sentence(_ finding: WrapAudit.Finding) -> String {
        switch finding {
        case .setMissing(let hash, let link):
            "the vault keys granted by link \(link) are not at the remote: \(hash)"
        case .setWithoutLink(let hash): "the remote has vault keys that no link grants: \(hash)"
        case .setDoesNotFit(let hash, let link):
            "the vault keys do not match link \(link), which grants them: \(hash)"
        case .memberWithoutWrap(let identity):
            "the member \(identity) lacks this epoch's key: it gets it once its device has published a key"
        case .strangerWithWrap(let identity, let link):
            "link \(link) grants keys to \(identity), which should have none: change the vault's key"
        case .rotationOwed(.left): "a member has left: an owner's or admin's device will change the key"
        case .rotationOwed(.revoked):
            "a member's identity is revoked: an owner's or admin's device will change the key"
        case .rotationOwed(.keysRolled):
            "a member has new identity keys: an owner's or admin's device will change the key"
        }
    }
}
