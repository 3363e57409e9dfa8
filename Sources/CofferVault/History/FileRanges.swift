/// Sorted ranges of a file, in time that grows with their number.
///
/// A `RangeSet` takes as much for each range that is added or removed, and a file may have a million.
enum FileRanges {
    /// All bytes of both; ranges that touch become one.
    static func merged(_ some: [Range<Int64>], _ others: [Range<Int64>]) -> [Range<Int64>] {
        var merged: [Range<Int64>] = []
        var (next, other) = (some.startIndex, others.startIndex)
        while next < some.endIndex || other < others.endIndex {
            let range: Range<Int64>
            if other == others.endIndex
                || next < some.endIndex && some[next].lowerBound <= others[other].lowerBound
            {
                range = some[next]
                next += 1
            } else {
                range = others[other]
                other += 1
            }
            if let last = merged.last, range.lowerBound <= last.upperBound {
                merged[merged.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
            } else {
                merged.append(range)
            }
        }
        return merged
    }

    /// The bytes of `ranges` that are not in `removed`; ranges of either do not overlap.
    static func removing(_ removed: [Range<Int64>], from ranges: [Range<Int64>]) -> [Range<Int64>] {
        var left: [Range<Int64>] = []
        var next = removed.startIndex
        for range in ranges {
            var begin = range.lowerBound
            while next < removed.endIndex, removed[next].upperBound <= begin { next += 1 }
            var place = next
            while place < removed.endIndex, removed[place].lowerBound < range.upperBound {
                if removed[place].lowerBound > begin { left.append(begin..<removed[place].lowerBound) }
                begin = removed[place].upperBound
                place += 1
            }
            if begin < range.upperBound { left.append(begin..<range.upperBound) }
            // The last one may reach into the next range.
            next = max(next, place - 1)
        }
        return left
    }
}
