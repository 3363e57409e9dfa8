/// The name of a directory entry: 1 to 255 bytes, not always UTF-8.
///
/// Contains no `/` and no NUL, and is not `.` or `..` (path_resolution(7)). Names compare byte by byte.
package struct EntryName: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The largest size of a name in bytes, as on Linux.
    package static let byteCountMax = 255

    /// The bytes of the name.
    package let bytes: [UInt8]

    /// Takes the bytes of a name; nil if they are not a valid name.
    package init?(_ bytes: some Collection<UInt8>) {
        guard (1...Self.byteCountMax).contains(bytes.count), !bytes.contains(0),
            !bytes.contains(UInt8(ascii: "/")), !bytes.elementsEqual(".".utf8),
            !bytes.elementsEqual("..".utf8)
        else { return nil }
        self.bytes = Array(bytes)
    }

    package var description: String { String(decoding: bytes, as: UTF8.self) }

    package static func < (left: Self, right: Self) -> Bool {
        left.bytes.lexicographicallyPrecedes(right.bytes)
    }
}

/// The place of an entry: a directory, and a name in it.
package struct Place: Hashable, Comparable, Sendable {
    /// The directory.
    package var parent: ItemID
    /// The name in it.
    package var name: EntryName

    package init(parent: ItemID, name: EntryName) {
        self.parent = parent
        self.name = name
    }

    package static func < (left: Self, right: Self) -> Bool {
        (left.parent, left.name) < (right.parent, right.name)
    }
}
