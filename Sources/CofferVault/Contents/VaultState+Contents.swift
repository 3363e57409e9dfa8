internal import CofferCrypto
internal import CofferFormat
internal import CofferStore
internal import CofferSystem

// What contents are to the index: rows that refer to extents, and bytes that die when nothing refers to them.
extension VaultState {
    /// Records a small write for the intent log.
    ///
    /// - Parameter changes: The number of index rows that it changed.
    mutating func noteIntent(of row: ExtentRow, changes: Int) {
        let count = ExtentLayout.sealedByteCount(Int(row.total))
        guard count <= PackStore.tailPieceMax, case .pack(let pack, let position) = row.place else { return }
        let write = IntentRecord.Write(
            item: row.item, offset: row.offset, length: Int(row.length), prefixLow: row.prefix.low,
            prefixHigh: row.prefix.high, epoch: row.epoch)
        tree.intents.note(
            .init(write: write, pack: pack, position: Int(position), count: count), changes: changes)
    }

    /// Makes an item refer to a new extent, in place of the old content.
    mutating func refer(to row: ExtentRow) throws(FileSystemError) {
        let item = try tree.item(row.item)
        readAhead.end(row.item)
        if row.offset < item.row.size { try removeContent(of: item, row.offset..<row.end) }
        try keepHoles(in: row.offset..<row.end, of: item)
        try index.insert(row)
        item.row.allocated += row.length
        item.row.size = max(item.row.size, row.end)
        tree.touch(item, .content)
        if row.length < Compaction.smallByteCount, row.offset > 0 { fragmented.insert(row.item) }
    }

    /// Makes a range of an item a hole, and shortens ranges that extend beyond it.
    ///
    /// - Parameter isSame: Whether the same bytes come in their place.
    mutating func removeContent(
        of item: CachedItem, _ range: Range<Int64>, isSame: Bool = false
    ) throws(FileSystemError) {
        guard !range.isEmpty else { return }
        let number = item.row.number
        readAhead.end(number)
        let rows = try index.extents(of: number, overlapping: range)
        for row in rows {
            let overlap = row.offset..<row.end
            let removed = overlap.clamped(to: range)
            try index.remove(row)
            if overlap.lowerBound < removed.lowerBound {
                var left = row
                left.length = removed.lowerBound - row.offset
                try index.insert(left)
            }
            if removed.upperBound < overlap.upperBound {
                var right = row
                right.offset = removed.upperBound
                right.length = row.end - removed.upperBound
                try index.insert(right)
            }
            item.row.allocated -= Int64(removed.count)
            for part in isSame ? [removed] : try keep(row, removed, of: item) { try drop(row, part) }
        }
    }

    /// Counts bytes of an extent as dead.
    ///
    /// - Parameters:
    ///   - range: The part of the range that `row` describes, in the item.
    ///   - keepsBytes: Whether they must stay in their pack in any case.
    mutating func drop(
        _ row: ExtentRow, _ range: Range<Int64>, keepsBytes: Bool = false
    ) throws(FileSystemError) {
        let isOnRemote = row.remote != 0
        let live = isOnRemote ? try index.addLive(-Int64(range.count), toRemote: row.remote) : 0
        try dropLocal(row, Int64(range.count))
        if case .pack = row.place { deadByteCount += Int64(range.count) }
        if keepsBytes || row.place == .remote { return }
        if isOnRemote ? live == 0 : range.count == row.total {
            if row.total >= Compaction.discardedByteCountMin {
                discard(row, row.base..<row.base + row.total)
            }
        } else if range.count >= Compaction.discardedByteCountMin {
            // Items share only extents that are on a remote.
            let own = live > 0 ? try rows(ofExtent: row).filter { $0.remote == row.remote } : []
            if own.reduce(0, { $0 + $1.length }) == live { discard(row, range) }
        }
    }

    /// Takes bytes of an extent on this device from those that are in use, and keeps them in their pack.
    mutating func dropLocal(_ row: ExtentRow, _ count: Int64) throws(FileSystemError) {
        switch row.place {
        case .remote: break
        case .pack(let pack, let position):
            packs.drop(pack, at: Int(position), count)
        case .row(let content):
            try index.addLive(-count, toContent: content)
        }
    }

    /// Frees the disk space of the blocks of an extent that lie in a range of its item, after the next commit.
    ///
    /// - Returns: Whether it does.
    @discardableResult
    mutating func discard(_ row: ExtentRow, _ range: Range<Int64>) -> Bool {
        // An extent in the tail is in no file yet, and if the tail moves into rows, another extent gets its place.
        guard case .pack(let pack, let position) = row.place, !packs.isInTail(pack, at: Int(position)) else {
            return false
        }
        let dead = ExtentLayout.sealedRange(
            ofBlocksIn: Int(range.lowerBound - row.base)..<Int(range.upperBound - row.base),
            total: Int(row.total))
        guard !dead.isEmpty else { return false }
        unfreedByteCount += dead.count
        discards.append(.init(pack: pack, position: Int(position) + dead.lowerBound, count: dead.count))
        return true
    }

