internal import CofferFacts
internal import CofferFormat
internal import CofferStore
internal import CofferSystem

/// That a content begins with all of another.
struct Growth {
    /// What the file was before; nil for nothing.
    let old: Fact.Content?
    /// What it is with the bytes that were added.
    let new: Fact.Content
}

// Files that only grow elsewhere.
extension Vault {
    /// Bytes that are compared, and bytes of extents that are fetched for that, of each content.
    private static let comparedByteCountMax = 1 << 20, fetchedByteCountMax = 2 << 20
    /// Ranges that are compared of a content.
    private static let comparedRangesMax = 16

    /// Finds what only adds to a file that programs may have open; by items, in the order of commits.
    ///
    /// Waits for the remote where extents were sealed anew: not under a lock.
    func growths(
        in commits: ArraySlice<IncomingCommit>, as participant: Participant
    ) throws(FileSystemError) -> [ItemID: [Growth]] {
        var contents: [ItemID: [Fact.Content]] = [:]
        for fact in commits.lazy.flatMap(\.commit.facts) {
            guard case .content(let item, let content?) = fact.assertion else { continue }
            contents[item, default: []].append(content)
        }
        var growths: [ItemID: [Growth]] = [:]
        for (item, number) in try numbersInUse(of: contents.keys) {
            var old = try reading { state throws(FileSystemError) in
                let tree = try state.factTree(participant.hashKey)
                return try storing { () throws(StoreError) in try tree.shownItem(item)?.content }
            }
            var here: Int64? = number
            for new in contents[item] ?? [] {
                if try isGrowth(from: old, to: new, here, participant) {
                    growths[item, default: []].append(Growth(old: old, new: new))
                }
                (old, here) = (new, nil)
            }
        }
        return growths
    }

    /// The numbers of those files that programs may have open.
    private func numbersInUse(
        of items: some Sequence<ItemID>
    ) throws(FileSystemError) -> [(ItemID, Int64)] {
        guard let sink = sink.withLock({ $0 }) else { return [] }
        let numbers = try reading { state throws(FileSystemError) in
            var numbers: [(ItemID, Int64)] = []
            for item in items {
                if let row = try state.row(item, .regular) { numbers.append((item, row.number)) }
            }
            return numbers
        }
        return numbers.filter { sink.knows($0.1) }
    }

    private func isGrowth(
        from old: Fact.Content?, to new: Fact.Content, _ number: Int64?, _ participant: Participant
    ) throws(FileSystemError) -> Bool {
        guard new.size > old?.size ?? 0 else { return false }
        guard let old, old.size > 0 else { return true }
        return try participant.contents.begins(new, with: old, at: number, in: self)
    }

    /// Whether a content begins with all of another; false if that cannot be told with little effort.
    ///
    /// What both have of the same sealed extents is the same. The rest is compared: the end of a file, as a rule,
    /// which was sealed anew with what was added. Waits for the remote.
    ///
    /// - Parameter number: The file that has the old content; nil if none has it yet.
    func begins(_ new: FetchedContent, with old: FetchedContent, at number: Int64?) -> Bool {
        let ranges = old.differences(from: new, limit: Self.comparedRangesMax)
        guard new.value.origin == old.value.origin, ranges.count < Self.comparedRangesMax,
            ranges.allSatisfy({ $0.upperBound - $0.lowerBound <= Self.comparedByteCountMax }),
            ranges.reduce(0, { $0 + $1.count }) <= Self.comparedByteCountMax
        else { return false }
        var (left, leftOfOld) = (Self.fetchedByteCountMax, Self.fetchedByteCountMax)
        do throws(FileSystemError) {
            for range in ranges {
                let added = try bytes(range, of: new, limit: &left)
                let before: [UInt8]
                if let number {
                    before = try bytes(range, of: number)
                } else {
                    before = try bytes(range, of: old, limit: &leftOfOld)
                }
                guard added == before else { return false }
            }
            return true
        } catch {
            // Then it is a new version, of which readers will hear what is wrong.
            return false
        }
    }

    private func bytes(_ range: Range<Int64>, of number: Int64) throws(FileSystemError) -> [UInt8] {
        let buffer = AlignedBuffer(count: range.count)
        let count = try read(number, at: range.lowerBound, count: range.count, into: buffer)
        return buffer.withBytes(0..<count) { $0.array }
    }

    /// Bytes of a content that no file has yet, from the remote.
    private func bytes(
        _ range: Range<Int64>, of content: FetchedContent, limit: inout Int
    ) throws(FileSystemError) -> [UInt8] {
        var extents: [SealedExtent] = []
        var last: (place: SealedPlace, sealed: BufferPart)?
        for entry in content.entries where (entry.offset..<entry.end).overlaps(range) {
            if last?.place != entry.place {
                limit -= entry.sealedByteCount
                guard limit >= 0 else { throw .fileTooLarge }
                let start = Int(entry.place.position)
                let sealed = try remoteReads.fetch(entry.place.pack, start..<start + entry.sealedByteCount)
                guard sealed.withBytes({ RemoteHash.extent($0) }) == entry.place.hash else {
                    throw .damaged(place: "byte \(start) of remote pack \(entry.place.pack)")
                }
                last = (entry.place, sealed)
            }
            guard let last else { continue }
            extents.append(
                SealedExtent(row: ExtentRow(item: 0, entry, remote: 0), source: .held(last.sealed)))
        }
        let buffer = AlignedBuffer(count: range.count)
        try fill(buffer, at: 0, with: range, of: content.value.origin, from: extents)
        return buffer.withBytes(0..<range.count) { $0.array }
    }
}

extension FetchedContent {
    /// Ranges that are not of the same sealed extents in another content; the first ones.
    fileprivate func differences(from other: FetchedContent, limit: Int) -> [Range<Int64>] {
        var ranges: [Range<Int64>] = []
        var (mine, theirs) = (entries[...], other.entries[...])
        var place: Int64 = 0
        while place < value.size, ranges.count < limit {
            mine = mine.drop { $0.end <= place }
            theirs = theirs.drop { $0.end <= place }
            let end = min(value.size, mine.boundary(behind: place), theirs.boundary(behind: place))
            let (one, another) = (mine.holder(of: place), theirs.holder(of: place))
            if one?.extent != another?.extent {
                if let last = ranges.last, last.upperBound == place {
                    ranges[ranges.count - 1] = last.lowerBound..<end
                } else {
                    ranges.append(place..<end)
                }
            }
            place = end
        }
        return ranges
    }
}

extension ArraySlice<ContentEntry> {
    /// The first entry, if it has the byte at `place`; none ends before.
    fileprivate func holder(of place: Int64) -> ContentEntry? {
        first.flatMap { $0.offset <= place ? $0 : nil }
    }

    /// Where the next range or hole begins.
    fileprivate func boundary(behind place: Int64) -> Int64 {
        first.map { $0.offset <= place ? $0.end : $0.offset } ?? .max
    }
}

extension ContentEntry {
    /// The entry of the whole extent: the same for all ranges of it.
    fileprivate var extent: ContentEntry {
        ContentEntry(
            offset: base, length: total, base: base, total: total, place: place, prefixLow: prefixLow,
            prefixHigh: prefixHigh, epoch: epoch)
    }
}
