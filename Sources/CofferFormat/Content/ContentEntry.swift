/// A range of an item's content, and the sealed extent that contains it, as described to other devices.
///
///     offset  bytes  field
///          0      8  where the range begins in the item
///          8      4  bytes of the range
///         12      8  where the extent began in the item when it was sealed
///         20      4  plaintext bytes of the whole extent
///         24     16  id of the remote pack
///         40      4  offset in it at which the sealed extent begins
///         44     16  nonce prefix
///         60      4  epoch
///         64     32  hash of the sealed extent: the root of the tree over its leaves
package struct ContentEntry: Hashable, Sendable {
    /// The size of every entry, in bytes.
    package static let byteCount = 96

    /// Where the range begins in the item, in bytes.
    package let offset: Int64
    /// The size of the range in bytes; at least 1.
    package let length: Int64
    /// Where the extent began in the item when it was sealed: at most `offset`.
    package let base: Int64
    /// Plaintext bytes of the whole extent: 1 to 1 MiB.
    package let total: Int64
    /// Where on the remote the sealed extent is, followed by the hashes of its leaves, and its own hash.
    package let place: SealedPlace
    /// Bytes 0 to 7 of the nonce prefix, as a little-endian number.
    package let prefixLow: UInt64
    /// Bytes 8 to 15 of the nonce prefix, as a little-endian number.
    package let prefixHigh: UInt64
    /// The epoch that the extent is sealed under.
    package let epoch: Epoch

    package init(
        offset: Int64, length: Int64, base: Int64, total: Int64, place: SealedPlace, prefixLow: UInt64,
        prefixHigh: UInt64, epoch: Epoch
    ) {
        self.offset = offset
        self.length = length
        self.base = base
        self.total = total
        self.place = place
        self.prefixLow = prefixLow
        self.prefixHigh = prefixHigh
        self.epoch = epoch
    }

    /// Where the range ends in the item: the offset after its last byte.
    package var end: Int64 { offset + length }

    /// The size of the sealed extent, in bytes.
    package var sealedByteCount: Int { ExtentLayout.sealedByteCount(Int(total)) }

    func append(to writer: inout ByteWriter) {
        writer.number(offset)
        writer.number(UInt32(truncatingIfNeeded: length))
        writer.number(base)
        writer.number(UInt32(truncatingIfNeeded: total))
        writer.identifier(place.pack)
        writer.number(place.position)
        writer.number(prefixLow)
        writer.number(prefixHigh)
        writer.number(epoch.number)
        place.hash.append(to: &writer)
    }

    /// Reads an entry whose range must begin and end within `range`.
    init(
        _ bytes: RawSpan, _ cursor: inout ByteCursor, within range: Range<Int64>
    ) throws(FormatError) {
        offset = try cursor.number(Int64.self, from: bytes)
        length = Int64(try cursor.number(UInt32.self, from: bytes))
        base = try cursor.number(Int64.self, from: bytes)
        total = Int64(try cursor.number(UInt32.self, from: bytes))
        let pack = try cursor.identifier(PackID.self, from: bytes)
        let position = try cursor.number(UInt32.self, from: bytes)
        prefixLow = try cursor.number(UInt64.self, from: bytes)
        prefixHigh = try cursor.number(UInt64.self, from: bytes)
        epoch = Epoch(try cursor.number(UInt32.self, from: bytes))
        place = SealedPlace(pack: pack, position: position, hash: try cursor.hash(from: bytes))
        guard range.contains(offset) else { throw .invalid(field: "offset") }
        guard (1...Int64(ExtentLayout.byteCountMax)).contains(total) else { throw .invalid(field: "total") }
        guard (1...total).contains(length), length <= range.upperBound - offset else {
            throw .invalid(field: "length")
        }
        guard (0...offset).contains(base), end - base <= total else { throw .invalid(field: "base") }
        guard place.isPossible(for: ExtentLayout.remoteByteCount(Int(total))) else {
            throw .invalid(field: "position")
        }
        guard epoch.number > 0 else { throw .invalid(field: "epoch") }
    }
}

/// Where sealed bytes are on a remote, and their hash.
package struct SealedPlace: Hashable, Sendable {
    /// The remote pack that contains them.
    package let pack: PackID
    /// Their offset in the remote pack, in bytes.
    package let position: UInt32
    /// The hash of the sealed bytes: the root of an extent's tree, or with the purpose `content page`.
    package let hash: ContentHash

    package init(pack: PackID, position: UInt32, hash: ContentHash) {
        self.pack = pack
        self.position = position
        self.hash = hash
    }

    /// Whether `count` bytes at this position lie within a remote pack.
    package func isPossible(for count: Int) -> Bool {
        Int(position) >= RemotePackHeader.byteCount
            && Int(position) <= RemotePackHeader.packByteCountMax - count
    }
}
