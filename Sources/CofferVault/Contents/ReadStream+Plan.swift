internal import CofferFormat
internal import CofferStore

extension ReadStream {
    /// The maximum gap between extents that one fetch may read over, in bytes.
    private static let gapByteCountMax = 16 << 10
    /// The minimum size of a worthwhile fetch, in bytes.
    private static let fetchByteCountMin = 96 << 10

    /// Groups extents that follow each other in a pack into fetches.
    ///
    /// - Parameter start: Parts of the item before this offset will not be decrypted.
    static func plan(_ extents: [SealedExtent], from start: Int64) -> [PlannedExtent] {
        var planned: [PlannedExtent] = []
        var group: [SealedExtent] = []
        var bytes = 0..<0
        func finishGroup() {
            var fetch: Fetch?
            if case .file(let file, _)? = group.first?.source, bytes.count >= fetchByteCountMin {
                let rest = group.reduce(0) { $0 + $1.row.end - max(start, $1.row.offset) }
                fetch = Fetch(file, position: bytes.lowerBound, count: bytes.count, rest: rest)
            }
            planned += group.map { PlannedExtent(extent: $0, fetch: fetch) }
            group = []
        }
        for extent in extents {
            guard let wanted = sealedRange(of: extent, from: start) else {
                finishGroup()
                planned.append(PlannedExtent(extent: extent, fetch: nil))
                continue
            }
            if let last = group.last, last.isInPack(of: extent), wanted.lowerBound >= bytes.upperBound,
                wanted.lowerBound - bytes.upperBound <= gapByteCountMax,
                wanted.upperBound - bytes.lowerBound <= ReadAhead.fetchByteCountMax
            {
                bytes = bytes.lowerBound..<wanted.upperBound
            } else {
                finishGroup()
                bytes = wanted
            }
            group.append(extent)
        }
        finishGroup()
        return planned
    }

    /// The bytes of a pack with the blocks that an extent's range touches.
    ///
    /// Nil if they should not be fetched, or if the extent's row is invalid; decrypting the extent will
    /// report that.
    private static func sealedRange(of extent: SealedExtent, from start: Int64) -> Range<Int>? {
        let row = extent.row
        guard case .file = extent.source, case .pack(_, let position) = row.place, position >= 0,
            position <= Int64(Int32.max), row.total > 0, row.total <= ExtentLayout.byteCountMax,
            row.base <= row.offset, row.length > 0, row.end - row.base <= row.total, row.end > start
        else { return nil }
        let first = Int(max(start, row.offset) - row.base) / ExtentLayout.blockByteCount
        let end = ExtentLayout.blockCount(Int(row.end - row.base))
        let sealedEnd = min(
            ExtentLayout.sealedOffset(ofBlock: end), ExtentLayout.sealedByteCount(Int(row.total)))
        return Int(position) + ExtentLayout.sealedOffset(ofBlock: first)..<Int(position) + sealedEnd
    }
}

extension SealedExtent {
    fileprivate func isInPack(of other: SealedExtent) -> Bool {
        guard case .pack(let pack, _) = row.place, case .pack(let otherPack, _) = other.row.place else {
            return false
        }
        return pack == otherPack
    }
}
