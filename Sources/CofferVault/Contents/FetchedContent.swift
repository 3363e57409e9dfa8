package import CofferFormat
internal import CofferStore
internal import CofferSystem

/// The content of a file as described by another device, with all its extents; ready to be put in place.
package struct FetchedContent: Sendable {
    /// The other device's description.
    package let value: ContentValue
    /// All extents, by offset.
    package let entries: [ContentEntry]
    /// The pages that were fetched.
    let pages: [Page]
    /// Parts of the tree that this device already has rows for.
    let known: [ContentNode]

    /// A page, without the item that it will belong to.
    struct Page: Sendable {
        let node: ContentNode
        let plain: ContentHash
        let reference: PageReference
    }

    /// A content whose extents are in the value itself, or that has none; nil for a content with pages.
    package init?(_ value: ContentValue) {
        guard case .entries(let entries) = value.extents else { return nil }
        self.value = value
        self.entries = entries
        pages = []
        known = []
    }

    init(_ value: ContentValue, _ entries: [ContentEntry], _ pages: [Page], known: [ContentNode]) {
        self.value = value
        self.entries = entries
        self.pages = pages
        self.known = known
    }
}

extension Contents {
    /// Fetches the pages of a content's tree, except for parts that a file of this device also has.
    ///
    /// Takes the vault's lock only briefly; waits for the remote.
    ///
    /// - Parameter number: The file that probably has parts of the content; nil for none.
    /// - Throws: `.damaged` if a page is not the one that the value names; `.notArrived`, `.keyMissing`,
    ///   `.unreachable`, `.timedOut`.
    package func fetchExtents(
        of value: ContentValue, for number: Int64?
    ) throws(FileSystemError) -> FetchedContent {
        if let whole = FetchedContent(value) { return whole }
        guard case .tree(let root, let count) = value.extents else { throw .invalidArgument }
        var here = KnownPages()
        if let number {
            let reader = try vault.state.withLock { state throws(FileSystemError) in
                try state.index.makeContentReader()
            }
            if let item = try reader.item(number),
                item.origin == value.origin, item.flags.contains(.hasPages)
            {
                here = try KnownPages(item, reader)
            }
        }
        var fetch = TreeFetch(vault: vault, value: value, count: count, here: here)
        try fetch.walk([root])
        return try fetch.finish(root)
    }

    /// Fetches the pages of a content's tree, and passes on its extents and pages in parts, by ascending
    /// offset.
    ///
    /// Its memory does not grow with the content. Takes no lock; waits for the remote.
    ///
    /// - Parameters:
    ///   - countMax: The approximate number of extents in a part.
    ///   - take: Receives the part of the content that ends at an offset; returns false to stop.
    /// - Returns: Whether everything was passed on.
    /// - Throws: The errors of `fetchExtents`, possibly after some parts were passed on.
    func fetchExtents(
        of value: ContentValue, countMax: Int,
        _ take: @escaping (FetchedContent, _ end: Int64) throws(FileSystemError) -> Bool
    ) throws(FileSystemError) -> Bool {
        guard case .tree(let root, let count) = value.extents else { throw .invalidArgument }
        var fetch = TreeFetch(vault: vault, value: value, count: count, here: KnownPages())
        fetch.part = TreeFetch.Part(countMax: countMax, take: take)
        try fetch.walk([root])
        if fetch.part?.isEnded == true { return false }
        let last = try fetch.finish(root)
        return try take(last, value.size)
    }
}

/// The pages that a file's rows would make now, and that are on the remote.
private struct KnownPages {
    private(set) var references: [ContentNode: PageReference] = [:]
    private var entries: [ContentEntry] = []

    init() {}

    init(_ item: ItemRow, _ reader: ContentReader) throws(FileSystemError) {
        let nowhere = SealedPlace(pack: PackID(low: 0, high: 0), position: 0, hash: .zero)
        let unknown = PageReference(place: nowhere, length: 0, epoch: .first)
        let gathering = try ContentGathering(item, reader)
        var entries: [ContentEntry] = []
        var references: [ContentNode: PageReference] = [:]
        _ = try gathering.extents { rows throws(FileSystemError) in
            let places = rows.map { $0.remote ?? nowhere }
            entries += zip(rows, places).map { $0.row.entry(at: $1) }
            return places
        } emit: { node, page throws(FileSystemError) in
            let reference = try gathering.place(page, node) { () throws(FileSystemError) in unknown }
            if reference != unknown { references[node] = reference }
            return reference
        }
        self.entries = entries
        self.references = references
    }

    /// The entries in the range of a node.
    func entries(in node: ContentNode) -> ArraySlice<ContentEntry> {
        let range = node.range
        let start = entries.partitioningIndex { $0.offset >= range.lowerBound }
        let end = entries.partitioningIndex { $0.offset >= range.upperBound }
        return entries[start..<max(start, end)]
    }
}

/// Fetches a tree from its root down, in the order of offsets.
private struct TreeFetch {
    /// The maximum gap between pages in one request, and the maximum size of a request, in bytes.
    private static let gapByteCountMax = 4 << 10, requestByteCountMax = 1 << 20

