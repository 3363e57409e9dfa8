import CofferFormat
import CofferTestSupport
import Testing

/// How entries are cut into pages, and how pages are read.
@Suite struct ContentTreeTests {
    private struct Pages {
        var all: [ContentNode: ContentPage] = [:]
        private var count: UInt32 = 0

        mutating func place(_ node: ContentNode, _ page: ContentPage) -> PageReference {
            all[node] = page
            count += 1
            let place = SealedPlace(pack: PackID(low: 1, high: 2), position: 48 + count, hash: .zero)
            return PageReference(place: place, length: UInt32(page.bytes.count + 40), epoch: .first)
        }
    }

    private func build(_ entries: [ContentEntry]) -> (root: ContentNode, pages: [ContentNode: ContentPage]) {
        var pages = Pages()
        var tree = ContentTreeBuilder(lastOffset: entries.last?.offset ?? 0)
        let emit = { (node: ContentNode, page: ContentPage) throws(Never) in pages.place(node, page) }
        for entry in entries { tree.add(entry, emit) }
        return (tree.finish(emit).node, pages.all)
    }

    /// The rule of the format, taken literally: the nodes, and the entries of leaves.
    private func expected(
        _ entries: [ContentEntry], _ node: ContentNode
    ) -> [ContentNode: [ContentEntry]] {
        let mine = entries.filter { node.holds($0.offset) }
        if mine.isEmpty { return [:] }
        guard mine.count > 32 else { return [node: mine] }
        var nodes: [ContentNode: [ContentEntry]] = [node: []]
        for slot in 0..<16 {
            let child = ContentNode(level: node.level - 1, index: node.index * 16 + UInt64(slot))
            nodes.merge(expected(mine, child)) { first, _ in first }
        }
        return nodes
    }

    private func entries(_ random: inout SplitMix64) -> [ContentEntry] {
        let steps: [Int] = [1, 30, 4096, 1 << 20, 1 << 33]
        var offset: Int64 = 0
        return (0..<9 + random.below(400)).map { number in
            let step = random.pick(steps) ?? 1
            if random.oneIn(3) { offset += Int64(random.below(step)) }
            let length = Int64(1 + random.below(min(step, 1 << 20)))
            defer { offset += length }
            return ContentValueTests.entry(offset, length, number: UInt32(number))
        }
    }

    @Test(arguments: [UInt64](0..<40))
    func theTreeFollowsTheRule(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let entries = entries(&random)
        let (root, pages) = build(entries)
        let rule = expected(entries, .root(holding: entries[entries.count - 1].offset))
        #expect(Set(pages.keys) == Set(rule.keys), "seed \(seed)")
        #expect(root == .root(holding: entries[entries.count - 1].offset))
        for (node, page) in pages {
            switch page {
            case .leaf(let entries): #expect(entries == rule[node], "seed \(seed)")
            case .inner(let children):
                #expect(rule[node] == [], "seed \(seed)")
                #expect(children.allSatisfy { pages[$0.node] != nil && $0.node.level + 1 == node.level })
            }
            let codec = Codec<ContentPage>(
                decode: { try ContentPage($0.span.bytes, of: node, within: 0..<ContentValue.sizeMax) },
                encode: { $0.bytes })
            try codec.expectRoundTrip(page)
        }
    }

    @Test func damageIsSeen() throws {
        let (_, pages) = build((0..<40).map { ContentValueTests.entry($0 * 7, 7, number: UInt32($0)) })
        var random = SplitMix64(seed: 3)
        for (node, page) in pages {
            let codec = Codec<ContentPage>(
                decode: { try ContentPage($0.span.bytes, of: node, within: 0..<280) }, encode: { $0.bytes })
            codec.expectEveryTruncationFails(page.bytes)
            try codec.expectEveryFlipIsSeen(page.bytes)
            codec.readRandomChanges(of: page.bytes, &random)
            let other = ContentNode(level: node.level, index: node.index + 40)
            #expect(throws: FormatError.self) {
                try ContentPage(page.bytes.span.bytes, of: other, within: 0..<280)
            }
        }
    }

    @Test func aPageHasOneEncoding() {
        func refuses(_ bytes: [UInt8], level: UInt8 = 1, _ field: String) {
            #expect(throws: FormatError.invalid(field: field)) {
                try ContentPage(
                    bytes.span.bytes, of: ContentNode(level: level, index: 0), within: 0..<1_000_000)
            }
        }
        refuses([2, 0], "kind")
        refuses([0, 0], "count")
        refuses([0, 33], "count")
        refuses([1, 0, 0], "children")
        refuses([1, 1, 0], level: 0, "level")
    }

    /// A change of one extent of a large file changes one leaf and its ancestors.
    @Test func aChangeChangesFewPages() {
        let count = 1 << 14
        var entries = (0..<count).map {
            ContentValueTests.entry(Int64($0) << 20, 1 << 20, number: UInt32($0))
        }
        let before = build(entries).pages
        entries[5000] = ContentValueTests.entry(5000 << 20, 1 << 20, number: 1 << 20)
        let after = build(entries).pages
        #expect(Set(before.keys) == Set(after.keys))
        let changed = after.filter { $0.key.level == 5 && before[$0.key] != $0.value }
        #expect(changed.count == 1)
        #expect(before.count > count / 32)
        let depth = Set(after.keys.map(\.level)).count
        #expect(depth == 4)
    }

    @Test func nodesCoverTheirRanges() {
        for level in 0...ContentNode.levelMax {
            let node = ContentNode(level: level, holding: ContentValue.sizeMax)
            #expect(node.holds(ContentValue.sizeMax))
            #expect(node.range.contains(ContentValue.sizeMax))
            #expect(ContentNode(level: level, index: 0).range.lowerBound == 0)
        }
        #expect(ContentNode.root(holding: 31).level == 0)
        #expect(ContentNode.root(holding: 32).level == 1)
        #expect(ContentNode.root(holding: ContentValue.sizeMax).level == ContentNode.levelMax)
        #expect(ContentNode(level: 2, index: 3).isAbove(ContentNode(level: 1, index: 50)))
        #expect(!ContentNode(level: 2, index: 3).isAbove(ContentNode(level: 1, index: 64)))
        #expect(!ContentNode(level: 1, index: 3).isAbove(ContentNode(level: 2, index: 0)))
    }

    @Test func associatedDataIsThatOfTheFormat() {
        let data = ContentPage.associatedData(
            vault: VaultID(low: 1, high: 0), origin: ItemID(low: 2, high: 0), ContentNode(level: 3, index: 4))
        #expect(
            hexadecimal(data) == "01" + "01" + String(repeating: "00", count: 15) + "02"
                + String(repeating: "00", count: 15) + "03" + "0400000000000000")
    }
}
