import CofferCrypto
import CofferFormat
import CofferSystem
import CofferTestSupport
import Testing

import CofferStore
@testable import CofferVault

@Suite struct HeldLeavesTests {
    private static let leaf = ExtentLayout.sealedLeafByteCount

    private static func extent(_ number: Int64) -> HeldExtent {
        var row = ExtentRow(
            item: 1, offset: 0, length: 1 << 20, place: .remote, prefix: NoncePrefix(low: 1, high: 2),
            epoch: .first)
        row.remote = number
        return HeldExtent(row)
    }

    private static func part() -> BufferPart { BufferPart(copying: [UInt8](repeating: 1, count: leaf)) }

    @Test func theOldestLeavesGo() {
        var held = HeldLeaves()
        let leaves = (0..<200).map { HeldLeaves.Leaf(extent: Self.extent(Int64($0 / 16)), number: $0 % 16) }
        for leaf in leaves { held.add(Self.part(), leaf) }
        let kept = leaves.filter { held[$0] != nil }
        let buffers = kept.compactMap { held[$0]?.buffer.count }.reduce(0, +)
        #expect(buffers <= HeldLeaves.byteCountMax)
        #expect(buffers > HeldLeaves.byteCountMax - 2 * Self.leaf)
        #expect(kept == leaves.suffix(kept.count))
        // A leaf that was fetched, and is not held any more, tells that memory is short.
        #expect(held.fetchedCount(of: leaves[0].extent, with: 0..<1) == nil)
        #expect(held.fetchedCount(of: Self.extent(12), with: 7..<9) == 9)
    }

    /// A leaf must not keep the others that came with it in memory.
    @Test func aLeafIsHeldWithoutItsNeighbours() {
        var held = HeldLeaves()
        let three = BufferPart(copying: [UInt8](repeating: 7, count: 3 * Self.leaf))
        let leaf = HeldLeaves.Leaf(extent: Self.extent(1), number: 1)
        held.add(three[Self.leaf..<2 * Self.leaf], leaf)
        #expect(held[leaf].map { $0.buffer.count < 2 * Self.leaf } == true)
        #expect(held[leaf]?.count == Self.leaf)
    }

    @Test func theOldestExtentsAreForgotten() throws {
        var held = HeldLeaves()
        let bytes = [UInt8](repeating: 3, count: ExtentLayout.sealedByteCount(1 << 20))
        let hashes = LeafHashes(of: bytes.span.bytes)
        for number in 0...Int64(HeldLeaves.extentsMax) { held.add(hashes, of: Self.extent(number)) }
        #expect(held.hashes(of: Self.extent(0)) == nil)
        #expect(held.hashes(of: Self.extent(1))?.bytes == hashes.bytes)
        let leaf = HeldLeaves.Leaf(extent: Self.extent(1), number: 0)
        held.add(Self.part(), leaf)
        held.remove(leaf.extent)
        #expect(held[leaf] == nil)
        #expect(held.hashes(of: leaf.extent) == nil)
    }
}
