internal import CofferFacts
internal import CofferFormat
internal import CofferStore
internal import CofferSystem

/// A content whose bytes have another place on the remote, in no commit so far.
struct ContentMove: Sendable {
    /// The file.
    let item: ItemID, number: Int64
    /// The commit that stated the content, and the value that led to its bytes until now.
    let dot: Dot, before: [UInt8]
    /// The content, with the new places.
    let content: FetchedContent

    /// The packs that it refers to.
    var packs: Set<PackID> {
        Set(content.entries.map(\.place.pack)).union(content.pages.map(\.reference.place.pack))
    }
}

/// Copies sealed extents from some remote packs into new ones, byte for byte, and makes new values of contents.
///
/// The index and the facts stay as they are. For one thread; takes the vault's lock only briefly, and waits for
/// the remote.
final class Moving {
    /// The number of packs that are uploaded at a time, besides the ones being built.
    private static let underWayMax = 2
    /// The number of packs that are kept in memory, as files that lie together are moved together.
    private static let fetchedMax = 2
    /// Contents with more extents stay where they are.
    private static let entryCountMax = 1 << 14

    private let vault: Vault
    private let reader: ContentReader
    private let packs: Set<PackID>
    private let deliver: Sending.Deliver
    private var extents: RemotePackBuilder?
    private var pages = PagePacking()
    private var underWay: [Sending.Delivery] = []
    private var places: [SealedPlace: SealedPlace] = [:]
    private var fetched: [(pack: PackID, bytes: BufferPart)] = []
    private var moves: [ContentMove] = []
    /// The number of extents and pages of all contents so far.
    private var entryCount = 0
    /// Whether this is as much as should be in memory.
    var isFull: Bool { entryCount >= Self.entryCountMax * 8 }
    /// The sealed bytes that were copied.
    private(set) var byteCount = 0

    init(
        _ vault: Vault, _ reader: ContentReader, from packs: Set<PackID>, deliver: @escaping Sending.Deliver
    ) {
        (self.vault, self.reader, self.packs, self.deliver) = (vault, reader, packs, deliver)
    }

    /// Adds the content of a file, which a commit states.
    ///
    /// Does nothing if the index has another content, or one that is too large.
    ///
    /// - Throws: `.damaged`, `.notArrived` if some of it cannot be had. `.unreachable`, `.timedOut`.
    func add(_ number: Int64, _ dot: Dot, _ content: Fact.Content) throws(FileSystemError) {
        guard let item = try reader.item(number), FileType(mode: item.mode) == .regular,
            !item.flags.contains(.isVersion), item.unsent.isDisjoint(with: .content),
            try value(of: item)?.bytes == content.bytes
        else { return }
        let gathering = try ContentGathering(item, reader)
        let stored = Array(gathering.left.keys)
        var entries: [ContentEntry] = []
        let extents = try gathering.extents { rows throws(FileSystemError) in
            var places: [SealedPlace] = []
            for (row, remote) in rows {
                guard let remote else { throw .stale }
                let place = try self.place(of: row, remote)
                places.append(place)
                entries.append(row.entry(at: place))
            }
            return places
        } emit: { node, page throws(FileSystemError) in
            try gathering.place(page, node, avoiding: self.packs) { () throws(FileSystemError) in
                try self.send(page, node, item.origin)
            }
        }
        let value = ContentValue(size: item.size, origin: item.origin, extents: extents)
        guard value.bytes != content.bytes else { return }
        let new = Set(gathering.new.map(\.node))
        let known = stored.filter { gathering.left[$0] == nil && !new.contains($0) }
        let pages = gathering.new.map {
            FetchedContent.Page(node: $0.node, plain: $0.plain, reference: $0.reference)
        }
        entryCount += entries.count + pages.count
        moves.append(
            ContentMove(
                item: item.id, number: number, dot: dot, before: content.bytes,
                content: FetchedContent(value, entries, pages, known: known)))
    }

    /// Delivers the remaining packs.
    ///
    /// - Returns: The contents whose new places are on the remote.
    func finish() throws(FileSystemError) -> [ContentMove] {
        if moves.isEmpty { return [] }
        try deliverExtents()
        if let full = pages.finish() { try begin(full) }
        while !underWay.isEmpty { try awaitFirst() }
        return moves
    }

    /// The value of a file's content, if all of it is on the remote.
    private func value(of item: ItemRow) throws(FileSystemError) -> ContentValue? {
        let gathering = try ContentGathering(item, reader)
        var (isThere, count) = (true, 0)
        let nowhere = SealedPlace(
            pack: .nowhere, position: UInt32(RemotePackHeader.byteCount), hash: .zero)
        let extents = try gathering.extents { rows throws(FileSystemError) in
            count += rows.count
            guard count <= Self.entryCountMax else { throw .fileTooLarge }
            isThere = isThere && rows.allSatisfy { $0.remote != nil && $0.remote?.pack != .nowhere }
            return rows.map { $0.remote ?? nowhere }
        } emit: { node, page throws(FileSystemError) in
            try gathering.place(page, node) { () throws(FileSystemError) in
                isThere = false
                return PageReference(place: nowhere, length: 0, epoch: .first)
            }
        }
        return isThere ? ContentValue(size: item.size, origin: item.origin, extents: extents) : nil
    }

