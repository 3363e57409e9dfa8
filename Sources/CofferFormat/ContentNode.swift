/// A place in the tree of an item's extents: a level, and which of its aligned ranges of offsets.
///
/// A range of level 0 has 32 bytes, one of each further level 16 times as many.
package struct ContentNode: Hashable, Sendable {
    /// The level of the root of the largest item: its range has 2^65 bytes.
    package static let levelMax: UInt8 = 15
    /// The most entries of a leaf.
    package static let entryCountMax = 32
    /// The most children of an inner node.
    package static let fanOut = 16
    private static let leafBits: UInt8 = 5
    private static let levelBits: UInt8 = 4

    /// 0 to `levelMax`.
    package let level: UInt8
    /// Counts the ranges of the level from offset 0 on.
    package let index: UInt64

    package init(level: UInt8, index: UInt64) {
        self.level = level
        self.index = index
    }

    /// The node of a level in whose range an offset lies.
    package init(level: UInt8, holding offset: Int64) {
        self.level = level
        index = UInt64(offset) >> UInt64(Self.leafBits + Self.levelBits * level)
    }

    /// The lowest node from offset 0 on that holds an offset: the root of a tree in which that is the last.
    package static func root(holding offset: Int64) -> ContentNode {
        var level: UInt8 = 0
        while ContentNode(level: level, holding: offset).index != 0 { level += 1 }
        return ContentNode(level: level, index: 0)
    }

    /// Whether an offset lies in the range.
    package func holds(_ offset: Int64) -> Bool {
        offset >= 0 && ContentNode(level: level, holding: offset) == self
    }

    /// Whether it is a node, or stands above it.
    package func isAbove(_ other: ContentNode) -> Bool {
        guard other.level <= level else { return false }
        return other.index >> UInt64(Self.levelBits * (level - other.level)) == index
    }

    /// Which child of its parent it is.
    var slot: Int { Int(index & UInt64(Self.fanOut - 1)) }

    func child(_ slot: Int) -> ContentNode {
        ContentNode(level: level - 1, index: index << UInt64(Self.levelBits) | UInt64(slot))
    }

    /// The offsets in the range, as far as an item reaches.
    package var range: Range<Int64> {
        let bits = Self.leafBits + Self.levelBits * level
        // Nodes of a tree hold offsets, so the first one is an offset.
        let start = Int64(truncatingIfNeeded: index << UInt64(bits)) & Int64.max
        let (end, overflows) = start.addingReportingOverflow(bits < 63 ? 1 << Int64(bits) : Int64.max)
        return start..<(overflows ? Int64.max : end)
    }
}

/// A sealed page of a tree: where it stands, and what opens it.
///
///     offset  bytes  field
///          0     16  id of the remote pack
///         16      4  position in it
///         20      4  bytes of the sealed page
///         24      4  epoch
///         28     32  BLAKE2b-256 of the sealed page
package struct PageReference: Hashable, Sendable {
    /// Bytes of every reference.
    package static let byteCount = 60

    /// Where the sealed page stands, and its hash.
    package let place: SealedPlace
    /// Bytes of the sealed page.
    package let length: UInt32
    /// The epoch that it is sealed under.
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
