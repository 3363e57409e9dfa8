internal import CofferCrypto
internal import CofferFormat
internal import CofferStore
internal import CofferSystem

/// Compaction: unites small ranges, and empties packs that waste space.
///
/// Runs in the background, in steps that each leave the vault consistent. Stopped at any moment, it continues
/// from the state that it finds.
enum Compaction {
    /// The number of plaintext bytes below which a range counts as small.
    static let smallByteCount: Int64 = 64 << 10
    /// The number of small ranges that a file may have before they are united.
    static let smallRangesMax = 64
    /// The number of plaintext bytes from which a dead part of an extent is returned to the disk by itself.
    static let discardedByteCountMin: Int64 = 16 << 10
    /// How much disk space packs may waste, in percent of the live bytes, before some are emptied; and after
    /// that.
    static let wastePercentMax = 20, wastePercentLeft = 10
    /// The number of wasted bytes that makes emptying packs worthwhile.
    static let wasteByteCountMin = 8 << 20
    /// The minimum number of bytes to move before the packs that contained them are removed; a sixteenth of
    /// the live bytes, if that is more.
    static let movedByteCountMin = 16 << 20
    /// The number of bytes that must die before the next search for waste.
    static let deadByteCountMin: Int64 = 8 << 20
    /// How long a file must have been left alone, in nanoseconds.
    static let quiet: Int64 = 2_000_000_000
    /// The number of ranges that are looked at together.
    static let batchCount = 256
}

extension Repacking {
    /// Does the compaction that is due now.
    ///
    /// - Returns: Whether there is more to do once files have been left alone for long enough.
    func compact() throws(FileSystemError) -> Bool {
        let now = Clock.realTime
        let candidates = vault.state.withLock { Array($0.fragmented) }
        var waits = false
        for number in candidates {
            let isQuiet = try vault.state.withLock { state throws(FileSystemError) in
                guard let row = try? state.tree.peek(number), row.links > 0 else {
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

    /// Rewrites runs of small ranges of a file with many of them.
    private func uniteRanges(of number: Int64) throws(FileSystemError) {
        var place: Int64 = -1
        var run: [ExtentRow] = []
        var small = 0
        while !vault.upkeep.isStopped {
            let rows = try vault.reading { state throws(FileSystemError) in
                try state.index.extents(after: number, place, limit: Compaction.batchCount)
            }.filter { $0.item == number }
            for row in rows {
                place = row.offset
                let joins = run.last.map { $0.end == row.offset } ?? true
                // What a commit states stays as it is: the index says which packs at the remote it needs.
                let isSmall =
                    row.length < Compaction.smallByteCount && row.place != .remote && row.remote == 0
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

    /// Moves the live extents out of packs that waste space, and removes those packs.
    ///
    /// Does so for some packs at a time, as the extents exist twice until the packs are removed.
    private func emptyWastefulPacks() throws(FileSystemError) {
        var percent = Compaction.wastePercentMax
        var tried: Set<Int64> = []
        while !vault.upkeep.isStopped {
            let packs = wastefulPacks(beyond: percent, except: tried)
            if packs.isEmpty { return }
            let timer = LogTimer(.info)
            try empty(packs)
            try vault.commitIndex()
            try vault.moveLog()
            DebugLog.log(.info, .space, "vault \(id: vault.id.high): \(packs.count) packs emptied, \(timer)")
            tried.formUnion(packs)
            percent = Compaction.wastePercentLeft
        }
    }

    private func empty(_ packs: Set<Int64>) throws(FileSystemError) {
        var place: (item: Int64, offset: Int64) = (0, -1)
        while !vault.upkeep.isStopped {
            let rows = try vault.reading { state throws(FileSystemError) in
                try state.index.extents(after: place.item, place.offset, limit: Compaction.batchCount)
            }
            for row in rows {
                place = (row.item, row.offset)
                guard case .pack(let pack, _) = row.place, packs.contains(pack) else { continue }
                if row.remote != 0 { try vault.contents.move(row) } else { try rewrite([row]) }
            }
            if rows.count < Compaction.batchCount { break }
        }
    }

    /// The packs that waste most of their space, to be emptied next; none unless all packs together waste too
    /// much.
    ///
    /// Asks the disk, as wasted whole pages have already been returned to it.
    private func wastefulPacks(beyond percent: Int, except tried: Set<Int64>) -> Set<Int64> {
        let (packs, current) = vault.state.withLock { ($0.packs.rows, $0.packs.currentNumber) }
        let live = Int(packs.reduce(0) { $0 + $1.live })
        var found: [(pack: PackRow, waste: Int)] = []
        for pack in packs where pack.live > 0 && pack.live < pack.written && pack.number != current {
            // A missing pack is reported when it is read.
            let waste = try? vault.state.withLock { state throws(FileSystemError) in
                try state.packs.wastedByteCount(of: pack.number)
            }
            if let waste, !tried.contains(pack.number) { found.append((pack, waste)) }
        }
        var waste = found.reduce(0) { $0 + $1.waste }
        let limit = max(Compaction.wasteByteCountMin, live / 100 * percent)
        var room = max(Compaction.movedByteCountMin, live / 16)
        found.sort { $0.waste * Int($1.pack.live) > $1.waste * Int($0.pack.live) }
        var wasteful: Set<Int64> = []
        for (pack, packWaste) in found where waste > limit && room > 0 {
            wasteful.insert(pack.number)
            waste -= packWaste
            room -= Int(pack.live)
        }
        return wasteful
    }

    /// Re-encrypts adjacent ranges as one extent, unless they have changed in the meantime.
    ///
    /// - Parameter aspects: The aspects of the item that become unsent through this.
    /// - Returns: Whether it was done; false if the ranges cannot be read.
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
            id = try vault.reading { state throws(FileSystemError) in try state.tree.peek(number).origin }
            guard
                try vault.contents.read(number, at: range.lowerBound, count: range.count, into: buffer)
                    == range.count
            else {
                return false
            }
        } catch {
            // A damaged or vanished file stays as it is; reading it reports the problem.
            return false
        }
        let isDone = try buffer.withBytes(0..<range.count) { bytes throws(FileSystemError) in
            try vault.contents.store(bytes, of: id, number, at: range.lowerBound) {
                state throws(FileSystemError) in
                guard try state.tree.row(number)?.origin == id else { return false }
                // Reading may have fetched them from a remote.
                return try state.index.extents(of: number, overlapping: range).elementsEqual(rows) {
                    $0.offset == $1.offset && $0.length == $1.length && $0.isOfSameExtent(as: $1)
                }
            } refer: { row, state throws(FileSystemError) in
                let item = try state.tree.item(number)
                try state.removeContent(of: item, range, isSame: true)
                try state.index.insert(row)
                item.row.allocated += row.length
                state.tree.touch(item, item.row.flags.contains(.isVersion) ? [] : aspects)
            }
        }
        vault.upkeep.pause()
        return isDone
    }
}
