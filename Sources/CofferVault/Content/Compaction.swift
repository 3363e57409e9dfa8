internal import CofferCrypto
internal import CofferFormat
internal import CofferStore
internal import CofferSystem

/// Uniting small ranges, and emptying packs that waste room.
///
/// Runs in the background, in steps that each leave a whole vault; stopped at any moment, it goes on from
/// what it finds.
enum Compaction {
    /// Plaintext bytes of a range below which it counts as small.
    static let smallByteCount: Int64 = 64 << 10
    /// Small ranges of a file that are left alone.
    static let smallRangesMax = 64
    /// Room on the disk that packs may waste, in percent of what is live, before some are emptied; and after that.
    static let wastePercentMax = 20, wastePercentLeft = 10
    /// Wasted bytes that make it worth to empty packs.
    static let wasteByteCountMin = 8 << 20
    /// Bytes that are moved before the packs they were in go, at least; else an eighth of what is live.
    static let movedByteCountMin = 64 << 20
    /// Bytes that must have died before somebody looks for waste again.
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
        try emptyWastefulPacks()
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

    /// Moves what is live out of packs that waste room, which then go: some at a time, as until then it is there twice.
    private func emptyWastefulPacks() throws(FileSystemError) {
        var percent = Compaction.wastePercentMax
        var tried: Set<Int64> = []
        while !upkeep.isStopped {
            let packs = wastefulPacks(beyond: percent, except: tried)
            if packs.isEmpty { return }
            try empty(packs)
            try commitIndex()
            tried.formUnion(packs)
            percent = Compaction.wastePercentLeft
        }
    }

    private func empty(_ packs: Set<Int64>) throws(FileSystemError) {
        var place: (item: Int64, offset: Int64) = (0, -1)
        while !upkeep.isStopped {
            let rows = try reading { state throws(FileSystemError) in
                try storing { () throws(StoreError) in
                    try state.index.extents(after: place.item, place.offset, limit: Compaction.batchCount)
                }
            }
            for row in rows {
                place = (row.item, row.offset)
                guard case .pack(let pack, _) = row.place, packs.contains(pack) else { continue }
                if row.remote != 0 { try move(row) } else { try rewrite([row]) }
            }
            if rows.count < Compaction.batchCount { break }
        }
    }

    /// The packs to empty next, if all together waste too much: those that waste most of their room.
    ///
    /// What was wasted in whole pages was given back already, so the disk is asked.
    private func wastefulPacks(beyond percent: Int, except tried: Set<Int64>) -> Set<Int64> {
        let (packs, current) = state.withLock { ($0.packs.rows, $0.packs.currentNumber) }
        let live = Int(packs.reduce(0) { $0 + $1.live })
        var found: [(pack: PackRow, waste: Int)] = []
        for pack in packs where pack.live > 0 && pack.live < pack.written && pack.number != current {
            // One that is missing is told of when it is read.
            let waste = try? state.withLock { state throws(StoreError) in
                try state.packs.wastedByteCount(of: pack.number)
            }
            if let waste, !tried.contains(pack.number) { found.append((pack, waste)) }
        }
        var waste = found.reduce(0) { $0 + $1.waste }
        let limit = max(Compaction.wasteByteCountMin, live / 100 * percent)
        var room = max(Compaction.movedByteCountMin, live / 8)
        found.sort { $0.waste * Int($1.pack.live) > $1.waste * Int($0.pack.live) }
        var wasteful: Set<Int64> = []
        for (pack, packWaste) in found where waste > limit && room > 0 {
            wasteful.insert(pack.number)
            waste -= packWaste
            room -= Int(pack.live)
        }
        return wasteful
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
