/// An item of the archive in an export, without its content.
package struct ArchiveEntry: Equatable, Sendable {
    /// What an item is, and what belongs to its type.
    package enum Kind: Equatable, Sendable {
        case directory
        /// A file: its size, and the ranges that have data, ascending; all else is a hole.
        ///
        /// A range that does not end with the file has a multiple of 512 bytes: GNU tar begins each with a block.
        case file(size: Int64, data: [Range<Int64>])
        /// A further name of an item whose first name comes earlier.
        case link(to: [[UInt8]])
        /// A symbolic link, with its target.
        case symbolicLink([UInt8])
        case fifo
        case characterDevice(ArchiveDevice)
        case blockDevice(ArchiveDevice)
    }

    /// The names that lead to it from the root of the vault; none for the root itself.
    package var path: [[UInt8]]
    /// Its type.
    package var kind: Kind
    /// The permissions, as the lower 12 bits of st_mode; a link has none of its own.
    package var permissions: UInt32
    /// When its content changed, in nanoseconds since 1970.
    package var modified: Int64
    /// Its extended attributes.
    package var attributes: [Attribute]

    /// An extended attribute.
    package struct Attribute: Equatable, Sendable {
        /// Its name.
        package let name: [UInt8]
        /// Its value.
        package let value: [UInt8]

        package init(name: [UInt8], value: [UInt8]) {
            self.name = name
            self.value = value
        }
    }

    package init(
        path: [[UInt8]], kind: Kind, permissions: UInt32, modified: Int64, attributes: [Attribute] = []
    ) {
        self.path = path
        self.kind = kind
        self.permissions = permissions
        self.modified = modified
        self.attributes = attributes
    }

    /// The path inside the vault, for messages; “/” for the root.
    package var text: String { "/" + String(decoding: Array(path.joined(separator: [0x2F])), as: UTF8.self) }
}

/// The numbers of a device node.
package struct ArchiveDevice: Equatable, Sendable {
    /// The largest numbers that Linux has.
    package static let majorMax: UInt32 = 0xFFF, minorMax: UInt32 = 0xF_FFFF

    /// The driver's number.
    package let major: UInt32
    /// The device's number.
    package let minor: UInt32

    package init(major: UInt32, minor: UInt32) {
        self.major = major
        self.minor = minor
    }

    /// Takes st_rdev.
    package init(_ number: UInt64) {
        major = UInt32(truncatingIfNeeded: number >> 8 & 0xFFF)
        minor = UInt32(truncatingIfNeeded: number & 0xFF | number >> 12 & 0xFFF00)
    }

    /// As st_rdev.
    package var number: UInt64 {
        UInt64(minor & 0xFF) | UInt64(major) << 8 | UInt64(minor & 0xFFF00) << 12
    }
}

/// The limits of archives, beside those of vaults.
package enum ArchiveLimits {
    /// The size of a record of tar, in bytes.
    package static let blockByteCount = 512
    /// The largest size of the records of an entry, in bytes.
    package static let recordsByteCountMax = 16 << 20
    /// The largest size of a path, in bytes.
    package static let pathByteCountMax = 1 << 20
    /// The largest size of the name of an extended attribute, in bytes.
    static let attributeNameByteCountMax = 255
    /// The largest number of ranges of a file with holes.
    package static let rangeCountMax = 1 << 20
    /// The largest size of the target of a symbolic link, in bytes.
    package static let targetByteCountMax = 4095
    /// The largest size of a file, in bytes.
    package static let fileByteCountMax = Int64(1) << 62
    /// The most content that a reader takes at a time, in bytes.
    package static let pieceByteCount = 1 << 20

    /// The number of bytes that follow `count` bytes up to the end of a block.
    package static func padding(after count: Int64) -> Int { Int(-count & 511) }
}
