package import CofferFormat

/// An item, as the index stores it (docs/format.md, table `items`).
package struct ItemRow: Equatable, Sendable {
    /// The inode number inside the vault; never reused.
    package var number: Int64
    /// The item id, to which the sealed content is bound.
    package var id: ItemID
    /// Type and permissions, like st_mode.
    package var mode: UInt32
    /// The number of its names; for a directory, 2 plus the number of its subdirectories.
    package var links: UInt32
    /// The owner, like st_uid; only on this device.
    package var user: UInt32
    /// The group, like st_gid; only on this device.
    package var group: UInt32
    /// The size of the content, or of a symbolic link's target, in bytes.
    package var size: Int64
    /// The bytes of the content that are not holes.
    package var allocated: Int64
    /// The device number of a device node, like st_rdev.
    package var device: UInt64
    /// When the content was last read, in nanoseconds since 1970.
    package var accessed: Int64
    /// When the content last changed, in nanoseconds since 1970.
    package var modified: Int64
    /// When the content or an attribute last changed, in nanoseconds since 1970.
    package var changed: Int64
    /// When the item was made, in nanoseconds since 1970.
    package var born: Int64
    /// The parent of a directory; 0 for other items.
    package var parent: Int64
    /// The features that the item has.
    package var flags: Flags
    /// What changed since the item was last sent to a remote.
    package var unsent: Aspects
    /// The item under whose id the content is sealed: this one, or the item that it was split from.
    package var origin: ItemID
    /// The target of a symbolic link; empty for other items.
    package var target: [UInt8]

    /// Features of an item, which save lookups in the common case.
    package struct Flags: OptionSet, Equatable, Sendable {
        package let rawValue: UInt32
        package init(rawValue: UInt32) { self.rawValue = rawValue }
        /// It has extended attributes.
        package static let hasAttributes = Flags(rawValue: 1)
        /// One of them is security.capability, which a write removes.
        package static let hasCapability = Flags(rawValue: 2)
        /// One of them is an access ACL.
        package static let hasAccessList = Flags(rawValue: 4)
        /// One of them is a default ACL.
        package static let hasDefaultList = Flags(rawValue: 8)
        /// It has rows of pages that were sent.
        package static let hasPages = Flags(rawValue: 16)
        /// It says how an item was up to a moment, and has no names.
        package static let isVersion = Flags(rawValue: 32)
        /// It is a version that has the extended attributes; otherwise a later version has, or the item.
        package static let ownsAttributes = Flags(rawValue: 64)
    }

    /// The parts of an item that are sent separately.
    package struct Aspects: OptionSet, Equatable, Sendable {
        package let rawValue: UInt32
        package init(rawValue: UInt32) { self.rawValue = rawValue }
        /// The item was made, or lost its last name.
        package static let existence = Aspects(rawValue: 1)
        /// Permissions.
        package static let mode = Aspects(rawValue: 2)
        /// Times of access, modification, and change.
        package static let times = Aspects(rawValue: 4)
        /// The bytes or the size of the content.
        package static let content = Aspects(rawValue: 8)
        /// Extended attributes, including access control lists.
        package static let attributes = Aspects(rawValue: 16)
    }

    /// A new item with one name, no content, and `time` for all its times.
    package init(number: Int64, id: ItemID, mode: UInt32, user: UInt32, group: UInt32, time: Int64) {
        self.number = number
        self.id = id
        self.mode = mode
        links = 1
        self.user = user
        self.group = group
        size = 0
        allocated = 0
        device = 0
        accessed = time
        modified = time
        changed = time
        born = time
        parent = 0
        flags = []
        unsent = .existence
        origin = id
        target = []
    }

    /// The number of `columns`.
    static let columnCount: Int32 = 18
    /// The columns, in the order in which `visitFields` visits them.
    static let columns = """
        number, id, mode, links, user, "group", size, allocated, device, accessed, modified, changed, born, \
        parent, flags, unsent, origin, target
        """
}
