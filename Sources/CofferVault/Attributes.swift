internal import CofferStore

/// What stat(2) tells of an item.
package struct Attributes: Sendable, Equatable {
    /// The item's number in its vault.
    package var number: Int64
    /// Type and permissions, as st_mode.
    package var mode: UInt32
    package var links: UInt32
    package var user: UInt32
    package var group: UInt32
    /// Bytes of content.
    package var size: Int64
    /// Bytes of content that are not holes.
    package var allocated: Int64
    /// As st_rdev.
    package var device: UInt64
    /// Nanoseconds since 1970.
    package var accessed: Int64
    package var modified: Int64
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
    package static let setUser: UInt32 = 0o4000
    package static let setGroup: UInt32 = 0o2000
    package static let groupExecute: UInt32 = 0o010
    package static let permissions: UInt32 = 0o7777
}

/// Who asks.
package struct Caller: Sendable {
    package let user: UInt32
    package let group: UInt32
    package let umask: UInt32

    package init(user: UInt32, group: UInt32, umask: UInt32) {
        self.user = user
        self.group = group
        self.umask = umask
    }
}

/// Which attributes to change, and to what.
package struct AttributeChanges: Sendable {
    package enum Time: Sendable {
        case now
        /// Nanoseconds since 1970.
        case at(Int64)
    }

    package var mode: UInt32?
    package var user: UInt32?
    package var group: UInt32?
    package var size: Int64?
    package var accessed: Time?
    package var modified: Time?
    package var changed: Time?
    /// Whether set-user-id, set-group-id and file capabilities are to go, as after a write.
    package var dropPrivileges = false

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
