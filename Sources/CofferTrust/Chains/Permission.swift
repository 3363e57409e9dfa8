package import CofferFormat

/// The rights of members in a vault; docs/trust.md shows the same table.
package enum Permission: String, Sendable, CaseIterable {
    /// Has the keys of all epochs.
    case read
    /// States which commits it has applied.
    case acknowledge
    /// Makes commits that change something.
    case write
    /// Records the keys that its own identity chain has introduced.
    case rollOwnKeys = "roll own keys"
    /// Ends its own membership.
    case leave
    /// Invites and adds writers and readers.
    case addMembers = "add writers and readers"
    /// Makes a writer a reader, and a reader a writer.
    case changeRoles = "change between writer and reader"
    /// Removes writers and readers, and members whose identity is revoked.
    case removeMembers = "remove writers and readers"
    /// Removes admins.
    case removeAdmins = "remove admins"
    /// Begins the next epoch.
    case rotate = "rotate the key"
    /// Records the keys that another member's identity chain has introduced, or that it was revoked.
    case recordKeys = "record rolled keys of others"
    /// Records new keys of another owner, whose earlier commits the link may bound.
    case recordOwnerKeys = "record rolled keys of other owners"
    /// Announces that the storage was restored from a backup.
    case restore = "announce a restore"
    /// Says how long all devices keep the past.
    case setHistory = "set how long the past is kept"
    /// States that contents lie elsewhere at the remote.
    case moveContents = "move contents"
    /// Invites and adds owners and admins.
    case addAdmins = "add owners and admins"
    /// Makes a member an owner or an admin, or gives an owner or an admin another role.
    case changeAdmins = "change from or to owner and admin"
    /// Removes owners.
    case removeOwners = "remove owners"

    /// The roles that have the right.
    package var roles: Set<Role> {
        switch self {
        case .read, .acknowledge, .rollOwnKeys, .leave: [.owner, .admin, .writer, .reader]
        case .write: [.owner, .admin, .writer]
        case .addMembers, .changeRoles, .removeMembers, .removeAdmins, .rotate, .recordKeys, .restore,
            .setHistory, .moveContents:
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

    /// Whether only an owner can give the role.
    var isAdministrative: Bool { self == .owner || self == .admin }
}
