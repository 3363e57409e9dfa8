package import CofferFormat

/// What a member may do in a vault: the one table of rights, which docs/trust.md shows.
package enum Permission: String, Sendable, CaseIterable {
    /// Has the keys of all epochs.
    case read
    /// Tells others which commits it has applied.
    case acknowledge
    /// Makes commits that change something.
    case write
    /// Names the keys that its own identity chain has brought.
    case rollOwnKeys = "roll own keys"
    /// Ends its own membership.
    case leave
    /// Invites and adds writers and readers.
    case addMembers = "add writers and readers"
    /// Makes a reader of a writer, and a writer of a reader.
    case changeRoles = "change between writer and reader"
    /// Removes writers and readers, and whoever's identity is revoked.
    case removeMembers = "remove writers and readers"
    /// Removes admins.
    case removeAdmins = "remove admins"
    /// Begins another epoch.
    case rotate = "rotate the key"
    /// Names the keys that another member's identity chain has brought, or that it was revoked.
    case recordKeys = "record rolled keys of others"
    /// The same of an owner, by which its commits so far may be bounded.
    case recordOwnerKeys = "record rolled keys of other owners"
    /// Says that the storage was restored from a backup.
    case restore = "announce a restore"
    /// Invites and adds owners and admins.
    case addAdmins = "add owners and admins"
    /// Makes an owner or an admin of a member, or another member of these.
    case changeAdmins = "change from or to owner and admin"
    /// Removes owners.
    case removeOwners = "remove owners"

    /// The roles that have the right.
    package var roles: Set<Role> {
        switch self {
        case .read, .acknowledge, .rollOwnKeys, .leave: [.owner, .admin, .writer, .reader]
        case .write: [.owner, .admin, .writer]
        case .addMembers, .changeRoles, .removeMembers, .removeAdmins, .rotate, .recordKeys, .restore:
            [.owner, .admin]
        case .recordOwnerKeys, .addAdmins, .changeAdmins, .removeOwners: [.owner]
        }
    }
}

extension Role {
    /// Whether the role has a right.
    package func may(_ permission: Permission) -> Bool {
        permission.roles.contains(self)
    }

    /// All rights that the role has.
    var permissions: Set<Permission> { Set(Permission.allCases.filter(may)) }

    /// Whether it is one of the two that only an owner gives.
    var isAdministrative: Bool { self == .owner || self == .admin }
}
