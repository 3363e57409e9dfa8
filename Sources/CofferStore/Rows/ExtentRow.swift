package import CofferCrypto
package import CofferFormat

/// A range of an item's content, and the sealed extent that it comes from (docs/format.md, table `extents`).
///
/// Ranges of one item do not overlap; what no range covers is a hole.
package struct ExtentRow: Equatable, Sendable {
    /// The item's number.
    package var item: Int64
    /// The offset of the range in the item, in bytes.
    package var offset: Int64
    /// The length of the range in bytes; at least 1.
    package var length: Int64
    /// The offset of the extent in the item when it was sealed: at most `offset`.
    package var base: Int64
    /// The plaintext bytes of the whole extent.
    package var total: Int64
    /// Where the sealed extent is stored.
    package var place: Place
    /// The nonce prefix of the extent.
    package var prefix: NoncePrefix
    /// The epoch that the extent is sealed under.
    package var epoch: Epoch
    /// The row of `remote_extents` with the place of the sealed extent on a remote; 0 if there is none.
    package var remote: Int64

    /// Where a sealed extent is stored.
    package enum Place: Hashable, Sendable {
        /// In the pack with this number, from this byte on.
        case pack(Int64, position: Int64)
        /// In the row of `contents` with this number.
        case row(Int64)
        /// Only on a remote.
        case remote
    }

    /// The offset in the item after the range's last byte.
    package var end: Int64 { offset + length }

    /// The row of an extent that was just sealed; the range is all of it.
    package init(
        item: Int64, offset: Int64, length: Int64, place: Place, prefix: NoncePrefix, epoch: Epoch
    ) {
        self.item = item
        self.offset = offset
        self.length = length
        base = offset
        total = length
        self.place = place
        self.prefix = prefix
        self.epoch = epoch
        remote = 0
    }

    /// The row of a range that another device described, which is so far only on the remote.
    ///
    /// - Parameter remote: The number of its row in `remote_extents`.
    package init(item: Int64, _ entry: ContentEntry, remote: Int64) {
        self.item = item
        offset = entry.offset
        length = entry.length
        base = entry.base
        total = entry.total
        place = .remote
        prefix = NoncePrefix(low: entry.prefixLow, high: entry.prefixHigh)
        epoch = entry.epoch
        self.remote = remote
    }

    /// The description of the range for other devices.
    package func entry(at place: SealedPlace) -> ContentEntry {
        ContentEntry(
            offset: offset, length: length, base: base, total: total, place: place, prefixLow: prefix.low,
            prefixHigh: prefix.high, epoch: epoch)
    }

    /// Whether two ranges belong to the same sealed extent of the same item.
    package func isOfSameExtent(as other: ExtentRow) -> Bool {
        item == other.item && prefix == other.prefix && base == other.base && total == other.total
            && epoch == other.epoch
    }

    static let columns = #"item, "offset", length, base, total, pack, position, prefix, epoch, remote"#

    init(_ row: Statement) {
        item = row.integer(0)
        offset = row.integer(1)
        length = row.integer(2)
        base = row.integer(3)
        total = row.integer(4)
        let pack = row.integer(5)
        let position = row.integer(6)
        place = pack != 0 ? .pack(pack, position: position) : position != 0 ? .row(position) : .remote
        let bytes = row.bytes(7)
        prefix =
            bytes.count == NoncePrefix.byteCount
            ? unsafe NoncePrefix(bytes.span.bytes, at: 0) : NoncePrefix(low: 0, high: 0)
        epoch = Epoch(UInt32(truncatingIfNeeded: row.integer(8)))
        remote = row.integer(9)
    }

    private var placeColumns: (pack: Int64, position: Int64) {
        switch place {
        case .pack(let pack, let position): (pack, position)
        case .row(let number): (0, number)
        case .remote: (0, 0)
        }
    }

    private var prefixBytes: [UInt8] {
        var writer = ByteWriter(capacity: NoncePrefix.byteCount)
        writer.number(prefix.low)
        writer.number(prefix.high)
        return writer.finish()
    }

    func bind(to statement: Statement) {
        statement.bind(1, item)
        statement.bind(2, offset)
        statement.bind(3, length)
        statement.bind(4, base)
        statement.bind(5, total)
        statement.bind(6, placeColumns.pack)
        statement.bind(7, placeColumns.position)
        statement.bind(8, prefixBytes)
        statement.bind(9, Int64(epoch.number))
        statement.bind(10, remote)
    }

    func digest(into writer: inout ByteWriter) {
        for value in [item, offset, length, base, total, placeColumns.pack, placeColumns.position] {
            writer.number(value)
        }
        writer.number(prefix.low)
        writer.number(prefix.high)
        writer.number(epoch.number)
        writer.number(remote)
    }
}
