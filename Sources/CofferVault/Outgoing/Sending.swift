internal import CofferCrypto
package import CofferFormat
package import CofferStore
internal import CofferSystem

/// Uploads the contents of some files, as of one commit of the index.
///
/// Extents that are not on the remote yet go into remote packs, which are delivered as they fill up. The
/// index records at once what is on the remote, so that nothing is sent twice. Once `finish` has returned,
/// its values may be sent to other devices. For one thread; takes the vault's lock only briefly. As long as
/// it exists, the write-ahead log cannot restart from its beginning, so do not keep it for long.
package final class Sending {
    /// Starts the upload of a pack.
    package typealias Deliver = (RemotePack) -> Delivery

    /// A pack that is being uploaded.
    package struct Delivery {
        /// Returns when the pack is on the remote; called once.
        package let wait: () throws(TransferError) -> Void

        package init(_ wait: @escaping () throws(TransferError) -> Void) {
            self.wait = wait
        }
    }

    /// The number of packs that are uploaded at a time, besides the one being built.
    private static let underWayMax = 2
    /// The number of ranges that are looked up at a time.
    private static let rangeBatchCount = 32

    private let vault: Vault
    private let reader: ContentReader
    private let deliver: Deliver
    private var extents: RemotePackBuilder?
    private var pages = PagePacking()
    /// Extents that have a place in the pack being built, and are not in it yet.
    private var waiting: [PackFilling.Extent] = []
    /// Extents in the pack being built.
    private var sent: [SentExtent] = []
    /// Extents that later ranges may refer to, too.
    private var recent: [NoncePrefix: (end: Int64, place: SealedPlace)] = [:]
    /// Packs that are being uploaded, in order, with their extents.
    private var underWay: [(delivery: Delivery, buffer: AlignedBuffer, extents: [SentExtent])] = []
    /// Buffers of packs that were delivered.
    private var free: [AlignedBuffer] = []
    private var values: [Int64: ContentValue] = [:]
    private var gatherings: [ContentGathering] = []

    init(_ vault: Vault, _ reader: ContentReader, deliver: @escaping Deliver) {
        self.vault = vault
        self.reader = reader
        self.deliver = deliver
    }

    /// Adds the content of a file.
    ///
    /// - Returns: The size of the file, in bytes.
    /// - Throws: `.stale` if the file was removed, or changed so that its old content cannot be read any
    ///   more: the next sending takes it. `.damaged` if it cannot be read; the problem log then names it.
    ///   `.notArrived` if parts of the file that were not written on this device are unknown. `.fileTooLarge`
    ///   if it has more than 2^24 ranges. `.unreachable`, `.timedOut` if a pack could not be delivered, which
    ///   ends the sending.
    @discardableResult
    package func add(_ number: Int64) throws(FileSystemError) -> Int64 {
        guard let item = try reader.item(number),
            FileType(mode: item.mode) == .regular
        else { throw .stale }
        let gathering = try ContentGathering(item, reader)
        recent = [:]
        let extents = try gathering.extents { rows throws(FileSystemError) in
            try self.places(of: rows, item)
        } emit: { node, page throws(FileSystemError) in
            try gathering.place(page, node) { () throws(FileSystemError) in
                try self.send(page, node, item.origin)
            }
        }
        values[number] = ContentValue(size: item.size, origin: item.origin, extents: extents)
        gatherings.append(gathering)
        return item.size
    }

    /// Delivers the remaining packs, and records their contents.
    ///
    /// - Returns: The value of each file that was added. Everything that the values refer to is on the
    ///   remote, and on this disk.
    package func finish() throws(FileSystemError) -> [Int64: ContentValue] {
        try deliverExtents()
        try deliverPages()
        while !underWay.isEmpty { try awaitFirst() }
        for gathering in gatherings {
            try vault.outgoing.record(
                new: gathering.new, left: Array(gathering.left.values), of: gathering.item.number)
        }
        gatherings = []
        vault.cache.evictAfterSending()
        defer { values = [:] }
        return values
    }

    // MARK: Extents and pages

    /// The current or future places of ranges' extents on the remote.
    private func places(
        of rows: [ContentReader.PlacedExtent], _ item: ItemRow
    ) throws(FileSystemError) -> [SealedPlace] {
        let start = rows.first?.row.offset ?? 0
        recent = recent.filter { $0.value.end > start }
        var claimed: Set<NoncePrefix> = []
        do throws(FileSystemError) {
            for (row, remote) in rows
            where remote == nil && recent[row.prefix] == nil && claimed.insert(row.prefix).inserted {
                try add(row, item)
            }
        } catch {
            // Extents that already have a place must still be filled in.
            try? fill()
            throw error
        }
        try fill()
        var places: [SealedPlace] = []
        for (row, remote) in rows {
            // Each extent without a place was added just now.
            guard let place = remote ?? recent[row.prefix]?.place else { throw .stale }
            // Other devices would be told that nothing is known of the content.
            if place.pack == .nowhere { throw .notArrived(.nowhere) }
            places.append(place)
        }
        return places
    }

    /// Reserves space for an extent in a pack.
    private func add(_ row: ExtentRow, _ item: ItemRow) throws(FileSystemError) {
        let count = ExtentLayout.sealedByteCount(Int(row.total))
        let live = try ranges(ofExtent: row)
        let (file, bytes): (PackFile?, [UInt8]?)
        do throws(FileSystemError) {
            (file, bytes) = try source(of: row, count)
        } catch {
            if case .damaged = error, try !vault.outgoing.refers(to: live) { throw .stale }
            throw error
        }
        let room = ExtentLayout.remoteByteCount(Int(row.total))
        if extents?.hasRoom(for: room) == false { try deliverExtents() }
        if extents == nil { extents = newPack() }
        guard let position = extents?.reserve(room) else { return }
        if let bytes { extents?.buffer.copy(unsafe bytes.span.bytes, to: position) }
        waiting.append(.init(row: row, live: live, origin: item.origin, file: file, position: position))
    }

    /// All ranges that refer to the extent of a range.
    private func ranges(ofExtent row: ExtentRow) throws(FileSystemError) -> [ExtentRow] {
        if row.length == row.total { return [row] }
        var ranges: [ExtentRow] = []
        var after = row.base - 1
        while true {
            let found = try reader.extents(of: row.item, after: after, limit: Self.rangeBatchCount)
            for range in found.map(\.row) where range.isOfSameExtent(as: row) { ranges.append(range) }
            guard found.count == Self.rangeBatchCount, let last = found.last?.row.offset,
                last < row.base + row.total
            else { return ranges }
            after = last
        }
    }

    /// The file or the bytes of a sealed extent.
    private func source(of row: ExtentRow, _ count: Int) throws(FileSystemError) -> (PackFile?, [UInt8]?) {
        switch row.place {
        case .row(let number):
            guard let sealed = try reader.content(number), sealed.count == count else {
                throw .damaged(place: "row \(number) of the index's contents")
            }
            return (nil, sealed)
        case .pack(let pack, _):
            let file = try vault.state.withLock { state throws(FileSystemError) in
                try state.packs.openFile(pack)
            }
            return (file, nil)
        case .remote: throw .damaged(place: "the reference to an extent on a remote")
        }
    }

    /// Fills in the waiting extents.
    private func fill() throws(FileSystemError) {
        guard let pack = extents, !waiting.isEmpty else { return }
        let all = waiting
        waiting = []
        var failure: (FileSystemError, PackFilling.Extent)?
        for (extent, outcome) in zip(all, PackFilling(all, into: pack.buffer, in: vault).run()) {
            switch outcome {
            case .success(let hash):
                let (row, position) = (extent.row, UInt32(extent.position))
                let place = SealedPlace(pack: pack.id, position: position, hash: hash)
                sent.append(SentExtent(row: row, place: place))
                recent[row.prefix] = (row.base + row.total, place)
            case .failure(let error): failure = failure ?? (error, extent)
            }
        }
        if let (error, extent) = failure { try fail(error, extent) }
    }

    private func fail(_ error: FileSystemError, _ extent: PackFilling.Extent) throws(FileSystemError) {
        guard case .damaged = error else { throw error }
        // If a part was overwritten in the meantime, its bytes may be gone.
        if try !vault.outgoing.refers(to: extent.live) { throw .stale }
        let row = extent.row
        vault.contents.report(error, row.item, row.offset..<row.end)
        throw error
    }

    private func send(
        _ page: ContentPage, _ node: ContentNode, _ origin: ItemID
    ) throws(FileSystemError) -> PageReference {
        try pages.add(page, node, of: origin, with: vault.keys) {
            newPack()
        } deliver: { pack throws(FileSystemError) in
            try begin(pack, [])
        }
    }

    private func newPack() -> RemotePackBuilder { RemotePackBuilder(of: vault, in: free.popLast()) }

    private func deliverExtents() throws(FileSystemError) {
        try fill()
        guard let full = extents?.finish() else { return }
        extents = nil
        defer { sent = [] }
        try begin(full, sent)
    }

    private func deliverPages() throws(FileSystemError) {
        if let full = pages.finish() { try begin(full, []) }
    }

    private func begin(_ pack: RemotePack, _ extents: [SentExtent]) throws(FileSystemError) {
        while underWay.count >= Self.underWayMax { try awaitFirst() }
        underWay.append((deliver(pack), pack.buffer, extents))
    }

    /// Waits until the oldest pack is delivered, and records its contents.
    private func awaitFirst() throws(FileSystemError) {
        let first = underWay.removeFirst()
        try delivering { () throws(TransferError) in try first.delivery.wait() }
        // After a failure, an abandoned call may still be reading the buffer, so it is not reused.
        free.append(first.buffer)
        try vault.outgoing.record(first.extents)
    }

    deinit {
        // Each delivery must be awaited.
        for delivery in underWay.map(\.delivery) { try? delivery.wait() }
    }
}

/// An extent that was sent to a remote.
struct SentExtent {
    /// A range of it, as of when it was read.
    let row: ExtentRow
    let place: SealedPlace
}

extension Identifier {
    /// A fresh random identifier.
    static func random() -> Identifier {
        Identifier(low: Random.number(), high: Random.number())
    }

    /// A new identifier for an object that is created now; the rows of objects that are created together lie
    /// together.
    ///
    /// Its highest 48 bits are the milliseconds since 1970; the others are random.
    ///
    /// - Parameter time: Nanoseconds since 1970.
    static func made(at time: Int64) -> Identifier {
        let milliseconds = UInt64(max(0, time / 1_000_000))
        return Identifier(low: Random.number(), high: milliseconds << 16 | Random.number() >> 48)
    }
}

/// Runs calls of a remote and turns their errors into the vault's.
func delivering<Result>(
    _ body: () throws(TransferError) -> Result
) throws(FileSystemError) -> Result {
    do throws(TransferError) {
        return try body()
    } catch {
        switch error {
        case .missing: throw .unreachable(reason: "the remote does not have it")
        case .timedOut: throw .timedOut
        case .failed(let reason): throw .unreachable(reason: reason)
        }
    }
}
