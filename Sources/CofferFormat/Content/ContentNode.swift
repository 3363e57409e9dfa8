/// A node of the tree of an item's extents: a level, and one of its aligned ranges of offsets.
///
/// A range of level 0 covers 32 offsets; at each further level a range covers 16 times as many.
package struct ContentNode: Hashable, Sendable {
    /// The level of the root of the largest item; its range covers 2^65 offsets.
    package static let levelMax: UInt8 = 15
    /// The largest number of entries of a leaf.
    package static let entryCountMax = 32
    /// The largest number of children of an inner node.
    package static let fanOut = 16
    private static let leafBits: UInt8 = 5
    private static let levelBits: UInt8 = 4

    /// The level, 0 to `levelMax`.
    package let level: UInt8
    /// The number of the range in its level, counted from offset 0 on.
    package let index: UInt64

    package init(level: UInt8, index: UInt64) {
        self.level = level
        self.index = index
    }

    /// The node of a level whose range contains an offset.
    package init(level: UInt8, holding offset: Int64) {
        self.level = level
        index = UInt64(offset) >> UInt64(Self.leafBits + Self.levelBits * level)
    }

    /// The root of a tree whose last entry begins at an offset: the lowest node from offset 0 on that
    /// contains it.
    package static func root(holding offset: Int64) -> ContentNode {
        var level: UInt8 = 0
        while ContentNode(level: level, holding: offset).index != 0 { level += 1 }
        return ContentNode(level: level, index: 0)
    }

    /// Whether the range contains an offset.
    package func holds(_ offset: Int64) -> Bool {
        offset >= 0 && ContentNode(level: level, holding: offset) == self
    }

    /// Whether this node is `other`, or an ancestor of it.
    package func isAbove(_ other: ContentNode) -> Bool {
        guard other.level <= level else { return false }
        return other.index >> UInt64(Self.levelBits * (level - other.level)) == index
    }

    /// Its position among the children of its parent.
    var slot: Int { Int(index & UInt64(Self.fanOut - 1)) }

    func child(_ slot: Int) -> ContentNode {
        ContentNode(level: level - 1, index: index << UInt64(Self.levelBits) | UInt64(slot))
    }

    /// The offsets of the range, up to the largest possible offset.
    package var range: Range<Int64> {
        let bits = Self.leafBits + Self.levelBits * level
        // Nodes of a tree contain offsets, so the start of the range is a valid offset.
        let start = Int64(truncatingIfNeeded: index << UInt64(bits)) & Int64.max
        let (end, overflows) = start.addingReportingOverflow(bits < 63 ? 1 << Int64(bits) : Int64.max)
        return start..<(overflows ? Int64.max : end)
    }
}

/// A reference to a sealed page of a tree: where it is, and what is needed to open it.
///
///     offset  bytes  field
///          0     16  id of the remote pack
///         16      4  offset in it at which the sealed page begins
///         20      4  bytes of the sealed page
///         24      4  epoch
///         28     32  hash of the sealed page, with the purpose `content page`
package struct PageReference: Hashable, Sendable {
    /// The size of every reference, in bytes.
    package static let byteCount = 60

    /// Where on the remote the sealed page is, and its hash.
    package let place: SealedPlace
    /// The size of the sealed page, in bytes.
    package let length: UInt32
    /// The epoch that the page is sealed under.
    package let epoch: Epoch

    package init(place: SealedPlace, length: UInt32, epoch: Epoch) {
        self.place = place
        self.length = length
        self.epoch = epoch
    }

    func append(to writer: inout ByteWriter) {
        writer.identifier(place.pack)
        writer.number(place.position)
        writer.number(length)
        writer.number(epoch.number)
        place.hash.append(to: &writer)
    }

    init(_ bytes: RawSpan, _ cursor: inout ByteCursor) throws(FormatError) {
        let pack = try cursor.identifier(PackID.self, from: bytes)
        let position = try cursor.number(UInt32.self, from: bytes)
        length = try cursor.number(UInt32.self, from: bytes)
        epoch = Epoch(try cursor.number(UInt32.self, from: bytes))
        place = SealedPlace(pack: pack, position: position, hash: try cursor.hash(from: bytes))
        guard (ContentPage.sealedByteCountMin...ContentPage.sealedByteCountMax).contains(Int(length)) else {
            throw .invalid(field: "length")
        }
        guard place.isPossible(for: Int(length)) else { throw .invalid(field: "position") }
        guard epoch.number > 0 else { throw .invalid(field: "epoch") }
    }
}
