internal import CofferCrypto
package import CofferFormat
internal import CofferSystem

/// The hashes of an extent's leaves, with which each leaf can be checked alone (docs/format.md, "Remote pack").
package struct LeafHashes: Sendable {
    private static let tree = Blake2bTree(.extent, leafByteCount: ExtentLayout.sealedLeafByteCount)

    /// The hashes, one after another.
    package let bytes: [UInt8]

    /// The hashes of the leaves of a sealed extent.
    package init(of sealed: RawSpan) {
        let count = Self.count(sealed.byteCount)
        var hashes: [UInt8] = []
        hashes.reserveCapacity(count * ContentHash.byteCount)
        for number in 0..<count {
            let start = number * ExtentLayout.sealedLeafByteCount
            let end = min(start + ExtentLayout.sealedLeafByteCount, sealed.byteCount)
            hashes += Self.tree.leaf(
                sealed.extracting(start..<end), number: number, isLast: number == count - 1)
        }
        bytes = hashes
    }

    /// Takes hashes that a remote has; nil if they are not those of an extent.
    ///
    /// - Parameters:
    ///   - total: The plaintext bytes of the extent.
    ///   - hash: The hash of the extent.
    package init?(_ bytes: [UInt8], of total: Int, with hash: ContentHash) {
        guard bytes.count == ExtentLayout.leafCount(total) * ContentHash.byteCount else { return nil }
        self.bytes = bytes
        guard root == hash else { return nil }
    }

    /// The number of leaves.
    package var count: Int { bytes.count / ContentHash.byteCount }

    /// The hash of the extent: the root of the tree.
    package var root: ContentHash {
        let root = unsafe Self.tree.root(bytes.span.bytes)
        return unsafe ContentHash(root.span.bytes, at: 0)
    }

    /// Whether sealed bytes are those of a leaf.
    package func isLeaf(_ sealed: RawSpan, number: Int) -> Bool {
        let start = number * ContentHash.byteCount
        let hash = Self.tree.leaf(sealed, number: number, isLast: number == count - 1)
        return bytes[start..<start + ContentHash.byteCount].elementsEqual(hash)
    }

    private static func count(_ sealedByteCount: Int) -> Int {
        (sealedByteCount + ExtentLayout.sealedLeafByteCount - 1) / ExtentLayout.sealedLeafByteCount
    }
}
