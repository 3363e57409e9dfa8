package import CofferFormat

/// The members of a vault, with the epochs of its key.
package typealias MemberChain = TrustChain<MemberLedger>

/// The state that results from a member chain.
package struct MemberLedger: Sendable {
    /// A member of the vault.
    package struct Member: Equatable, Sendable {
        /// The member's identity.
        package let identity: IdentityID
        /// The member's role.
        package internal(set) var role: Role
        /// The last link of its identity chain that the member chain names.
        package internal(set) var head: LinkHead
        /// The keys after that link; nil if it revoked the identity, which then has no rights.
        package internal(set) var keys: IdentityPublicKeys?
        /// The sequence of the link that made it a member.
        package let joined: UInt64
        /// The sequence of the link whose wrap set has the current epoch's key for it.
        package internal(set) var granted: UInt64
    }

    /// A wrap set that a link of the current epoch names.
    package struct Grant: Equatable, Sendable {
        /// The sequence of the link.
        package let sequence: UInt64
        /// The hash of the set.
        package let wraps: WrapSetHash
        /// The key that signed the link, and must have signed the set.
        package let signer: SigningPublicKey
        /// The identities that the link entitles to a wrap.
        package let identities: Set<IdentityID>
    }

    /// The beginning of an epoch.
    package struct Beginning: Equatable, Sendable {
        /// The epoch.
        package let epoch: Epoch
        /// Distinguishes its key from any other.
        package let commitment: EpochCommitment
        /// The key of the epoch before, sealed; nil for the first epoch.
        package let sealedPrevious: [UInt8]?
        /// The sequence of the link that began it.
        package let sequence: UInt64
    }

    /// Why rotation is owed: a person who must not get the next epoch's key may have the current one.
    package enum RotationReason: Hashable, Sendable {
        /// A member has left.
        case left(IdentityID)
        /// A member's identity is revoked.
        case revoked(IdentityID)
        /// A member has other identity keys than those that the wraps were made for.
        case keysRolled(IdentityID)
    }

    /// A removal, for the receipt.
    package struct Removal: Equatable, Sendable {
        /// The identity that was removed.
        package let identity: IdentityID
        /// The identity that removed it.
        package let remover: IdentityID
        /// The sequence of the link.
        package let sequence: UInt64
        /// The time in nanoseconds since 1970, by the remover's clock.
        package let time: Int64
        /// The first epoch whose key the removed member does not have.
        package let epoch: Epoch
        /// The last commits of the removed member that count.
        package let bounds: LogBounds
        /// Whether the member had left on its own before, so that the link only bounds its commits.
        package let hasLeft: Bool
    }

    /// A restore of the storage, announced by a member who had the right to do so.
    package struct Restore: Equatable, Sendable {
        /// The identity that announced it.
        package let announcer: IdentityID
        /// The sequence of the link.
        package let sequence: UInt64
        /// The time in nanoseconds since 1970, by the announcer's clock.
        package let time: Int64
        /// The last commits that the storage has.
        package let bounds: LogBounds
    }

    /// The current members, by identity.
    package internal(set) var members: [IdentityID: Member] = [:]
    /// All epochs, from 1.
    package internal(set) var beginnings: [Beginning] = []
    /// The wrap sets of the current epoch, in the order of their links.
    package internal(set) var grants: [Grant] = []
    /// Why an admin must rotate the key; empty if nothing is owed.
    package internal(set) var owed: Set<RotationReason> = []
    /// Members that have left on their own, with their roles at that time, and whose commits no other member
    /// has bounded since.
    package internal(set) var left: [IdentityID: Role] = [:]
    /// How many epochs each current or former member has begun.
    package internal(set) var epochCounts: [IdentityID: Int] = [:]
    /// All removals, in order.
    package internal(set) var removals: [Removal] = []
    /// All restores, in order.
    package internal(set) var restores: [Restore] = []
    /// How long all devices keep the past, in seconds; 0 for none, −1 for ever; nil if no link says so.
    package internal(set) var historySeconds: Int64?
    /// The standings of each current or former member, in the order of their links.
    var standings: [IdentityID: [Standing]] = [:]
    var heads: [IdentityID: LinkHead] = [:]
    /// Whom each invite admitted.
    var usedInvites: [InviteID: IdentityID] = [:]
    private var signers: [SigningPublicKey: IdentityID] = [:]

    /// The state before link 0.
    package init(chain: ChainID) {}

    /// The epoch under which new data is sealed; nil without link 0.
    package var epoch: Epoch? { beginnings.last?.epoch }

    /// The members with valid keys, by identity: those that get a wrap of the next epoch's key.
    package var recipients: [Member] {
        members.values.filter { $0.keys != nil }.sorted { $0.identity < $1.identity }
    }

    /// The member that signs with a key; nil if there is none.
    package func member(signing key: SigningPublicKey) -> Member? {
        signers[key].flatMap { members[$0] }
    }

    /// Whether a member has a right.
    ///
    /// While no owner has valid keys, admins have the rights of owners, so that every vault can still be
    /// managed.
    package func may(_ identity: IdentityID, _ permission: Permission) -> Bool {
        guard let member = members[identity], member.keys != nil else { return false }
        return member.role.may(permission)
            || (member.role == .admin && owners.isEmpty && Role.owner.may(permission))
    }

    /// Whether a member may remove another one, or bound the commits of one that has left.
    package func may(_ identity: IdentityID, remove other: IdentityID) -> Bool {
        guard identity != other, let permission = permission(toRemove: other) else { return false }
        return may(identity, permission)
    }

    /// The right that is needed to remove a member, or to bound one that has left; nil if the identity is
    /// neither.
    func permission(toRemove identity: IdentityID) -> Permission? {
        guard let member = members[identity] else { return left[identity].map(Self.permission) }
        return member.keys == nil ? .removeMembers : Self.permission(toRemove: member.role)
    }

    private static func permission(toRemove role: Role) -> Permission {
        switch role {
        case .owner: .removeOwners
        case .admin: .removeAdmins
        case .writer, .reader: .removeMembers
        }
    }

    /// The owners with valid keys.
    var owners: [Member] { recipients.filter { $0.role == .owner } }

    /// Adds or changes a member, and records its signing key.
    mutating func set(_ member: Member) throws(TrustError) {
        if let key = members[member.identity]?.keys?.signing { signers[key] = nil }
        if let key = member.keys?.signing {
            guard signers[key] == nil else { throw .keyInUse }
            signers[key] = member.identity
        }
        members[member.identity] = member
        heads[member.identity] = member.head
    }

    /// Removes a member, and its signing key.
    mutating func drop(_ identity: IdentityID) {
        if let key = members.removeValue(forKey: identity)?.keys?.signing { signers[key] = nil }
    }
}
