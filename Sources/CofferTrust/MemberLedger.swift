package import CofferFormat

/// The members of a vault, with the epochs of its key.
package typealias MemberChain = TrustChain<MemberLedger>

/// What a member chain amounts to.
package struct MemberLedger: Sendable {
    /// Somebody who is in the vault.
    package struct Member: Equatable, Sendable {
        /// Who it is.
        package let identity: IdentityID
        /// What it may do.
        package internal(set) var role: Role
        /// The link of its identity chain that the member chain knows of.
        package internal(set) var head: LinkHead
        /// The keys after that link; nil if it revoked the identity, which then may do nothing.
        package internal(set) var keys: IdentityPublicKeys?
        /// The link that made it a member.
        package let joined: UInt64
        /// The link whose wrap set has the present epoch's key for it.
        package internal(set) var granted: UInt64
    }

    /// A wrap set that a link of the present epoch names.
    package struct Grant: Equatable, Sendable {
        /// The link.
        package let sequence: UInt64
        /// The set.
        package let wraps: WrapSetHash
        /// Who signed the link, and must have signed the set.
        package let signer: SigningPublicKey
        /// For whom the set must have a wrap.
        package let identities: Set<IdentityID>
    }

    /// How an epoch began.
    package struct Beginning: Equatable, Sendable {
        /// The epoch.
        package let epoch: Epoch
        /// Tells its key from any other.
        package let commitment: EpochCommitment
        /// The key of the epoch before, sealed; nil for the first.
        package let sealedPrevious: [UInt8]?
        /// The link that began it.
        package let sequence: UInt64
    }

    /// Why the present epoch's key is known to somebody who should not have the next one's.
    package enum RotationReason: Hashable, Sendable {
        /// A member has left.
        case left(IdentityID)
        /// A member's identity is revoked.
        case revoked(IdentityID)
        /// A member has other identity keys than the wraps were made for.
        case keysRolled(IdentityID)
    }

    /// A removal, for the receipt.
    package struct Removal: Equatable, Sendable {
        /// Who was removed.
        package let identity: IdentityID
        /// Who removed.
        package let remover: IdentityID
        /// The link.
        package let sequence: UInt64
        /// When, in nanoseconds since 1970, by the remover's clock.
        package let time: Int64
        /// The first epoch whose key the removed member does not have.
        package let epoch: Epoch
        /// The last commits of the removed member that count.
        package let bounds: LogBounds
        /// Whether it had left by itself before, and this bounds what it wrote.
        package let hasLeft: Bool
    }

    /// A restore of the storage that somebody entitled has announced.
    package struct Restore: Equatable, Sendable {
        /// Who announced.
        package let announcer: IdentityID
        /// The link.
        package let sequence: UInt64
        /// When, in nanoseconds since 1970, by the announcer's clock.
        package let time: Int64
        /// The last commits that the storage has.
        package let bounds: LogBounds
    }

    /// Who is a member now, by identity.
    package internal(set) var members: [IdentityID: Member] = [:]
    /// All epochs, from 1.
    package internal(set) var beginnings: [Beginning] = []
    /// The wrap sets of the present epoch, in the order of their links.
    package internal(set) var grants: [Grant] = []
    /// Why the next admin must rotate the key; empty if nothing is owed.
    package internal(set) var owed: Set<RotationReason> = []
    /// Those who have left by themselves, with the roles that they had: nobody else has said yet which of their commits
    /// count.
    package internal(set) var left: [IdentityID: Role] = [:]
    /// How many epochs everybody has begun who ever was a member.
    package internal(set) var epochCounts: [IdentityID: Int] = [:]
    /// All removals, in order.
    package internal(set) var removals: [Removal] = []
    /// All restores, in order.
    package internal(set) var restores: [Restore] = []
    /// What everybody who ever was a member was, and from which link on.
    var standings: [IdentityID: [Standing]] = [:]
    var heads: [IdentityID: LinkHead] = [:]
    var usedInvites: Set<InviteID> = []
    private var signers: [SigningPublicKey: IdentityID] = [:]

    /// Before link 0.
    package init(chain: ChainID) {}

    /// The epoch that new data is sealed under; nil without link 0.
    package var epoch: Epoch? { beginnings.last?.epoch }

    /// The members with valid keys, in order: those who get a wrap of the next epoch's key.
    package var recipients: [Member] {
        members.values.filter { $0.keys != nil }.sorted { $0.identity < $1.identity }
    }

    /// Who signs with a key; nil if no member does.
    package func member(signing key: SigningPublicKey) -> Member? {
        signers[key].flatMap { members[$0] }
    }

    /// Whether a member has a right.
    ///
    /// While no owner has valid keys, admins have the rights of owners, so that no vault is without anybody who
    /// can manage it.
    package func may(_ identity: IdentityID, _ permission: Permission) -> Bool {
        guard let member = members[identity], member.keys != nil else { return false }
        return member.role.may(permission)
            || (member.role == .admin && owners.isEmpty && Role.owner.may(permission))
    }

    /// Whether somebody may remove a member, or say which commits count of one that has left.
    package func may(_ identity: IdentityID, remove other: IdentityID) -> Bool {
        guard identity != other, let permission = permission(toRemove: other) else { return false }
        return may(identity, permission)
    }

    /// What is needed to remove a member, or to bound one that has left; nil for who is neither.
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

    /// Owners with valid keys.
    var owners: [Member] { recipients.filter { $0.role == .owner } }

    /// Puts a member in, or changes it, and keeps what signs for it.
    mutating func set(_ member: Member) throws(TrustError) {
        if let key = members[member.identity]?.keys?.signing { signers[key] = nil }
        if let key = member.keys?.signing {
            guard signers[key] == nil else { throw .keyInUse }
            signers[key] = member.identity
        }
        members[member.identity] = member
        heads[member.identity] = member.head
    }

    /// Takes a member out.
    mutating func drop(_ identity: IdentityID) {
        if let key = members.removeValue(forKey: identity)?.keys?.signing { signers[key] = nil }
    }
}
