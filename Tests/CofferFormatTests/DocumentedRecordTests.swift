import CofferFormat
import CofferTestSupport
import Testing

/// The records of docs/values.json that are plain bytes.
@Suite struct DocumentedRecordTests {
    private let vault: [UInt8] = .init(0x10...0x1F)
    private let item: [UInt8] = .init(0x20...0x2F)
    private let log: [UInt8] = .init(0x30...0x3F)

    @Test func contentPages() throws {
        let values = try DocumentedValues()
        let leaf = try values.bytes("content pages", "leaf")
        let node = ContentNode.root(holding: 65_536)
        #expect(node == ContentNode(level: 3, index: 0))
        let page = try ContentPage(leaf.span.bytes, of: node, within: 0..<69_632)
        #expect(page.bytes == leaf)
        guard case .leaf(let entries) = page else {
            Issue.record("no leaf")
            return
        }
        #expect(entries.map(\.offset) == (0..<9).map { Int64(8192 * $0) })
        let vault = try #require(VaultID(bytes: vault))
        let origin = try #require(ItemID(bytes: item))
        let associated = ContentPage.associatedData(vault: vault, origin: origin, node)
        let expected = try values.bytes("content pages", "aad")
        #expect(associated == expected)
        let bytes = try values.bytes("content pages", "content value")
        let value = try ContentValue(bytes.span.bytes)
        #expect(value.size == 69_632 && value.origin == origin && value.bytes == bytes)
        guard case .tree(let root, let count) = value.extents else {
            Issue.record("no tree")
            return
        }
        #expect(root.node == node && count == 9)
        let inner = try values.bytes("content pages", "inner page with children 0 and 3, both this reference")
        let parent = try ContentPage(
            inner.span.bytes, of: ContentNode(level: 4, index: 0), within: 0..<1_000_000)
        #expect(parent.bytes == inner)
    }

    @Test func bodyOfACommit() throws {
        let values = try DocumentedValues()
        let plain = try values.bytes("commit", "body")
        let body = try CommitBody(padded: CheckpointPiece.padded(groups: plain))
        #expect(body.paddedBytes == CheckpointPiece.padded(groups: plain))
        #expect(
            body.previous == .zero && body.stateHash == StateHash.zero
                && body.clock == 1_795_219_199_000 << 16)
        #expect(body.introduction?.name == "Ann" && body.introduction?.label == "laptop")
        let other = try #require(LogID(bytes: .init(0x60...0x6F)))
        #expect(body.heads[other]?.sequence == 4)
        let facts = try values.bytes("commit", "facts")
        #expect(FactRecord.bytes(body.facts) == facts)
    }

    @Test func bodyAndGroupOfACheckpoint() throws {
        let values = try DocumentedValues()
        let plain = try values.bytes("checkpoint", "body")
        let body = try CheckpointBody(padded: CheckpointPiece.padded(groups: plain))
        #expect(body.paddedBytes == CheckpointPiece.padded(groups: plain))
        let state = try values.bytes("checkpoint", "state hash")
        #expect(body.stateHash.bytes == state)
        let (piece, facts) = (
            try values.bytes("checkpoint", "hash of the piece"),
            try values.bytes("checkpoint", "hash of the groups")
        )
        #expect(body.pieces.map(\.hash.bytes) == [piece])
        #expect(body.pieces.map(\.facts.bytes) == [facts])
        let head = try #require(body.logs.first).head
        let commit = try values.bytes("commit", "hash")
        #expect(head.hash.bytes == commit)
        let groups = try values.bytes("checkpoint", "group")
        let read = try CheckpointPiece.groups(padded: CheckpointPiece.padded(groups: groups))
        #expect(read.flatMap(\.bytes) == groups)
        let dot = Dot(log: try #require(LogID(bytes: log)), sequence: 1)
        #expect(read.map(\.stamp.dot) == [dot])
    }
}
