package import CofferFormat
internal import CofferStore
internal import CofferSystem

/// Eviction of contents that are also on a remote, so that fetched contents do not fill the disk.
///
/// Usage is tracked by pack: contents that are fetched together lie in one pack, and reads record the packs
/// that they use. Each step leaves the vault consistent; stopped at any moment, eviction continues from the
/// state that it finds.
extension Cache {
    /// The number of ranges that are looked at, or evicted, while the lock is held.
    private static let batchCount = 256

    /// Contents that can be evicted.
    private struct Cached {
        /// The number of bytes by pack; 0 stands for rows of `contents`.
        var bytes: [Int64: Int64] = [:]
        var total: Int64 = 0
    }

    /// Evicts contents that are also on a remote, until at most `limit` bytes of them are on this device.
    ///
    /// Files with unsent changes keep all their contents. Takes the lock only briefly.
    ///
    /// - Parameter isPinned: Whether the content of a file, by its number, must stay.
    /// - Returns: The number of bytes of such contents that are still on this device.
    @discardableResult
    package func evict(
        to limit: Int64, keeping isPinned: (Int64) -> Bool = { _ in false }
    ) throws(FileSystemError) -> Int64 {
        try giveUp(to: limit, keeping: isPinned).left
    }

    /// Does the same as `evict`, and reports what stays.
    ///
    /// - Returns: The bytes of such contents that are still on this device, the bytes that stay only because
    ///   changes of their files are unsent, and whether some stay because the remote did not answer.
    func giveUp(
        to limit: Int64, keeping isPinned: (Int64) -> Bool = { _ in false }
    ) throws(FileSystemError) -> (left: Int64, unsent: Int64, isUnsure: Bool) {
        var cached = Cached()
        let unsent = try forEachCachedRange(isPinned) { rows throws(FileSystemError) in
            for row in rows {
                cached.bytes[row.packNumber, default: 0] += row.length
                cached.total += row.length
            }
            return true
        }
        guard cached.total > limit else { return (cached.total, unsent, false) }
        let total = cached.total
        let victims = leastRecentlyUsed(cached, downTo: limit)
        var seen = SeenPacks(vault: vault)
        var kept: Int64 = 0
        for pack in victims where cached.total > limit {
            _ = try forEachCachedRange(isPinned, inPack: pack) { rows throws(FileSystemError) in
                for row in rows where cached.total > limit {
                    guard try seen.has(row) else {
                        kept += row.length
                        continue
                    }
                    cached.total -= try self.evict(row)
                }
                return cached.total > limit
            }
        }
        try vault.commitIndex()
        seen.tell()
        DebugLog.log(
            .info, .space, "vault \(id: vault.id.high): \(total - cached.total) bytes evicted for the limit")
        // The limit does not apply to contents that stay because other devices could not get them from the
        // remote.
        return (max(0, cached.total - kept), unsent, seen.isSilent)
    }

    /// The packs that contain the contents to evict, least recently used first.
    private func leastRecentlyUsed(_ cached: Cached, downTo limit: Int64) -> [Int64] {
        let order = vault.state.withLock { state in
            // Small contents in rows take little space, and are fetched one by one: evict them last.
            cached.bytes.keys.sorted {
                ($0 == 0 ? 1 : 0, state.packs.lastUse(of: $0), $0)
                    < ($1 == 0 ? 1 : 0, state.packs.lastUse(of: $1), $1)
            }
        }
        var victims: [Int64] = []
        var rest = cached.total
        for pack in order where rest > limit {
            victims.append(pack)
            rest -= cached.bytes[pack] ?? 0
        }
        return victims
    }

    /// Visits the ranges that could be evicted, some at a time, until `body` returns false.
    ///
    /// - Returns: The number of bytes that could be evicted if their files had no unsent changes.
    private func forEachCachedRange(
        _ isPinned: (Int64) -> Bool, inPack pack: Int64? = nil,
        _ body: ([ExtentRow]) throws(FileSystemError) -> Bool
    ) throws(FileSystemError) -> Int64 {
        var unsent: Int64 = 0
        var place: (item: Int64, offset: Int64) = (0, -1)
        while !vault.upkeep.isStopped {
            let (rows, next) = try vault.reading { state throws(FileSystemError) in
                let rows = try state.index.extents(after: place.item, place.offset, limit: Self.batchCount)
                var cached: [ExtentRow] = []
                for row in rows where row.remote != 0 && row.place != .remote {
                    guard pack == nil || row.packNumber == pack else { continue }
                    guard let item = try state.tree.row(row.item) else { continue }
                    if item.unsent.isDisjoint(with: [.content, .existence]) {
                        cached.append(row)
                    } else {
                        unsent += row.length
                    }
                }
                return (cached, rows.count < Self.batchCount ? nil : rows.last)
            }
            if try !body(rows.filter { !isPinned($0.item) }) { return unsent }
            guard let next else { return unsent }
            place = (next.item, next.offset)
        }
        return unsent
    }

    /// Evicts the extent of a range.
    ///
    /// - Returns: The number of bytes of ranges that are no longer on this device.
    func evict(_ row: ExtentRow) throws(FileSystemError) -> Int64 {
        try vault.changing { state throws(FileSystemError) in
            guard let item = try state.tree.row(row.item),
                item.unsent.isDisjoint(with: [.content, .existence])
            else { return 0 }
            let rows = try state.rows(ofExtent: row).filter {
                $0.place == row.place && $0.remote == row.remote
            }
            let count = rows.reduce(0) { $0 + $1.length }
            guard count > 0 else { return 0 }
            state.tree.removes = true
            vault.readAhead.end(row.item)
            for row in rows {
                var gone = row
                gone.place = .remote
                try state.index.remove(row)
                try state.index.insert(gone)
            }
            let isShared = try state.index.remoteExtent(row.remote).live > count
            vault.remoteReads.forget(row)
            for row in rows { try state.dropLocal(row, row.length) }
            state.deadByteCount += count
            if !isShared { state.discard(row, row.base..<row.base + row.total) }
            return count
        }
    }
}

extension ExtentRow {
    /// The number of its pack; 0 if it is not in one.
    fileprivate var packNumber: Int64 {
        if case .pack(let number, _) = place { number } else { 0 }
    }
}
