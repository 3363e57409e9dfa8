internal import CofferFacts
internal import CofferFormat
internal import CofferStore
internal import CofferSystem

/// A pair of contents of which the new one is the old one with bytes appended.
struct Growth {
    /// The file's old content; nil if there is none.
    let old: Fact.Content?
    /// The content with the appended bytes.
    let new: Fact.Content
}

// Files that only grow on another device.
extension Incoming {
    /// The number of bytes that are compared, and of extent bytes that are fetched for that, for each
    /// content.
    private static let comparedByteCountMax = 1 << 20, fetchedByteCountMax = 2 << 20
    /// The number of ranges that are compared for a content.
    private static let comparedRangesMax = 16

    /// Finds changes that only append to files that programs may have open; by item, in the order of commits.
    ///
    /// Waits for the remote if extents were re-encrypted, so do not call it under a lock.
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
            var old = try vault.reading { state throws(FileSystemError) in
                let tree = try state.factTree(participant.hashKey)
                return try tree.shownItem(item)?.content
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
        guard let sink = vault.sink.withLock({ $0 }) else { return [] }
        let numbers = try vault.reading { state throws(FileSystemError) in
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
        return try participant.contents.begins(new, with: old, at: number, in: vault)
    }

    /// Whether a content is another one with bytes appended; false if that cannot be determined with little
    /// effort.
    ///
    /// Parts with the same sealed extents are equal. The rest is compared: usually the end of a file, which
    /// was re-encrypted along with the appended bytes. Waits for the remote.
    ///
    /// - Parameter number: The file that has the old content; nil if there is none yet.
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
            // It is then treated as a new version; reading it reports the error.
            return false
        }
    }

    private func bytes(_ range: Range<Int64>, of number: Int64) throws(FileSystemError) -> [UInt8] {
        let buffer = AlignedBuffer(count: range.count)
        let count = try vault.contents.read(number, at: range.lowerBound, count: range.count, into: buffer)
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
                let sealed = try vault.remoteReads.fetch(
                    entry.place.pack, start..<start + entry.sealedByteCount)
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
        try vault.contents.fill(buffer, at: 0, with: range, of: content.value.origin, from: extents)
        return buffer.withBytes(0..<range.count) { $0.array }
    }
}

extension FetchedContent {
    /// The first ranges that are not in the same sealed extents of another content.
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
    /// The first entry, if it contains the byte at `place`; no entry ends before that.
    fileprivate func holder(of place: Int64) -> ContentEntry? {
        first.flatMap { $0.offset <= place ? $0 : nil }
    }

    /// The start of the next range or hole.
    fileprivate func boundary(behind place: Int64) -> Int64 {
        first.map { $0.offset <= place ? $0.end : $0.offset } ?? .max
    }
}

extension ContentEntry {
    /// The entry of the whole extent; the same for all its ranges.
    fileprivate var extent: ContentEntry {
        ContentEntry(
            offset: base, length: total, base: base, total: total, place: place, prefixLow: prefixLow,
            prefixHigh: prefixHigh, epoch: epoch)
    }
}
