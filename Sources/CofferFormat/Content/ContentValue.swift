/// The content of an item as described to other devices: the value of a `content` fact.
///
///     offset  bytes  field
///          0      1  format version, 1
///          1      1  0 with entries, 1 with a tree
///          2      8  size of the item's content
///         10     16  id of the item under which the extents are sealed
///     with entries:
///         26      1  number of entries, 0 to 8
///         27      …  the entries, by offset
///     with a tree:
///         26      4  number of entries, 9 to 2^24
///         30      1  level of the root
///         31     60  reference to the root
package struct ContentValue: Equatable, Sendable {
    /// The format version that is written, and the only one that is read.
    package static let version: UInt8 = 1
    /// The largest number of entries in the value itself.
    package static let inlineEntryCountMax = 8
    /// The largest number of entries of an item.
    package static let entryCountMax = 1 << 24
    /// The largest size of a file, in bytes.
    package static let sizeMax = Int64(1) << 62

    /// The size of the content in bytes, including holes.
    package let size: Int64
    /// The item under whose id the extents are sealed: the file itself, or the one that it was split from.
    package let origin: ItemID
    /// The extents of the content.
    package let extents: Extents

    /// The extents of a content: all of them, or the root of a tree.
    package enum Extents: Equatable, Sendable {
        /// Up to 8 entries, by offset.
        case entries([ContentEntry])
        /// The root of a tree of `count` entries.
        case tree(root: ContentPage.Child, count: Int)
    }

    package init(size: Int64, origin: ItemID, extents: Extents) {
        self.size = size
        self.origin = origin
        self.extents = extents
    }

    /// The encoded value.
    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: 64)
        writer.number(Self.version)
        if case .tree = extents { writer.number(UInt8(1)) } else { writer.number(UInt8(0)) }
        writer.number(size)
        writer.identifier(origin)
        switch extents {
        case .entries(let entries):
            writer.number(UInt8(entries.count))
            for entry in entries { entry.append(to: &writer) }
        case .tree(let root, let count):
            writer.number(UInt32(count))
            writer.number(root.node.level)
            root.reference.append(to: &writer)
        }
        return writer.finish()
    }

    /// Reads a value, which must have the one permitted form.
    ///
    /// - Throws: `.newerVersion`, `.truncated`, `.invalid`, `.trailingBytes`.
    package init(_ bytes: RawSpan) throws(FormatError) {
        var cursor = ByteCursor()
        let version = try cursor.number(UInt8.self, from: bytes)
        guard version == Self.version else {
            throw version > Self.version
                ? .newerVersion(found: UInt32(version), supported: UInt32(Self.version))
                : .invalid(field: "version")
        }
        let kind = try cursor.number(UInt8.self, from: bytes)
        size = try cursor.number(Int64.self, from: bytes)
        guard (0...Self.sizeMax).contains(size) else { throw .invalid(field: "size") }
        origin = try cursor.identifier(ItemID.self, from: bytes)
        switch kind {
        case 0:
            let count = Int(try cursor.number(UInt8.self, from: bytes))
            guard count <= Self.inlineEntryCountMax else { throw .invalid(field: "count") }
            extents = .entries(try ContentEntry.read(count, from: bytes, &cursor, within: 0..<size))
        case 1:
            let count = Int(try cursor.number(UInt32.self, from: bytes))
            guard (Self.inlineEntryCountMax + 1...Self.entryCountMax).contains(count) else {
                throw .invalid(field: "count")
            }
            let root = ContentNode(level: try cursor.number(UInt8.self, from: bytes), index: 0)
            // Each entry covers at least one byte.
            guard root.level <= ContentNode.levelMax, Int64(count) <= size,
                root.level <= ContentNode.root(holding: size - 1).level
            else { throw .invalid(field: "level") }
            let reference = try PageReference(bytes, &cursor)
            extents = .tree(root: .init(node: root, reference: reference), count: count)
        default: throw .invalid(field: "kind")
        }
        try cursor.expectEnd(of: bytes)
    }
}