    /// Changes the size: shrinking discards the content after the new end, growing adds a hole.
    mutating func resize(
        _ item: CachedItem, to size: Int64, _ time: Int64
    ) throws(FileSystemError) {
        guard item.type == .regular else {
            throw item.type == .directory ? .isDirectory : .invalidArgument
        }
        guard size >= 0, size <= Vault.fileByteCountMax else { throw .fileTooLarge }
        if size != item.row.size { try keepIfOutdated(item) }
        readAhead.end(item.row.number)
        if size < item.row.size {
            try removeContent(of: item, size..<Int64.max)
            try keepHoles(in: size..<Int64.max, of: item)
            tree.removes = true
        }
        if size < item.row.size || size == 0 { item.endMoved = Clock.realTime }
        if size != item.row.size { item.row.modified = time }
        item.row.size = size
        try tree.dropCapability(of: item)
        tree.touch(item, [.content, .times])
    }
}

extension VaultState {
    /// Records pages; removes those that they replace, and `left`, if it is still recorded.
    mutating func replacePages(
        of item: CachedItem, new: ArraySlice<RemotePageRow>, left: ArraySlice<RemotePageRow>
    ) throws(FileSystemError) {
        let number = item.row.number
        for row in left where try index.page(row.node, of: number) == row {
            try index.remove(row)
        }
        for row in new {
            if let old = try index.page(row.node, of: number) { try index.remove(old) }
            try index.insert(row)
        }
        if new.isEmpty { return }
        item.row.flags.insert(.hasPages)
        tree.touch(item, [])
    }

    /// Removes the records of all pages of an item.
    mutating func forgetPages(of item: CachedItem) throws(FileSystemError) {
        for row in try index.pages(of: item.row.number) { try index.remove(row) }
        item.row.flags.remove(.hasPages)
    }

    /// All ranges of the item that belong to the same extent.
    func rows(ofExtent row: ExtentRow) throws(FileSystemError) -> [ExtentRow] {
        try index.extents(of: row.item, overlapping: row.base..<row.base + row.total).filter {
            $0.isOfSameExtent(as: row)
        }
    }
}

// Keeping the contents of items as they were.
extension VaultState {
    /// Gives a range of content that an item loses to the version that ends with the last moment, as far as the version
    /// had it.
    ///
    /// - Parameters:
    ///   - row: The row, which the index no longer has.
    ///   - range: The part of it that the item loses.
    /// - Returns: The parts that nobody keeps.
    mutating func keep(
        _ row: ExtentRow, _ range: Range<Int64>, of item: CachedItem
    ) throws(FileSystemError) -> [Range<Int64>] {
        guard let version = try tree.version(of: item) else { return [range] }
        return try give(row, range, to: version)
    }

    /// Gives a range of content to a version, as far as the version does not say yet what was there.
    ///
    /// - Returns: The other parts.
    mutating func give(
        _ row: ExtentRow, _ range: Range<Int64>, to version: CachedItem
    ) throws(FileSystemError) -> [Range<Int64>] {
        let unknown = try unknown(range, in: version)
        if unknown.isEmpty { return [range] }
        // The tail records only one item for each of its extents.
        if case .pack(let pack, let position) = row.place, packs.isInTail(pack, at: Int(position)) {
            try packs.writeTail()
        }
        for part in unknown.ranges {
            var kept = row
            kept.item = version.row.number
            kept.offset = part.lowerBound
            kept.length = Int64(part.count)
            try index.insert(kept)
            version.row.allocated += kept.length
        }
        if try isGap(row) { try noteLacking(version.row.number, asDoes: row.item) }
        tree.touch(version: version)
        return RangeSet(range).subtracting(unknown).ranges.map { $0 }
    }

    /// Records what was a hole at the last moment in a range that an item gets content in, or that its new end cuts off.
    ///
    /// Call this once `keep` has been called for all content in the range.
    mutating func keepHoles(in range: Range<Int64>, of item: CachedItem) throws(FileSystemError) {
        guard let version = try tree.version(of: item) else { return }
        try giveHoles(in: range, to: version)
    }

    /// Records that a version had a hole in a range, as far as it does not say yet what was there.
    mutating func giveHoles(in range: Range<Int64>, to version: CachedItem) throws(FileSystemError) {
        for hole in try unknown(range, in: version).ranges {
            try index.insertHole(hole, of: version.row.number)
        }
    }

    /// The parts of a range of which a version does not say yet what was there.
    private func unknown(
        _ range: Range<Int64>, in version: CachedItem
    ) throws(FileSystemError) -> RangeSet<Int64> {
        let range = range.clamped(to: 0..<max(0, version.row.size))
        var unknown = RangeSet(range)
        if range.isEmpty { return unknown }
        for row in try index.extents(of: version.row.number, overlapping: range) {
            unknown.remove(contentsOf: row.offset..<row.end)
        }
        for hole in try index.holes(of: version.row.number, overlapping: range) {
            unknown.remove(contentsOf: hole)
        }
        return unknown
    }

    /// The ranges of versions of an item that belong to the same extent, in the same place.
    func keptRows(ofExtent row: ExtentRow) throws(FileSystemError) -> [ExtentRow] {
        guard index.hasHistory else { return [] }
        var rows: [ExtentRow] = []
        for version in try index.versions(of: row.item, from: 0) {
            var sought = row
            sought.item = version.version
            rows += try self.rows(ofExtent: sought).filter { $0.place == row.place }
        }
        return rows
    }
}
