internal import CofferStore

/// What stat(2) tells of an item.
package struct Attributes: Sendable, Equatable {
    /// The item's number in its vault.
    package var number: Int64
    /// Type and permissions, as st_mode.
    package var mode: UInt32
    /// Names that lead to it; for a directory 2 and one for each directory in it.
    package var links: UInt32
    /// The owner, as st_uid.
    package var user: UInt32
    /// The group, as st_gid.
    package var group: UInt32
    /// Bytes of content.
    package var size: Int64
    /// Bytes of content that are not holes.
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

    /// The type in `mode`; nil if it has none that is known.
    package var type: FileType? { FileType(mode: mode) }
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

    /// The type in a st_mode.
    package init?(mode: UInt32) {
        self.init(rawValue: UInt8(truncatingIfNeeded: mode >> 12 & 15))
    }

    /// The type's bits of st_mode.
    package var modeBits: UInt32 { UInt32(rawValue) << 12 }
}

/// Permission bits that have a meaning of their own; as in inode(7).
package enum ModeBits {
    /// Set-user-id.
    package static let setUser: UInt32 = 0o4000
    /// Set-group-id; on a directory, what is made in it gets its group.
    package static let setGroup: UInt32 = 0o2000
    /// Execution by the group, without which set-group-id is no privilege.
    package static let groupExecute: UInt32 = 0o010
    /// All bits of st_mode but the type.
    package static let permissions: UInt32 = 0o7777
}

/// Who asks.
package struct Caller: Sendable {
    /// The user id, which owns what the caller makes.
    package let user: UInt32
    /// The group id, for what the caller makes outside of set-group-id directories.
    package let group: UInt32
    /// Permissions that new items do not get, where the directory has no default ACL.
    package let umask: UInt32

    package init(user: UInt32, group: UInt32, umask: UInt32) {
        self.user = user
        self.group = group
        self.umask = umask
    }
}

/// Which attributes to change, and to what; nil leaves one as it is.
package struct AttributeChanges: Sendable {
    /// What a time is set to.
    package enum Time: Sendable {
        case now
        /// Nanoseconds since 1970.
        case at(Int64)
    }

    /// The permissions; bits of the type are ignored.
    package var mode: UInt32?
    /// The owner.
    package var user: UInt32?
    /// The group.
    package var group: UInt32?
    /// Bytes of content; what a larger size adds is a hole.
    package var size: Int64?
    /// The time of access.
    package var accessed: Time?
    /// The time of modification.
    package var modified: Time?
    /// The time of change; now if it is nil.
    package var changed: Time?
    /// Whether set-user-id, set-group-id and file capabilities are to go, as after a write.
    package var dropPrivileges = false

    /// No change.
    package init() {}
}

extension Attributes {
    /// Of the root of a mount, which holds `vaultCount` vaults.
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
