import CofferFormat
import CofferTestSupport
import Testing

import CofferStore

@Suite struct LeafHashTests {
    @Test func asDocumented() throws {
        let values = try DocumentedValues()
        let sealed = try values.bytes("extent", "sealed")
        let small = LeafHashes(of: sealed.span.bytes)
        #expect(small.bytes == (try values.bytes("extent", "hash of its leaf")))
        #expect(small.root.bytes == (try values.bytes("extent", "hash")))
        let bytes = (0..<70_288).map { UInt8($0 % 251) }
        let large = LeafHashes(of: bytes.span.bytes)
        #expect(large.bytes == (try values.bytes("extent", "leaves of 70,288 bytes")))
        #expect(large.root.bytes == (try values.bytes("extent", "hash of 70,288 bytes")))
    }

    @Test func leavesAreCheckedAlone() throws {
        let total = 3 * ExtentLayout.leafByteCount + 5000
        let sealed = (0..<ExtentLayout.sealedByteCount(total)).map { UInt8($0 % 251) }
        let whole = LeafHashes(of: sealed.span.bytes)
        let hashes = try #require(LeafHashes(whole.bytes, of: total, with: whole.root))
        func isLeaf(_ bytes: [UInt8], _ number: Int) -> Bool {
            hashes.isLeaf(bytes.span.bytes, number: number)
        }
        for leaf in 0..<4 {
            let part = Array(sealed[ExtentLayout.sealedRange(ofLeaves: leaf..<leaf + 1, total: total)])
            #expect(isLeaf(part, leaf))
            #expect(!isLeaf(part, (leaf + 1) % 4))
            var wrong = part
            wrong[wrong.count - 1] ^= 1
            #expect(!isLeaf(wrong, leaf))
            #expect(!isLeaf(Array(part.dropLast()), leaf))
        }
        // Of another extent, another length, or in another order.
        #expect(LeafHashes(whole.bytes, of: total, with: .zero) == nil)
        #expect(LeafHashes(whole.bytes, of: 2 * ExtentLayout.leafByteCount, with: whole.root) == nil)
        let swapped = Array(whole.bytes[32..<64] + whole.bytes[..<32] + whole.bytes[64...])
        #expect(LeafHashes(swapped, of: total, with: whole.root) == nil)
        #expect(LeafHashes(Array(whole.bytes.dropLast(32)), of: total - 5000, with: whole.root) == nil)
    }

    @Test func layout() {
        let leaf = ExtentLayout.leafByteCount
        #expect([1, leaf, leaf + 1, 1 << 20].map(ExtentLayout.leafCount) == [1, 1, 2, 16])
        #expect([1, leaf, leaf + 1, 1 << 20].map(ExtentLayout.leafHashesByteCount) == [0, 0, 64, 512])
        #expect(ExtentLayout.leaves(ofBlocks: 15..<16) == 0..<1)
        #expect(ExtentLayout.leaves(ofBlocks: 15..<17) == 0..<2)
        #expect(ExtentLayout.leaves(ofBlocks: 16..<33) == 1..<3)
        #expect(ExtentLayout.sealedRange(ofLeaves: 1..<2, total: leaf + 1) == 65_792..<65_809)
    }
}
