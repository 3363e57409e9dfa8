internal import CofferCrypto
internal import CofferFormat
internal import CofferStore
internal import CofferSystem

/// Uniting small ranges, and emptying packs that are mostly dead.
///
/// Runs in the background, in steps that each leave a whole vault; stopped at any moment, it goes on from
/// what it finds.
enum Compaction {
    /// Plaintext bytes of a range below which it counts as small.
    static let smallByteCount: Int64 = 64 << 10
    /// Small ranges of a file that are left alone.
    static let smallRangesMax = 64
    /// The share of live bytes below which a pack is emptied, in percent.
    static let livePercentMin: Int64 = 30
    /// Dead bytes that make it worth to empty packs.
    static let deadByteCountMin: Int64 = 8 << 20
    /// How long a file must have been left alone, in nanoseconds.
    static let quiet: Int64 = 2_000_000_000
    /// Ranges that are looked at in one go.
    static let batchCount = 256
}

extension Vault {
    /// Does what there is to do now.
    ///
    /// - Returns: Whether there is more to do once files have been left alone for long enough.
    func compact() throws(FileSystemError) -> Bool {
        let now = Clock.realTime
        let candidates = state.withLock { Array($0.fragmented) }
        var waits = false
        for number in candidates {
            let isQuiet = try state.withLock { state throws(FileSystemError) in
                guard let row = try? state.peek(number), row.links > 0 else {
                    state.fragmented.remove(number)
                    return false
                }
                guard row.modified < now - Compaction.quiet || row.modified > now else {
                    waits = true
                    return false
                }
                state.fragmented.remove(number)
                return true
            }
            if isQuiet { try uniteRanges(of: number) }
        }
        try emptySparsePacks()
        return waits
    }

    /// Rewrites runs of small ranges of a file that has many.
    private func uniteRanges(of number: Int64) throws(FileSystemError) {
        var place: Int64 = -1
        var run: [ExtentRow] = []
        var small = 0
        while !upkeep.isStopped {
            let rows = try reading { state throws(FileSystemError) in
                try storing { () throws(StoreError) in
                    try state.index.extents(after: number, place, limit: Compaction.batchCount)
                }
            }.filter { $0.item == number }
            for row in rows {
                place = row.offset
                let joins = run.last.map { $0.end == row.offset } ?? true
                let isSmall = row.length < Compaction.smallByteCount && row.place != .remote
                if isSmall { small += 1 }
                let length = run.reduce(row.length) { $0 + $1.length }
                if !joins || !isSmall || length > Int64(ExtentLayout.byteCountMax) {
                    if small > Compaction.smallRangesMax || run.count > Compaction.smallRangesMax / 4 {
                        try rewrite(run)
                    }
                    run = []
                }
                if isSmall { run.append(row) }
            }
            if rows.count < Compaction.batchCount { break }
        }
        if run.count > Compaction.smallRangesMax / 4 { try rewrite(run) }
    }

    /// Moves what is live out of packs that are mostly dead, which then go.
    private func emptySparsePacks() throws(FileSystemError) {
        let packs = state.withLock { state in
            state.packs.rows.filter { pack in
                pack.live > 0 && pack.number != state.packs.currentNumber
                    && pack.live * 100 < pack.written * Compaction.livePercentMin
            }
        }
        guard packs.reduce(0, { $0 + $1.written - $1.live }) >= Compaction.deadByteCountMin else { return }
        let sparse = Set(packs.map(\.number))
        var place: (item: Int64, offset: Int64) = (0, -1)
        while !upkeep.isStopped {
            let rows = try reading { state throws(FileSystemError) in
                try storing { () throws(StoreError) in
                    try state.index.extents(after: place.item, place.offset, limit: Compaction.batchCount)
                }
            }
            for row in rows {
                place = (row.item, row.offset)
                guard case .pack(let pack, _) = row.place, sparse.contains(pack) else { continue }
                if row.remote != 0 { try move(row) } else { try rewrite([row]) }
            }
            if rows.count < Compaction.batchCount { break }
        }
    }

    /// Seals adjacent ranges anew as one extent, unless they were changed meanwhile.
    ///
    /// - Parameter aspects: What of the item is to be sent because of that.
    /// - Returns: Whether it was done; not if they cannot be read.
    @discardableResult
    func rewrite(
        _ rows: [ExtentRow], marking aspects: ItemRow.Aspects = []
    ) throws(FileSystemError) -> Bool {
        guard let first = rows.first, let last = rows.last else { return false }
        let range = first.offset..<last.end
        let buffer = AlignedBuffer(count: range.count)
        let number = first.item
        let id: ItemID
        do throws(FileSystemError) {
            id = try reading { state throws(FileSystemError) in try state.peek(number).origin }
            guard try read(number, at: range.lowerBound, count: range.count, into: buffer) == range.count
            else {
                return false
            }
        } catch {
            // A damaged or vanished file is left as it is; reading it tells.
            return false
        }
        var isDone = false
        try buffer.withBytes(0..<range.count) { bytes throws(FileSystemError) in
            try store(bytes, of: id, number, at: range.lowerBound) { state throws(FileSystemError) in
                guard try state.row(number)?.origin == id else { return false }
                // Reading may have brought them here from a remote.
                return try storing { () throws(StoreError) in
                    try state.index.extents(of: number, overlapping: range)
                }.elementsEqual(rows) {
                    $0.offset == $1.offset && $0.length == $1.length && $0.isOfSameExtent(as: $1)
                }
            } refer: { row, state throws(FileSystemError) in
                isDone = true
                let item = try state.item(number)
                try self.removeContent(of: item, range, state)
                try storing { () throws(StoreError) in try state.index.insert(row) }
                item.row.allocated += row.length
                state.touch(item, aspects)
            }
        }
        upkeep.pause()
        return isDone
    }
}
