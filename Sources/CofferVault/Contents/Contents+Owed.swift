internal import CofferFormat
internal import CofferStore

// Contents of which nothing is known yet, because their description has not arrived at the remote, or is
// damaged.
extension Contents {
    /// Why a file lacks its content.
    enum OwedContent {
        case mayArrive, isDamaged, isNewer
    }

    /// Why a file lacks its content; nil if it does not lack it, or if the content is lost for good.
    func owedContent(of number: Int64) -> OwedContent? {
        guard let value = owedValue(of: number) else { return nil }
        if ContentValue.isNewer(value) { return .isNewer }
        return vault.remoteReads.arrivals.arePagesDamaged(of: number) ? .isDamaged : .mayArrive
    }

    /// The place of the first page of an owed content; nil if there is none.
    func owedPage(of number: Int64) -> PageReference? {
        guard let bytes = owedValue(of: number), let value = unsafe try? ContentValue(bytes.span.bytes),
            case .tree(let root, _) = value.extents
        else { return nil }
        return root.reference
    }

    /// The value that describes an owed content.
    private func owedValue(of number: Int64) -> [UInt8]? {
        try? vault.reading { state throws(FileSystemError) in try state.owedValue(of: number) }
    }

    /// Whether a file whose content is owed still needs it; false if all of it was rewritten on this device.
    func lacksContent(_ number: Int64) throws(FileSystemError) -> Bool {
        try vault.reading { state throws(FileSystemError) in
            if try state.tree.peek(number).unsent.isDisjoint(with: .content) { return true }
            return try state.hasGaps(number)
        }
    }

    /// Whether nothing is known of a part of a file or a version.
    func hasGaps(_ number: Int64) throws(FileSystemError) -> Bool {
        try vault.reading { state throws(FileSystemError) in try state.hasGaps(number) }
    }
}

extension KeptRow.Key {
    /// The row that says that an item lacks its content.
    static func owed(_ item: ItemID) -> Self { Self(.owed, id: item.bytes) }
    /// The row that says that a version or an outdated file lacks a part of what its item was owed.
    static func lacking(_ number: Int64) -> Self { Self(.lacking, number: UInt64(number)) }
    static func places(_ item: ItemID) -> Self { Self(.places, id: item.bytes) }
}

extension ContentValue {
    /// Whether only a newer Coffer can decode a value.
    static func isNewer(_ value: [UInt8]) -> Bool {
        do throws(FormatError) { _ = try unsafe ContentValue(value.span.bytes) } catch {
            if case .newerVersion = error { return true }
        }
        return false
    }
}

extension ContentEntry {
    /// The part of the extent that lies in a range.
    fileprivate func clamped(to range: Range<Int64>) -> ContentEntry {
        let part = (offset..<offset + length).clamped(to: range)
        return ContentEntry(
            offset: part.lowerBound, length: Int64(part.count), base: base, total: total, place: place,
            prefixLow: prefixLow, prefixHigh: prefixHigh, epoch: epoch)
    }
}

extension VaultState {
    /// The value that describes a content of which a file or a version lacks a part; nil if it lacks none.
    func owedValue(of number: Int64) throws(FileSystemError) -> [UInt8]? {
        if let value = try index.kept(.lacking(number)) { return value }
        let row = try tree.peek(number)
        return row.flags.contains(.isVersion) ? nil : try index.kept(.owed(row.id))
    }

    /// Records that a version or an outdated file lacks what another item number was owed, as it got a part of that.
    mutating func noteLacking(_ number: Int64, asDoes other: Int64) throws(FileSystemError) {
        guard try index.kept(.lacking(number)) == nil, let value = try owedValue(of: other) else { return }
        try index.keep(KeptRow(.lacking(number), value))
    }

    /// Records other places of a content of which versions or outdated files lack a part.
    mutating func moveLacking(_ old: [UInt8], to new: [UInt8]) throws(FileSystemError) {
        var last: KeptRow.Key?
        repeat {
            let page = try index.keptRows(.lacking ... .lacking, after: last, limit: 16)
            for row in page where row.value == old { try index.keep(KeptRow(row.key, new)) }
            last = page.last?.key
        } while last != nil
    }

    /// Whether nothing is known of a range.
    func isGap(_ row: ExtentRow) throws(FileSystemError) -> Bool {
        guard row.place == .remote else { return false }
        return try index.remoteExtent(row.remote).place.pack == .nowhere
    }

    /// Whether nothing is known of some range of a file.
    func hasGaps(_ number: Int64) throws(FileSystemError) -> Bool {
        try !gaps(in: number, 0..<Int64.max).isEmpty
    }

    /// The ranges of a file of which nothing is known.
    fileprivate func gaps(
        in number: Int64, _ range: Range<Int64>
    ) throws(FileSystemError) -> [Range<Int64>] {
        var gaps: [Range<Int64>] = []
        for row in try index.extents(of: number, overlapping: range) where try isGap(row) {
            gaps.append((row.offset..<row.end).clamped(to: range))
        }
        return gaps
    }

    /// Fills the unknown ranges of a file or a version with a content that arrived late, and keeps what was written in
    /// the meantime.
    ///
    /// - Parameter range: The range whose entries are all given.
    mutating func fillGaps(
        in range: Range<Int64>, of item: CachedItem, with content: FetchedContent
    ) throws(FileSystemError) {
        // Extents that are sealed for another item cannot be mixed with those of this one.
        guard item.row.origin == content.value.origin else { return }
        let number = item.row.number
        let isVersion = item.row.flags.contains(.isVersion)
        var numbers: [SealedPlace: Int64] = [:]
        for gap in try gaps(in: number, range) {
            try removeContent(of: item, gap, isSame: true)
            for entry in content.entries where entry.offset < gap.upperBound && gap.lowerBound < entry.end {
                let entry = entry.clamped(to: gap)
                var row = ExtentRow(item: number, entry, remote: 0)
                if let known = numbers[entry.place] {
                    row.remote = known
                    try index.addLive(row.length, toRemote: known)
                } else {
                    row.remote = try index.insertRemoteExtent(entry.place, live: row.length)
                    numbers[entry.place] = row.remote
                }
                try index.insert(row)
                item.row.allocated += row.length
            }
            if isVersion { try giveHoles(in: gap, to: item) }
        }
        if isVersion { tree.touch(version: item) } else { tree.touch(item, []) }
    }
}
