import CofferFormat

// Records of content from other devices; each has one encoding.
extension Decoder {
    private static let place = SealedPlace(pack: PackID(low: 1, high: 2), position: 48, hash: .zero)

    private static func entries(_ count: Int) -> [ContentEntry] {
        (0..<count).map { (number: Int) -> ContentEntry in
            ContentEntry(
                offset: Int64(number) * 10, length: 10, base: Int64(number) * 10, total: 10, place: place,
                prefixLow: 1, prefixHigh: 2, epoch: .first)
        }
    }

    private static func child(_ node: ContentNode) -> ContentPage.Child {
        .init(node: node, reference: PageReference(place: place, length: 200, epoch: .first))
    }

    static let remotePackHeader = Decoder(name: "remote-pack-header", byteCountMax: 64) {
        [RemotePackHeader(vault: VaultID(low: 1, high: 2), pack: PackID(low: 3, high: 4)).bytes]
    } run: { bytes in
        guard let header = try? RemotePackHeader(bytes.span.bytes) else { return .refused }
        try expect(bytes.starts(with: header.bytes), "a remote pack's header has two encodings")
        return .taken
    }

    static let contentValue = Decoder(name: "content-value", byteCountMax: 1024) {
        let origin = ItemID(low: 1, high: 2)
        let root = child(ContentNode(level: 1, index: 0))
        return [
            ContentValue(size: 100, origin: origin, extents: .entries(entries(0))).bytes,
            ContentValue(size: 100, origin: origin, extents: .entries(entries(8))).bytes,
            ContentValue(size: 100, origin: origin, extents: .tree(root: root, count: 9)).bytes,
        ]
    } run: { bytes in
        guard let value = try? ContentValue(bytes.span.bytes) else { return .refused }
        try expect(value.bytes == bytes, "a content value has two encodings")
        if case .entries(let entries) = value.extents {
            try expect(entries.allSatisfy { $0.end <= value.size }, "an entry ends behind the content")
        }
        return .taken
    }

    /// The node that a page claims to be, and the page.
    static let contentPage = Decoder(name: "content-page", byteCountMax: 3200) {
        let children = [0, 3, 15].map { child(ContentNode(level: 1, index: $0)) }
        return [[2, 0] + ContentPage.leaf(entries(32)).bytes, [2, 0] + ContentPage.inner(children).bytes]
    } run: { bytes in
        guard bytes.count >= 2 else { return .refused }
        let node = ContentNode(level: bytes[0] & 15, index: UInt64(bytes[1]))
        let page = Array(bytes[2...])
        let range: Range<Int64> = 0..<ContentValue.sizeMax
        guard let read = try? ContentPage(page.span.bytes, of: node, within: range) else { return .refused }
        try expect(read.bytes == page, "a page has two encodings")
        if case .leaf(let entries) = read {
            try expect(entries.allSatisfy { node.holds($0.offset) }, "an entry lies outside of its page")
        }
        return .taken
    }
}
