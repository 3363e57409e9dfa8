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
        try index.insert(row)
        item.row.allocated += row.length
        item.row.size = max(item.row.size, row.end)
        tree.touch(item, .content)
        if row.length < Compaction.smallByteCount, row.offset > 0 { fragmented.insert(row.item) }
    }

    /// Makes a range of an item a hole, and shortens ranges that extend beyond it.
    mutating func removeContent(
        of item: CachedItem, _ range: Range<Int64>
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
            try drop(row, removed)
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
            item.endMoved = Clock.realTime
            tree.removes = true
        }
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
