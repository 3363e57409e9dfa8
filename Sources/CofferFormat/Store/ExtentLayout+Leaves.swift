// The leaves of an extent: the pieces of it that can be fetched and checked alone (docs/format.md, "Remote pack").
extension ExtentLayout {
    /// The number of leaves of an extent of `total` plaintext bytes, 1 to 16.
    package static func leafCount(_ total: Int) -> Int {
        (total + leafByteCount - 1) / leafByteCount
    }

    /// The leaves with some blocks of an extent.
    package static func leaves(ofBlocks blocks: Range<Int>) -> Range<Int> {
        blocks.lowerBound / leafBlockCount..<(blocks.upperBound + leafBlockCount - 1) / leafBlockCount
    }

    /// The bytes of the sealed extent that some leaves take up, in an extent of `total` plaintext bytes.
    package static func sealedRange(ofLeaves leaves: Range<Int>, total: Int) -> Range<Int> {
        let end = min(leaves.upperBound * sealedLeafByteCount, sealedByteCount(total))
        return leaves.lowerBound * sealedLeafByteCount..<end
    }

    /// The size of the hashes of the leaves, which follow the sealed extent in a remote pack, in bytes; 0 for an
    /// extent of a single leaf.
    package static func leafHashesByteCount(_ total: Int) -> Int {
        total > leafByteCount ? leafCount(total) * ContentHash.byteCount : 0
    }

    /// The size that an extent of `total` plaintext bytes has in a remote pack: sealed, with the hashes of its
    /// leaves.
    package static func remoteByteCount(_ total: Int) -> Int {
        sealedByteCount(total) + leafHashesByteCount(total)
    }
}
