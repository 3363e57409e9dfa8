internal import CofferSystem

/// How the records of the intent log are arranged in its file (docs/format.md, "Intent log").
///
///     offset  bytes  field
///          0      4  bytes of the record: a multiple of 4096, up to 256 KiB
///          4     24  nonce
///         28      …  ciphertext of the body
///          …     16  tag
package enum IntentLayout {
    /// Each record begins and ends at a multiple of this size, so that no page that is on disk is written
    /// again and torn.
    package static let unitByteCount = 4096
    /// The largest size of a record, in bytes.
    package static let recordByteCountMax = 256 << 10
    /// The offset of the nonce in a record.
    package static let nonceOffset = 4
    /// The offset of the sealed body in a record.
    package static let bodyOffset = 28
    /// The size of the tag at the end, in bytes.
    package static let tagByteCount = 16
    /// How many bytes a record is longer than its body.
    package static let overhead = bodyOffset + tagByteCount
    /// The largest size of a body, in bytes.
    package static let bodyByteCountMax = recordByteCountMax - overhead

    /// The size of a record whose body has `fields` bytes before it is padded with zeros.
    package static func recordByteCount(fields: Int) -> Int {
        (fields + overhead + unitByteCount - 1) / unitByteCount * unitByteCount
    }

    /// The size that a record states; nil if it is not a possible one.
    ///
    /// - Parameter room: Bytes from the beginning of the record to the end of the file.
    package static func recordByteCount(_ head: RawSpan, room: Int) -> Int? {
        guard head.byteCount >= nonceOffset else { return nil }
        let count = Int(head.littleEndian(at: 0, as: UInt32.self))
        guard count > 0, count % unitByteCount == 0, count <= recordByteCountMax, count <= room else {
            return nil
        }
        return count
    }
}

/// The associated data of a record: 181 or 309 bytes that bind it to its place, and to the commit that it is
/// based on.
///
///     offset  bytes  field
///          0      1  format version, 1
///          1     16  vault id
///         17      8  offset of the record in the file
///         25      4  bytes of the record
///         29      8  `commits` of the index's state row
///         37      …  `digests` of the index's state row
package struct IntentAssociatedData: Sendable {
    /// The 37 bytes, followed by `digests`.
    package private(set) var bytes: [UInt8]

    /// Begins the data for records that are based on one commit; `select` sets the place.
    package init(vault: VaultID, commits: Int64, digests: [UInt8]) {
        var writer = ByteWriter(capacity: 37 + digests.count)
        writer.number(UInt8(1))
        writer.identifier(vault)
        writer.number(UInt64(0))
        writer.number(UInt32(0))
        writer.number(commits)
        writer.append(digests)
        bytes = writer.finish()
    }

    /// Switches to one record.
    package mutating func select(offset: Int, byteCount: Int) {
        bytes.withMutableRawSpan { bytes in
            bytes.storeLittleEndian(UInt64(offset), at: 17)
            bytes.storeLittleEndian(UInt32(byteCount), at: 25)
        }
    }
}
