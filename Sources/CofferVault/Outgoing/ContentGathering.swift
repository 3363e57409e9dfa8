internal import CofferFormat
internal import CofferStore

/// Turns one file's content into a value: its ranges into entries, and these into pages.
final class ContentGathering {
    /// The number of ranges that are looked up at a time.
    private static let batchCount = 256

    let item: ItemRow
    private let reader: ContentReader
    /// Pages on the remote that have not been found unchanged yet.
    private(set) var left: [ContentNode: RemotePageRow]
    /// New pages.
    private(set) var new: [RemotePageRow] = []

    init(_ item: ItemRow, _ reader: ContentReader) throws(FileSystemError) {
        self.item = item
        self.reader = reader
        let pages = item.flags.contains(.hasPages) ? try reader.pages(of: item.number) : []
        left = Dictionary(pages.map { ($0.node, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Adds a page of the tree.
    ///
    /// - Parameters:
    ///   - avoiding: Packs whose pages are sent again.
    ///   - send: Seals and sends a page that the remote does not have.
    /// - Returns: The page's place on the remote.
    func place(
        _ page: ContentPage, _ node: ContentNode, avoiding packs: Set<PackID> = [],
        send: () throws(FileSystemError) -> PageReference
    ) throws(FileSystemError) -> PageReference {
        let bytes = page.bytes
        let plain = RemoteHash.plainPage(unsafe bytes.span.bytes)
        if let known = left[node], known.plain == plain, !packs.contains(known.reference.place.pack) {
            left[node] = nil
            return known.reference
        }
        let reference = try send()
        new.append(RemotePageRow(item: item.number, node: node, plain: plain, reference: reference))
        return reference
    }

    /// Visits the file's ranges in order, and returns the extents of its value.
    ///
    /// - Parameters:
    ///   - places: Returns the places of some ranges' extents on the remote.
    ///   - emit: Receives the pages of a tree.
    func extents(
        _ places: ([ContentReader.PlacedExtent]) throws(FileSystemError) -> [SealedPlace],
        emit: ContentTreeBuilder.Emit<FileSystemError>
    ) throws(FileSystemError) -> ContentValue.Extents {
        var first: [ContentEntry] = []
        var tree: ContentTreeBuilder?
        var count = 0
        var after: Int64 = -1
        while true {
            let rows = try rows(after: after)
            guard count + rows.count <= ContentValue.entryCountMax else { throw .fileTooLarge }
            for ((row, _), place) in zip(rows, try places(rows)) {
                after = row.offset
                count += 1
                let entry = row.entry(at: place)
                if tree == nil, count > ContentValue.inlineEntryCountMax {
                    var new = ContentTreeBuilder(lastOffset: try lastOffset())
                    for entry in first { try new.add(entry, emit) }
                    tree = new
                }
                if tree == nil { first.append(entry) } else { try tree?.add(entry, emit) }
            }
            if rows.count < Self.batchCount { break }
        }
        guard let root = try tree?.finish(emit) else { return .entries(first) }
        return .tree(root: root, count: count)
    }

    /// The ranges after an offset; ranges beyond the end of the file do not count.
    private func rows(after offset: Int64) throws(FileSystemError) -> [ContentReader.PlacedExtent] {
        let rows = try reader.extents(of: item.number, after: offset, limit: Self.batchCount)
        guard let last = rows.last, last.row.end > item.size else { return rows }
        return rows.filter { $0.row.offset < item.size }.map { placed in
            var placed = placed
            placed.row.length = min(placed.row.length, item.size - placed.row.offset)
            return placed
        }
    }

    private func lastOffset() throws(FileSystemError) -> Int64 {
        try reader.lastOffset(of: item.number, before: item.size)
    }
}
