package import CofferSystem

/// The body of a record of the intent log: the writes, and the items as they were after them.
///
///     offset  bytes  field
///          0      4  number of writes
///          4      4  number of rows
///          8      …  the writes, in the order in which they were made; each:
///                      8  number of the item
///                      8  offset in the item
///                      4  plaintext bytes
///                     16  nonce prefix
///                      4  epoch
///                      …  the sealed extent
///          …      …  the rows, each preceded by its length (2)
///          …      …  zeros up to the end, the fewest that make the record end at a multiple of the unit
package struct IntentRecord: Equatable {
    /// The size of the counts before the writes, in bytes.
    static let headByteCount = 8

    /// One extent that was written.
    package struct Write: Equatable, Sendable {
        /// The size of the fields before the sealed extent, in bytes.
        static let headByteCount = 40

        /// The number of the item.
        package let item: Int64
        /// Where the extent begins in the item, in bytes.
        package let offset: Int64
        /// Plaintext bytes: 1 to 1 MiB.
        package let length: Int
        /// Bytes 0 to 7 of the nonce prefix, as a little-endian number.
        package let prefixLow: UInt64
        /// Bytes 8 to 15 of the nonce prefix, as a little-endian number.
        package let prefixHigh: UInt64
        /// The epoch that the extent is sealed under.
        package let epoch: Epoch

        package init(
            item: Int64, offset: Int64, length: Int, prefixLow: UInt64, prefixHigh: UInt64, epoch: Epoch
        ) {
            self.item = item
            self.offset = offset
            self.length = length
            self.prefixLow = prefixLow
            self.prefixHigh = prefixHigh
            self.epoch = epoch
        }
    }

    /// The writes in their order, and where in the body their sealed extents are.
    package private(set) var writes: [(write: Write, sealed: Range<Int>)] = []
    /// Where in the body the rows of the items are.
    package private(set) var rows: [Range<Int>] = []

    /// Reads a body, which must have the one permitted form.
    ///
    /// - Throws: `.truncated`, `.invalid`, `.trailingBytes`.
    package init(_ body: RawSpan) throws(FormatError) {
        var cursor = ByteCursor()
        let writeCount = try cursor.number(UInt32.self, from: body)
        let rowCount = try cursor.number(UInt32.self, from: body)
        guard writeCount > 0 || rowCount > 0 else { throw .invalid(field: "counts") }
        for _ in 0..<writeCount {
            let write = try Self.write(body, &cursor)
            let count = ExtentLayout.sealedByteCount(write.length)
            writes.append((write, try cursor.range(count, of: body)))
        }
        for _ in 0..<rowCount {
            let count = Int(try cursor.number(UInt16.self, from: body))
            guard count > 0 else { throw .invalid(field: "row") }
            rows.append(try cursor.range(count, of: body))
        }
        let count = IntentLayout.recordByteCount(fields: cursor.offset) - IntentLayout.overhead
        guard body.byteCount >= count else { throw .truncated }
        guard body.byteCount == count else { throw .trailingBytes }
        for offset in cursor.offset..<body.byteCount where body.byte(at: offset) != 0 {
            throw .trailingBytes
        }
    }

    private static func write(_ body: RawSpan, _ cursor: inout ByteCursor) throws(FormatError) -> Write {
        let item = try cursor.number(Int64.self, from: body)
        let offset = try cursor.number(Int64.self, from: body)
        let length = try cursor.number(UInt32.self, from: body)
        guard item > 0 else { throw .invalid(field: "item") }
        guard offset >= 0, offset <= Int64.max - Int64(length) else { throw .invalid(field: "offset") }
        guard length > 0, length <= ExtentLayout.byteCountMax else { throw .invalid(field: "length") }
        let low = try cursor.number(UInt64.self, from: body)
        let high = try cursor.number(UInt64.self, from: body)
        let epoch = try cursor.number(UInt32.self, from: body)
        guard epoch > 0 else { throw .invalid(field: "epoch") }
        return Write(
            item: item, offset: offset, length: Int(length), prefixLow: low, prefixHigh: high,
            epoch: Epoch(epoch))
    }

    package static func == (left: IntentRecord, right: IntentRecord) -> Bool {
        left.writes.elementsEqual(right.writes) { $0 == $1 } && left.rows == right.rows
    }
}

/// The body of a record under construction, written directly into a buffer.
///
/// All writes come before all rows.
package struct IntentWriter {
    private let buffer: AlignedBuffer
    private var end = IntentRecord.headByteCount
    private var writeCount: UInt32 = 0
    private var rowCount: UInt32 = 0

    /// Begins a body.
    ///
    /// - Parameter buffer: Must have room for the longest record.
    package init(_ buffer: AlignedBuffer) {
        precondition(buffer.count >= IntentLayout.recordByteCountMax)
        self.buffer = buffer
    }

    /// Whether nothing has been added.
    package var isEmpty: Bool { writeCount == 0 && rowCount == 0 }

    private func hasRoom(for count: Int) -> Bool { count <= IntentLayout.bodyByteCountMax - end }

    /// Adds an extent; false if there is no room for it.
    package mutating func append(_ write: IntentRecord.Write, sealed: RawSpan) -> Bool {
        precondition(rowCount == 0 && sealed.byteCount == ExtentLayout.sealedByteCount(write.length))
        guard hasRoom(for: IntentRecord.Write.headByteCount + sealed.byteCount) else { return false }
        buffer.withMutableBytes(end..<end + IntentRecord.Write.headByteCount) { head in
            head.storeLittleEndian(write.item, at: 0)
            head.storeLittleEndian(write.offset, at: 8)
            head.storeLittleEndian(UInt32(write.length), at: 16)
            head.storeLittleEndian(write.prefixLow, at: 20)
            head.storeLittleEndian(write.prefixHigh, at: 28)
            head.storeLittleEndian(write.epoch.number, at: 36)
        }
        buffer.copy(sealed, to: end + IntentRecord.Write.headByteCount)
        end += IntentRecord.Write.headByteCount + sealed.byteCount
        writeCount += 1
        return true
    }

    /// Adds the fields of an item's row; false if there is no room for them.
    package mutating func append(row: RawSpan) -> Bool {
        guard row.byteCount <= Int(UInt16.max), hasRoom(for: 2 + row.byteCount) else { return false }
        buffer.withMutableBytes(end..<end + 2) { $0.storeLittleEndian(UInt16(row.byteCount), at: 0) }
        buffer.copy(row, to: end + 2)
        end += 2 + row.byteCount
        rowCount += 1
        return true
    }

    /// Pads the body, so that its record ends at a multiple of the unit.
    ///
    /// - Returns: The size of the body, which begins at the beginning of the buffer, in bytes.
    package mutating func finish() -> Int {
        buffer.withMutableBytes(0..<IntentRecord.headByteCount) { head in
            head.storeLittleEndian(writeCount, at: 0)
            head.storeLittleEndian(rowCount, at: 4)
        }
        let count = IntentLayout.recordByteCount(fields: end) - IntentLayout.overhead
        buffer.withMutableBytes(end..<count) { $0.zero() }
        return count
    }
}
