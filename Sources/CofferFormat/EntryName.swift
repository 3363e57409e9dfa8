/// The name of a directory entry: 1 to 255 bytes, not always UTF-8.
///
/// Without `/` and NUL, and neither `.` nor `..` (path_resolution(7)). Ordered byte by byte.
package struct EntryName: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The most bytes of a name, as on Linux.
    package static let byteCountMax = 255

    /// The bytes of the name.
    package let bytes: [UInt8]

    /// Takes bytes that can be a name.
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

/// Where an entry lies: a directory, and a name in it.
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
