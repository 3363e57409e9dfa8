/// How the content of an extent is cut into blocks and sealed (docs/format.md, "Extent").
package enum ExtentLayout {
    /// Plaintext bytes of a block; the last block of an extent may be shorter.
    package static let blockByteCount = 4_096
    /// The most plaintext bytes of an extent.
    package static let byteCountMax = 1 << 20
    /// Bytes of the tag behind each block's ciphertext.
    package static let tagByteCount = 16
    /// Bytes of a sealed block that is full.
    package static let sealedBlockByteCount = blockByteCount + tagByteCount

    /// Blocks of an extent of `byteCount` > 0 plaintext bytes.
    @inline(__always)
    package static func blockCount(_ byteCount: Int) -> Int {
        (byteCount + blockByteCount - 1) / blockByteCount
    }

    /// Stored bytes of an extent of `byteCount` plaintext bytes.
    @inline(__always)
    package static func sealedByteCount(_ byteCount: Int) -> Int {
        byteCount + blockCount(byteCount) * tagByteCount
    }

    /// Where block `number` begins in the stored extent.
    @inline(__always)
    package static func sealedOffset(ofBlock number: Int) -> Int {
        number * sealedBlockByteCount
    }

    /// Plaintext bytes of block `number` in an extent of `total` plaintext bytes.
    @inline(__always)
    package static func byteCount(ofBlock number: Int, total: Int) -> Int {
        min(blockByteCount, total - number * blockByteCount)
    }
}

/// The associated data of a block: 50 bytes that bind it to its place.
///
///     offset  bytes  field
///          0      1  format version, 1
///          1     16  vault id
///         17     16  item id
///         33      8  offset of the extent in the item, when it was sealed
///         41      8  number of the block
///         49      1  1 for the extent's last block, else 0
package struct BlockAssociatedData {
    /// The 50 bytes.
    package private(set) var bytes: [UInt8]

    /// For block 0, as one that is not the last, of an extent that begins at byte `base` of the item.
    package init(vault: VaultID, item: ItemID, base: Int) {
        var writer = ByteWriter(capacity: 50)
        writer.number(UInt8(1))
        writer.identifier(vault)
        writer.identifier(item)
        writer.number(UInt64(base))
        writer.number(UInt64(0))
        writer.number(UInt8(0))
        bytes = writer.finish()
    }

    /// Turns to another block of the same extent.
    package mutating func select(block: Int, isLast: Bool) {
        for index in 0..<8 {
            bytes[41 + index] = UInt8(truncatingIfNeeded: block >> (8 * index))
        }
        bytes[49] = isLast ? 1 : 0
    }
}
