internal import CofferStore

/// The result of stat(2) for an item.
package struct Attributes: Sendable, Equatable {
    /// The item's number in its vault.
    package var number: Int64
    /// Type and permissions, as st_mode.
    package var mode: UInt32
    /// The number of names that lead to it; for a directory, 2 plus the number of directories in it.
    package var links: UInt32
    /// The owner, as st_uid.
    package var user: UInt32
    /// The group, as st_gid.
    package var group: UInt32
    /// The size of the content in bytes.
    package var size: Int64
    /// The size of the content without holes, in bytes.
    package var allocated: Int64
    /// As st_rdev.
    package var device: UInt64
    /// When the content was last read, in nanoseconds since 1970.
    package var accessed: Int64
    /// When the content last changed, in nanoseconds since 1970.
    package var modified: Int64
    /// When the content or an attribute last changed, in nanoseconds since 1970.
    package var changed: Int64

    init(_ row: ItemRow) {
        number = row.number
        mode = row.mode
        links = row.links
        user = row.user
        group = row.group
        size = FileType(mode: row.mode) == .directory ? 4096 : row.size
        allocated = row.allocated
        device = row.device
        accessed = row.accessed
        modified = row.modified
        changed = row.changed
    }

    /// The type in `mode`; nil if it is unknown.
    package var type: FileType? { FileType(mode: mode) }

    /// Whether two items have the same type, permissions, and owner.
    func hasSameRights(as other: Attributes) -> Bool {
        mode == other.mode && user == other.user && group == other.group
    }

    /// The changes that give another item these permissions and this owner, in their order.
    ///
    /// A change of the owner takes privileges away, so it comes first.
    var rightsChanges: [AttributeChanges] {
        var owner = AttributeChanges()
        owner.user = user
        owner.group = group
        var mode = AttributeChanges()
        mode.mode = self.mode & ModeBits.permissions
        return type == .symbolicLink ? [owner] : [owner, mode]
    }
}

/// The types of inode(7), with the values of d_type.
package enum FileType: UInt8, Sendable {
    case fifo = 1
    case characterDevice = 2
    case directory = 4
    case blockDevice = 6
    case regular = 8
    case symbolicLink = 10
    case socket = 12

    /// The type in st_mode; nil if it is unknown.
    package init?(mode: UInt32) {
        self.init(rawValue: UInt8(truncatingIfNeeded: mode >> 12 & 15))
    }

    /// The type bits of st_mode.
    package var modeBits: UInt32 { UInt32(rawValue) << 12 }
}

/// Permission bits with a meaning of their own, as in inode(7).
package enum ModeBits {
    /// Set-user-id.
    package static let setUser: UInt32 = 0o4000
    /// Set-group-id; on a directory, new items in it get its group.
    package static let setGroup: UInt32 = 0o2000
    /// Execution by the group; without it, set-group-id grants no privilege.
    package static let groupExecute: UInt32 = 0o010
    /// All bits of st_mode except the type.
    package static let permissions: UInt32 = 0o7777
}

/// The user who makes a request.
package struct Caller: Sendable {
    /// The user id; it owns new items.
    package let user: UInt32
    /// The group id of new items outside set-group-id directories.
    package let group: UInt32
    /// Permissions that new items do not get, unless the directory has a default ACL.
    package let umask: UInt32

    package init(user: UInt32, group: UInt32, umask: UInt32) {
        self.user = user
        self.group = group
        self.umask = umask
    }
}

/// Changes of attributes; nil leaves an attribute as it is.
package struct AttributeChanges: Sendable {
    /// A new value of a time.
    package enum Time: Sendable {
        case now
        /// Nanoseconds since 1970.
        case at(Int64)
    }

    /// The permissions; type bits are ignored.
    package var mode: UInt32?
    /// The owner.
    package var user: UInt32?
    /// The group.
    package var group: UInt32?
    /// The size of the content in bytes; growing adds a hole.
    package var size: Int64?
    /// The time of access.
    package var accessed: Time?
    /// The time of modification.
    package var modified: Time?
    /// The time of change; nil means now.
    package var changed: Time?
    /// Whether to remove set-user-id, set-group-id, and file capabilities, as a write does.
    package var dropPrivileges = false

    /// No change.
    package init() {}
}

extension Attributes {
    /// The attributes of a mount's root, which contains `vaultCount` vaults.
    package init(root vaultCount: UInt32, user: UInt32, group: UInt32, changed: Int64) {
        number = 1
        mode = FileType.directory.modeBits | 0o755
        links = 2 + vaultCount
        self.user = user
        self.group = group
        size = 4096
        allocated = 0
        device = 0
        accessed = changed
        modified = changed
        self.changed = changed
    }
}