    // MARK: Extents and pages

    /// The place that an extent will have.
    private func place(of row: ExtentRow, _ remote: SealedPlace) throws(FileSystemError) -> SealedPlace {
        guard packs.contains(remote.pack) else { return remote }
        if let place = places[remote] { return place }
        let (sealed, hashes) = try sealed(row, remote)
        let total = Int(row.total)
        let room = ExtentLayout.remoteByteCount(total)
        if extents?.hasRoom(for: room) == false { try deliverExtents() }
        var pack = extents ?? RemotePackBuilder(of: vault)
        let position = pack.reserve(room)
        pack.buffer.copy(unsafe sealed.span.bytes, to: position)
        if ExtentLayout.leafHashesByteCount(total) > 0 {
            pack.buffer.copy(unsafe hashes.bytes.span.bytes, to: position + sealed.count)
        }
        extents = pack
        byteCount += room
        let place = SealedPlace(pack: pack.id, position: UInt32(position), hash: remote.hash)
        places[remote] = place
        return place
    }

    /// The bytes of an extent, which have the right hash, and the hashes of its leaves.
    private func sealed(
        _ row: ExtentRow, _ remote: SealedPlace
    ) throws(FileSystemError) -> (bytes: [UInt8], hashes: LeafHashes) {
        let count = ExtentLayout.sealedByteCount(Int(row.total))
        // Blocks to which nothing refers may be gone from here, and local bytes may be damaged.
        if let bytes = try? local(row, count) {
            let hashes = unsafe LeafHashes(of: bytes.span.bytes)
            if hashes.root == remote.hash { return (bytes, hashes) }
        }
        let bytes = try fetch(remote, count)
        let hashes = unsafe LeafHashes(of: bytes.span.bytes)
        guard hashes.root == remote.hash else {
            throw .damaged(place: "an extent at byte \(remote.position) of remote pack \(remote.pack)")
        }
        return (bytes, hashes)
    }

    private func local(_ row: ExtentRow, _ count: Int) throws(FileSystemError) -> [UInt8]? {
        switch row.place {
        case .remote: return nil
        case .row(let number): return try reader.content(number).flatMap { $0.count == count ? $0 : nil }
        case .pack(let pack, let position):
            let file = try vault.state.withLock { state throws(FileSystemError) in
                try state.packs.openFile(pack)
            }
            var bytes = [UInt8](repeating: 0, count: count)
            let got = try bytes.withMutableRawSpan { bytes throws(FileSystemError) in
                try file.read(into: &bytes, at: Int(position))
            }
            return got == count ? bytes : nil
        }
    }

    /// Bytes of a remote pack, of which all is fetched at once.
    private func fetch(_ place: SealedPlace, _ count: Int) throws(FileSystemError) -> [UInt8] {
        if !fetched.contains(where: { $0.pack == place.pack }) {
            let size = min(try vault.remoteReads.byteCount(of: place.pack), RemotePackHeader.packByteCountMax)
            let bytes = try vault.remoteReads.fetch(place.pack, 0..<size)
            if fetched.count == Self.fetchedMax { fetched.removeFirst() }
            fetched.append((place.pack, bytes))
        }
        guard let bytes = fetched.first(where: { $0.pack == place.pack })?.bytes,
            Int(place.position) + count <= bytes.count
        else { throw .notArrived(place.pack) }
        return bytes[Int(place.position)..<Int(place.position) + count].bytes
    }

    private func send(
        _ page: ContentPage, _ node: ContentNode, _ origin: ItemID
    ) throws(FileSystemError) -> PageReference {
        try pages.add(page, node, of: origin, with: vault.keys) {
            RemotePackBuilder(of: vault)
        } deliver: { pack throws(FileSystemError) in
            try begin(pack)
        }
    }

    private func deliverExtents() throws(FileSystemError) {
        guard let full = extents?.finish() else { return }
        extents = nil
        try begin(full)
    }

    private func begin(_ pack: RemotePack) throws(FileSystemError) {
        while underWay.count >= Self.underWayMax { try awaitFirst() }
        underWay.append(deliver(pack))
    }

    private func awaitFirst() throws(FileSystemError) {
        let first = underWay.removeFirst()
        try delivering { () throws(TransferError) in try first.wait() }
    }

    deinit {
        // Each delivery must be awaited.
        for delivery in underWay { try? delivery.wait() }
    }
}