    let vault: Vault
    let value: ContentValue
    let count: Int
    let here: KnownPages
    private var entries: [ContentEntry] = []
    private var pages: [FetchedContent.Page] = []
    private var known: [ContentNode] = []
    /// The end and the offset of the last entry.
    private var end: Int64 = 0, lastOffset: Int64 = -1
    /// The number of entries so far.
    private var taken = 0
    /// Receives parts; nil if everything is kept.
    var part: Part?

    /// Passes entries on when there are enough of them.
    struct Part {
        let countMax: Int
        let take: (FetchedContent, Int64) throws(FileSystemError) -> Bool
        /// Whether the receiver wants no more.
        var isEnded = false
    }

    init(vault: Vault, value: ContentValue, count: Int, here: KnownPages) {
        self.vault = vault
        self.value = value
        self.count = count
        self.here = here
    }

    /// Reads pages that are neighbours in the tree, and all pages below them.
    mutating func walk(_ children: [ContentPage.Child]) throws(FileSystemError) {
        var fetched: [ContentNode: [UInt8]] = [:]
        for (index, child) in children.enumerated() {
            if part?.isEnded == true { return }
            if here.references[child.node] == child.reference {
                known.append(child.node)
                let local = here.entries(in: child.node)
                guard (local.first?.offset ?? 0) >= end else { throw damaged(child) }
                try add(Array(local), of: child)
                continue
            }
            if fetched[child.node] == nil { fetched = try fetch(children[index...]) }
            guard let sealed = fetched[child.node] else { throw damaged(child) }
            try read(sealed, of: child)
        }
    }

    private mutating func read(_ sealed: [UInt8], of child: ContentPage.Child) throws(FileSystemError) {
        guard unsafe RemoteHash.page(sealed.span.bytes) == child.reference.place.hash else {
            throw damaged(child)
        }
        let keys = vault.keys
        guard keys.has(child.reference.epoch) else { throw .keyMissing(child.reference.epoch) }
        guard let plain = keys.open(page: sealed, child.node, of: value.origin, child.reference.epoch),
            let page = unsafe try? ContentPage(plain.span.bytes, of: child.node, within: end..<value.size)
        else { throw damaged(child) }
        pages.append(
            .init(
                node: child.node, plain: unsafe RemoteHash.plainPage(plain.span.bytes),
                reference: child.reference))
        switch page {
        case .leaf(let entries): try add(entries, of: child)
        case .inner(let below):
            let before = taken
            try walk(below)
            if part?.isEnded == true { return }
            // Fewer entries would be in a leaf: each content has exactly one tree, and no page is empty.
            guard taken - before > ContentNode.entryCountMax else { throw damaged(child) }
        }
    }

    private mutating func add(
        _ more: [ContentEntry], of child: ContentPage.Child
    ) throws(FileSystemError) {
        guard taken + more.count <= count else { throw damaged(child) }
        entries += more
        taken += more.count
        end = more.last?.end ?? end
        lastOffset = more.last?.offset ?? lastOffset
        // A page that is known here may belong to a larger content.
        guard end <= value.size else { throw damaged(child) }
        guard let part, entries.count >= part.countMax else { return }
        let given = FetchedContent(value, entries, pages, known: [])
        (entries, pages) = ([], [])
        self.part?.isEnded = try !part.take(given, end)
    }

    /// Fetches the first page, along with pages that follow closely on the remote.
    private func fetch(
        _ children: ArraySlice<ContentPage.Child>
    ) throws(FileSystemError) -> [ContentNode: [UInt8]] {
        guard let first = children.first else { return [:] }
        var range = first.range
        var group: [ContentPage.Child] = []
        for child in children where child.reference.place.pack == first.reference.place.pack {
            let next = child.range
            guard next.lowerBound >= range.upperBound || group.isEmpty,
                next.lowerBound - range.upperBound <= Self.gapByteCountMax,
                next.upperBound - range.lowerBound <= Self.requestByteCountMax
            else { break }
            range = range.lowerBound..<next.upperBound
            group.append(child)
        }
        let bytes = try vault.remoteReads.fetch(first.reference.place.pack, range)
        var pages: [ContentNode: [UInt8]] = [:]
        for child in group {
            let start = child.range.lowerBound - range.lowerBound
            pages[child.node] = bytes[start..<start + child.range.count].bytes
        }
        return pages
    }

    /// Checks the properties that only the whole tree shows.
    func finish(_ root: ContentPage.Child) throws(FileSystemError) -> FetchedContent {
        guard taken == count, .root(holding: lastOffset) == root.node else { throw damaged(root) }
        return FetchedContent(value, entries, pages, known: known)
    }

    private func damaged(_ child: ContentPage.Child) -> FileSystemError {
        let place = child.reference.place
        return .damaged(place: "a page of content at byte \(place.position) of remote pack \(place.pack)")
    }
}

extension ContentPage.Child {
    /// Its bytes in the remote pack.
    fileprivate var range: Range<Int> {
        Int(reference.place.position)..<Int(reference.place.position) + Int(reference.length)
    }
}
