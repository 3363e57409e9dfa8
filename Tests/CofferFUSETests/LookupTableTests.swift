@testable import CofferFUSE
import Testing

/// Which nodes the kernel knows (LOOKUP adds, FORGET subtracts).
@Suite struct LookupTableTests {
    private let node = Node(slot: 1, item: 7)

    @Test func forgottenAfterAsManyLookups() {
        let table = LookupTable()
        #expect(!table.isKnown(node))
        for _ in 0..<3 { table.add(node) }
        #expect(!table.subtract(1, from: node))
        #expect(table.isKnown(node))
        #expect(table.subtract(2, from: node))
        #expect(!table.isKnown(node))
    }

    /// The kernel may look up a node more often than 32 bits can count.
    @Test func moreLookupsThanFitIn32Bits() {
        let table = LookupTable(counts: [node.number: UInt64(UInt32.max)])
        table.add(node)
        #expect(!table.subtract(UInt64(UInt32.max), from: node))
        #expect(table.subtract(1, from: node))
    }

    @Test func unknownNodesAreForgotten() {
        #expect(LookupTable().subtract(1, from: node))
    }

    @Test func forgettingMoreThanWasLookedUp() {
        let table = LookupTable()
        table.add(node)
        #expect(table.subtract(.max, from: node))
        table.add(node)
        #expect(!table.subtract(0, from: node))
        #expect(table.isKnown(node))
    }

    @Test func nodesOfDifferentVaultsAreDifferent() {
        let table = LookupTable()
        table.add(node)
        #expect(!table.isKnown(Node(slot: 2, item: 7)))
        #expect(table.subtract(1, from: Node(slot: 2, item: 7)))
        #expect(table.isKnown(node))
    }

    @Test func manyThreads() async {
        let table = LookupTable()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for item in 1...500 as ClosedRange<Int64> { table.add(Node(slot: 1, item: item)) }
                }
            }
        }
        for item in 1...500 as ClosedRange<Int64> {
            #expect(!table.subtract(7, from: Node(slot: 1, item: item)))
            #expect(table.subtract(1, from: Node(slot: 1, item: item)))
        }
    }
}
