internal import CofferFormat
internal import CofferStore
internal import CofferSystem

/// Giving up bytes that are on a remote, too, so that what is fetched does not fill the disk.
///
/// Which were used least recently is known by packs: what is fetched at one time lies in one pack, and reads
/// note the packs that they use. In a step that leaves a whole vault each; stopped at any moment, it goes on from
/// what it finds.
extension Vault {
    /// Ranges that are looked at, or given up, while the lock is held.
    private static let batchCount = 256

    /// What there is to give up.
    private struct Cached {
        /// Bytes by pack; 0 stands for rows of `contents`.
        var bytes: [Int64: Int64] = [:]
        var total: Int64 = 0
    }

    /// Gives up contents that are on a remote, until no more than `limit` bytes of them are here.
    ///
    /// Files whose changes were not sent keep all that they have. Takes the lock for moments only.
    ///
    /// - Parameter isPinned: Whether the content of a file, by its number, is to stay.
    /// - Returns: Bytes of such contents that are still here.
    @discardableResult
    package func evict(
        to limit: Int64, keeping isPinned: (Int64) -> Bool = { _ in false }
    ) throws(FileSystemError) -> Int64 {
        try giveUp(to: limit, keeping: isPinned).left
    }

    /// As `evict`; tells also how many bytes stay only as changes of their files were not sent yet, and whether some stay
    /// as the remote did not say whether it has them.
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
        let victims = leastRecentlyUsed(cached, downTo: limit)
        var seen = SeenPacks(vault: self)
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
        try commitIndex()
        seen.tell()
        // What stays for the sake of others who have it nowhere else is not what the limit is about.
        return (max(0, cached.total - kept), unsent, seen.isSilent)
    }

    /// Packs in the order of their last use, as many as hold what is to go.
    private func leastRecentlyUsed(_ cached: Cached, downTo limit: Int64) -> [Int64] {
        let order = state.withLock { state in
            // Small contents in rows take little room, and come back one by one: they go last.
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

    /// Goes through the ranges that could be given up, some at a time, until `body` answers false.
    ///
    /// - Returns: Bytes of those that could be but for changes that were not sent.
    private func forEachCachedRange(
        _ isPinned: (Int64) -> Bool, inPack pack: Int64? = nil,
        _ body: ([ExtentRow]) throws(FileSystemError) -> Bool
    ) throws(FileSystemError) -> Int64 {
        var unsent: Int64 = 0
        var place: (item: Int64, offset: Int64) = (0, -1)
        while !upkeep.isStopped {
            let (rows, next) = try reading { state throws(FileSystemError) in
                let rows = try storing { () throws(StoreError) in
                    try state.index.extents(after: place.item, place.offset, limit: Self.batchCount)
                }
                var cached: [ExtentRow] = []
                for row in rows where row.remote != 0 && row.place != .remote {
                    guard pack == nil || row.packNumber == pack else { continue }
                    guard let item = try state.row(row.item) else { continue }
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

    /// Gives up the extent of a range.
    ///
    /// - Returns: Bytes of ranges that are not here any more.
    func evict(_ row: ExtentRow) throws(FileSystemError) -> Int64 {
        try changing { state throws(FileSystemError) in
            guard let item = try state.row(row.item),
                item.unsent.isDisjoint(with: [.content, .existence])
            else { return 0 }
            let rows = try self.rows(ofExtent: row, state).filter {
                $0.place == row.place && $0.remote == row.remote
            }
            let count = rows.reduce(0) { $0 + $1.length }
            guard count > 0 else { return 0 }
            state.removes = true
            self.readAhead.end(row.item)
            let isShared = try storing { () throws(StoreError) in
                for row in rows {
                    var gone = row
                    gone.place = .remote
                    try state.index.remove(row)
                    try state.index.insert(gone)
                }
                return try state.index.remoteExtent(row.remote).live > count
            }
            self.remoteReads.forget(row)
            for row in rows { try self.dropLocal(row, row.length, keepsBytes: true, state) }
            if !isShared, case .pack(let pack, let position) = row.place {
                let sealed = ExtentLayout.sealedByteCount(Int(row.total))
                state.discards.append(.init(pack: pack, position: Int(position), count: sealed))
            }
            return count
        }
    }
}

extension ExtentRow {
    /// The pack that it is in; 0 if that is none.
    fileprivate var packNumber: Int64 {
        if case .pack(let number, _) = place { number } else { 0 }
    }
}
