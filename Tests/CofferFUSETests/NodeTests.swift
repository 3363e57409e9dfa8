import CofferFUSE
import Testing

/// How nodes are numbered: 16 bits of slot, 48 bits of item.
@Suite struct NodeTests {
    @Test func rootIsOne() {
        #expect(Node.root.number == 1)
        #expect(Node(number: 1) == .root)
    }

    /// The root of the first vault is not the root of the mount, though it is item 1 as well.
    @Test func rootsOfVaults() {
        #expect(Node(slot: 1, item: 1).number == 0x0001_0000_0000_0001)
        #expect(Node(slot: 65_535, item: 1).number == 0xFFFF_0000_0000_0001)
        #expect(Node(slot: 1, item: 1) != .root)
    }

    @Test(arguments: [0, 1, 2, 255, 65_535] as [UInt16], [1, 2, 4096, 1 << 32, 1 << 48 - 1] as [Int64])
    func roundTrip(slot: UInt16, item: Int64) {
        let node = Node(slot: slot, item: item)
        #expect(Node(number: node.number) == node)
        #expect(node.number >> 48 == UInt64(slot))
        #expect(node.number & 0xFFFF_FFFF_FFFF == UInt64(item))
    }

    /// Every number of a stale file handle becomes a node, and the same number again.
    @Test func anyNumber() {
        for seed in 0..<1000 as Range<UInt64> {
            let number = seed &* 0x9E37_79B9_7F4A_7C15
            #expect(Node(number: number).number == number)
            #expect(Node(number: number).item >= 0)
        }
        #expect(Node(number: .max).number == .max)
        #expect(Node(number: 0).number == 0)
    }
}
