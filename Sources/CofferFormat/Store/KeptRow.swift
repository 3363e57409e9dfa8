/// A row that sync, or the vault itself, must find again after a crash; stored beside the facts.
///
/// docs/format.md, table `kept`. A row never leaves the device.
package struct KeptRow: Equatable, Sendable {
    /// What identifies a row.
    package struct Key: Hashable, Sendable {
        /// What the row is about.
        package let kind: Kind
        /// Whose row it is: 16 bytes, zeros where a kind has only one; empty for `Kind.gathered` and
        /// `Kind.replayed`.
        package let id: [UInt8]
        /// Which of several.
        package let number: UInt64

        package init(_ kind: Kind, id: [UInt8] = [UInt8](repeating: 0, count: 16), number: UInt64 = 0) {
            self.kind = kind
            self.id = id
            self.number = number
        }
    }

    /// What a row is about.
    ///
    /// Rows of a kind that this version does not know stay as they are.
    package struct Kind: Hashable, Comparable, Sendable {
        package let rawValue: UInt8

        package init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        /// A device log: `LogSummary`; the id is the log's.
        package static let log = Kind(rawValue: 1)
        /// A commit of this device, as it is stored, by its number: it may not be at the remote yet, or is kept in
        /// case the remote loses it.
        package static let outgoing = Kind(rawValue: 2)
        /// A link of the member chain, by its number.
        package static let memberLink = Kind(rawValue: 3)
        /// A link of an identity chain; the id is the user's.
        package static let identityLink = Kind(rawValue: 4)
        /// The checkpoint up to which commits may be deleted.
        ///
        /// With the id of a log it is an unconfirmed checkpoint, by its number.
        package static let checkpoint = Kind(rawValue: 5)
        /// A link of the member chain that may not be at the remote yet (0), and the wrap set that it names (1).
        package static let pendingLink = Kind(rawValue: 6)
        /// What was last seen of a member; the id is the user's.
        package static let memberCard = Kind(rawValue: 7)
        /// A wrap set of the current epoch, as stored; the id is the first 16 bytes of its hash.
        package static let wraps = Kind(rawValue: 8)
        /// A commit of this device that was put, by its number: its hash.
        package static let put = Kind(rawValue: 9)
        /// The last packs that a device wants to delete; the id is its log's.
        package static let retirement = Kind(rawValue: 10)
        /// The kinds that belong to sync.
        package static let sync = Kind(rawValue: 0)...Kind(rawValue: 0x7f)

        /// Facts gathered for a rebuild: groups of a checkpoint.
        package static let gathered = Kind(rawValue: 0x80)
        /// A content of which a part has not arrived; the id is the item's.
        package static let owed = Kind(rawValue: 0x81)
        /// A pinned item; the id is the item's.
        package static let pin = Kind(rawValue: 0x82)
        /// Commits gathered for a rebuild, which follow the groups of the checkpoint.
        package static let replayed = Kind(rawValue: 0x83)

        /// Where a content lies now, whose pages have not arrived; the id is the item's.
        package static let places = Kind(rawValue: 0x84)
        /// A content of which a part has not arrived, and which the item does not have any more; the number is that of
        /// the version, or of the outdated file, that lacks the part.
        package static let lacking = Kind(rawValue: 0x85)

        package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }

    /// What identifies the row.
    package let key: Key
    /// What the row holds.
    package let value: [UInt8]

    package init(_ key: Key, _ value: [UInt8]) {
        self.key = key
        self.value = value
    }
}

/// A change of a `KeptRow`.
package struct KeptChange: Equatable, Sendable {
    /// Which row.
    package let key: KeptRow.Key
    /// What the row holds from now on; nil removes it.
    package let value: [UInt8]?

    package init(_ key: KeptRow.Key, _ value: [UInt8]?) {
        self.key = key
        self.value = value
    }
}
