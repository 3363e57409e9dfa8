/// How an extent is cut into blocks and sealed (docs/format.md, "Extent").
package enum ExtentLayout {
    /// Plaintext bytes of a block; the last block of an extent may be shorter.
    package static let blockByteCount = 4_096
    /// The largest size of an extent, in plaintext bytes.
    package static let byteCountMax = 1 << 20
    /// The size of the tag after each block's ciphertext, in bytes.
    package static let tagByteCount = 16
    /// The size of a full sealed block, in bytes.
    package static let sealedBlockByteCount = blockByteCount + tagByteCount

    /// The number of blocks of a leaf, which has a hash of its own on a remote; the last leaf may be shorter.
    package static let leafBlockCount = 16
    /// Plaintext bytes of a leaf; the last leaf of an extent may be shorter.
    package static let leafByteCount = leafBlockCount * blockByteCount
    /// The size of a full sealed leaf, in bytes.
    package static let sealedLeafByteCount = leafBlockCount * sealedBlockByteCount

    /// The number of blocks of an extent of `byteCount` plaintext bytes, at least 1.
    @inline(__always)
    package static func blockCount(_ byteCount: Int) -> Int {
        (byteCount + blockByteCount - 1) / blockByteCount
    }

    /// The size of a sealed extent of `byteCount` plaintext bytes, in bytes.
    @inline(__always)
    package static func sealedByteCount(_ byteCount: Int) -> Int {
        byteCount + blockCount(byteCount) * tagByteCount
    }

    /// Where block `number` begins in the sealed extent, in bytes.
    @inline(__always)
    package static func sealedOffset(ofBlock number: Int) -> Int {
        number * sealedBlockByteCount
    }

    /// The bytes of the sealed extent that some blocks take up, in an extent of `total` plaintext bytes.
    @inline(__always)
    package static func sealedRange(of blocks: Range<Int>, total: Int) -> Range<Int> {
        let end = min(sealedOffset(ofBlock: blocks.upperBound), sealedByteCount(total))
        return sealedOffset(ofBlock: blocks.lowerBound)..<end
    }

    /// The part of the sealed extent that is taken up by the blocks that lie wholly in a range.
    ///
    /// - Parameters:
    ///   - range: A range of the extent's plaintext, in bytes.
    ///   - total: The plaintext bytes of the extent.
    package static func sealedRange(ofBlocksIn range: Range<Int>, total: Int) -> Range<Int> {
        let end = range.upperBound == total ? blockCount(total) : range.upperBound / blockByteCount
        let first = blockCount(range.lowerBound)
        return first < end ? sealedRange(of: first..<end, total: total) : 0..<0
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
///         49      1  1 for the extent's last block, otherwise 0
package struct BlockAssociatedData {
    /// The 50 bytes.
    package private(set) var bytes: [UInt8]

    /// Begins with block 0, not as the last one, of an extent at byte `base` of the item.
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

    /// Switches to another block of the same extent.
    package mutating func select(block: Int, isLast: Bool) {
        for index in 0..<8 {
            bytes[41 + index] = UInt8(truncatingIfNeeded: block >> (8 * index))
        }
        bytes[49] = isLast ? 1 : 0
    }
}
