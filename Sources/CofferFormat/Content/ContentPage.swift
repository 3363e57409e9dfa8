/// A page of the tree of an item's extents: entries, or references to child pages (docs/format.md, "Content
/// pages").
///
///     offset  bytes  field
///          0      1  0 for a leaf, 1 for an inner page
///     of a leaf:
///          1      1  number of entries, 1 to 32
///          2      …  the entries, by offset
///     of an inner page:
///          1      2  which children exist: bit i for the i-th sixteenth of the range, from 0
///          3      …  the references to them, in the same order
package enum ContentPage: Equatable, Sendable {
    /// The extents whose ranges begin in the range of the page.
    case leaf([ContentEntry])
    /// The child pages, one for each sixteenth of the range in which extents begin.
    case inner([Child])

    /// A page below an inner page.
    package struct Child: Equatable, Sendable {
        /// Its node in the tree.
        package let node: ContentNode
        /// Where it is.
        package let reference: PageReference

        package init(node: ContentNode, reference: PageReference) {
            self.node = node
            self.reference = reference
        }
    }

    /// How many bytes a sealed page is longer than its plaintext: nonce and tag.
    package static let sealedOverhead = 40
    /// The smallest size of a sealed page, in bytes: with a single reference.
    static let sealedByteCountMin = 3 + PageReference.byteCount + sealedOverhead
    /// The largest size of a sealed page, in bytes: a full leaf.
    static let sealedByteCountMax = 2 + ContentNode.entryCountMax * ContentEntry.byteCount + sealedOverhead

    /// The plaintext of the page.
    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: Self.sealedByteCountMax)
        switch self {
        case .leaf(let entries):
            writer.number(UInt8(0))
            writer.number(UInt8(entries.count))
            for entry in entries { entry.append(to: &writer) }
        case .inner(let children):
            writer.number(UInt8(1))
            writer.number(children.reduce(UInt16(0)) { $0 | 1 << UInt16($1.node.slot) })
            for child in children { child.reference.append(to: &writer) }
        }
        return writer.finish()
    }

    /// Reads the plaintext of a page, which must have the one permitted form.
    ///
    /// - Parameters:
    ///   - node: The node of the page.
    ///   - range: From the end of the preceding entry to the size of the item.
    /// - Throws: `.truncated`, `.invalid`, `.trailingBytes`.
    package init(_ bytes: RawSpan, of node: ContentNode, within range: Range<Int64>) throws(FormatError) {
        var cursor = ByteCursor()
        switch try cursor.number(UInt8.self, from: bytes) {
        case 0:
            let count = Int(try cursor.number(UInt8.self, from: bytes))
            guard (1...ContentNode.entryCountMax).contains(count) else { throw .invalid(field: "count") }
            let entries = try ContentEntry.read(count, from: bytes, &cursor, within: range)
            for entry in entries where !node.holds(entry.offset) { throw .invalid(field: "offset") }
            self = .leaf(entries)
        case 1:
            guard node.level > 0 else { throw .invalid(field: "level") }
            let mask = try cursor.number(UInt16.self, from: bytes)
            guard mask != 0 else { throw .invalid(field: "children") }
            var children: [Child] = []
            for slot in 0..<ContentNode.fanOut where mask & 1 << UInt16(slot) != 0 {
                let child = node.child(slot)
                guard child.range.lowerBound < range.upperBound, child.range.upperBound > range.lowerBound
                else { throw .invalid(field: "children") }
                children.append(Child(node: child, reference: try PageReference(bytes, &cursor)))
            }
            self = .inner(children)
        default: throw .invalid(field: "kind")
        }
        try cursor.expectEnd(of: bytes)
    }

    /// The associated data of a page: 42 bytes that bind it to its place in the tree of one item.
    ///
    ///     offset  bytes  field
    ///          0      1  format version, 1
    ///          1     16  vault id
    ///         17     16  id of the item under which the extents are sealed
    ///         33      1  level
    ///         34      8  index of the range in the level
    package static func associatedData(vault: VaultID, origin: ItemID, _ node: ContentNode) -> [UInt8] {
        var writer = ByteWriter(capacity: 42)
        writer.number(UInt8(1))
        writer.identifier(vault)
        writer.identifier(origin)
        writer.number(node.level)
        writer.number(node.index)
        return writer.finish()
    }
}

extension ContentEntry {
    /// Reads consecutive entries, which must be in the order of their offsets and must not overlap.
    static func read(
        _ count: Int, from bytes: RawSpan, _ cursor: inout ByteCursor, within range: Range<Int64>
    ) throws(FormatError) -> [ContentEntry] {
        var entries: [ContentEntry] = []
        var start = range.lowerBound
        for _ in 0..<count {
            guard start <= range.upperBound else { throw .invalid(field: "offset") }
            let entry = try ContentEntry(bytes, &cursor, within: start..<range.upperBound)
            entries.append(entry)
            start = entry.end
        }
        return entries
    }
}
