internal import CofferCrypto
internal import CofferFormat
internal import CofferStore
internal import CofferSystem

/// New rows of a file that replace old ones, and share the bytes that are already on this device.
private struct ContentExchange {
    private var here: [NoncePrefix: Held] = [:]
    /// The bytes of the rows on offer, by the numbers of their extents on the remote.
    private var offered: [Int64: Int64] = [:]
    private var numbers: [Extent: Int64] = [:]
    /// Places on this device that new rows refer to.
    private(set) var used: Set<ExtentRow.Place> = []

    /// An extent that the new content may share.
    private struct Held {
        let row: ExtentRow
        /// The ranges of the item that refer to its place; other blocks may be gone from there.
        var ranges: RangeSet<Int64>
    }

    /// Identifies the sealed extent on a remote that ranges belong to.
    private struct Extent: Hashable {
        let place: SealedPlace
        let total: Int64
    }

    /// Adds rows whose extents the new content may share.
    mutating func offer(_ rows: [ExtentRow]) {
        for row in rows where row.remote != 0 {
            offered[row.remote, default: 0] += row.length
            if let known = here[row.prefix], known.row.place == row.place {
                here[row.prefix]?.ranges.insert(contentsOf: row.offset..<row.end)
            } else if here[row.prefix]?.row.place ?? .remote == .remote {
                here[row.prefix] = Held(row: row, ranges: RangeSet(row.offset..<row.end))
            }
        }
    }

    /// The row for a range; counts the reference.
    mutating func row(
        for entry: ContentEntry, of item: Int64, _ state: borrowing VaultState
    ) throws(FileSystemError) -> ExtentRow {
        var row = ExtentRow(item: item, entry, remote: 0)
        if let held = here[row.prefix], case let found = held.row, found.base == row.base,
            found.total == row.total, found.epoch == row.epoch
        {
            let known = try state.index.remoteExtent(found.remote)
            let place = known.place
            // If it lies elsewhere, other files that have it go on naming the old place.
            let isAlone = known.live <= offered[found.remote] ?? 0
            // The local bytes match this hash: they were hashed when they were fetched or sent.
            if place.hash == entry.place.hash, place == entry.place || isAlone {
                if place != entry.place { try state.index.moveRemoteExtent(found.remote, to: entry.place) }
                if held.ranges.isSuperset(of: RangeSet(row.offset..<row.end)) { row.place = found.place }
                row.remote = found.remote
            }
        }
        let extent = Extent(place: entry.place, total: entry.total)
        if row.remote != 0 {
            try state.index.addLive(row.length, toRemote: row.remote)
        } else if let number = numbers[extent] {
            row.remote = number
            try state.index.addLive(row.length, toRemote: number)
        } else {
            row.remote = try state.index.insertRemoteExtent(entry.place, live: row.length)
            numbers[extent] = row.remote
        }
        switch row.place {
        case .pack(let pack, let position): state.packs.drop(pack, at: Int(position), -row.length)
        case .row(let number): try state.index.addLive(row.length, toContent: number)
        case .remote: break
        }
        used.insert(row.place)
        return row
    }
}

// Contents from other devices.
extension VaultState {
    /// Replaces a file's content, within the open transaction.
    ///
    /// Extents that are already on this device keep their bytes; others are fetched when they are read.
    /// Unsent local changes are lost; the caller has taken care of them.
    ///
    /// - Parameters:
    ///   - other: Another file that may have some of the extents, as it was split from this one.
    ///   - isSame: Whether the file has had this content all the time, and its extents were not known.
    mutating func setContent(
        of item: CachedItem, to content: FetchedContent, like other: Int64?, isSame: Bool = false
    ) throws(FileSystemError) {
        guard item.type == .regular else { throw .invalidArgument }
        let number = item.row.number
        readAhead.end(number)
        var exchange = ContentExchange()
        let old = try index.extents(of: number, overlapping: 0..<Int64.max)
        if item.row.origin == content.value.origin { exchange.offer(old) }
        if let other, try tree.row(other)?.origin == content.value.origin {
            // The tail records only one item for each of its extents.
            try packs.writeTail()
            exchange.offer(try index.extents(of: other, overlapping: 0..<Int64.max))
        }
        var fresh: [ExtentRow] = []
        for entry in content.entries { fresh.append(try exchange.row(for: entry, of: number, self)) }
        let stays = Self.unchanged(old, fresh)
        for row in old where !stays.contains(row.offset) {
            try index.remove(row)
            item.row.allocated -= row.length
        }
        for row in fresh where !stays.contains(row.offset) {
            try index.insert(row)
            item.row.allocated += row.length
        }
        // Do this last, so that nothing that stays is freed in between.
        for row in old {
            let keepsBytes = exchange.used.contains(row.place)
            let isKept = isSame || stays.contains(row.offset)
            for part in isKept ? [row.offset..<row.end] : try keep(row, row.offset..<row.end, of: item) {
                try drop(row, part, keepsBytes: keepsBytes)
            }
        }
        if !isSame {
            for row in fresh where !stays.contains(row.offset) {
                try keepHoles(in: row.offset..<row.end, of: item)
            }
            try keepHoles(in: content.value.size..<Int64.max, of: item)
        }
        item.row.size = content.value.size
        item.row.origin = content.value.origin
        try replacePages(of: item, with: content)
        item.row.unsent.remove(.content)
        tree.touch(item, [])
    }

    /// Puts a part of a content in place, within the open transaction: the range from `start` to `end`.
    ///
    /// The file has had this content all the time, and its extents were not known. Parts come in order, the first one
    /// from 0. Until the next part is in place, the file ends with ranges that cannot be read.
    mutating func setPart(
        _ part: FetchedContent, from start: Int64, to end: Int64, of item: CachedItem
    ) throws(FileSystemError) {
        guard item.type == .regular else { throw .invalidArgument }
        let number = item.row.number
        if start == 0 { try forgetPages(of: item) }
        let isLast = end >= part.value.size
        try removeContent(of: item, start..<(isLast ? Int64.max : end), isSame: true)
        var entries = part.entries
        // The placeholder of a very large content ends sooner.
        if !isLast, item.row.size <= end { entries.append(.nowhere(from: end, upTo: part.value.size)) }
        item.row.size = isLast ? part.value.size : max(item.row.size, entries.last?.end ?? 0)
        item.row.origin = part.value.origin
        var exchange = ContentExchange()
        for entry in entries {
            let row = try exchange.row(for: entry, of: number, self)
            try index.insert(row)
            item.row.allocated += row.length
        }
        let new = part.pages.map {
            RemotePageRow(item: number, node: $0.node, plain: $0.plain, reference: $0.reference)
        }
        try replacePages(of: item, new: new[...], left: [])
        tree.touch(item, [])
    }

    private static func unchanged(_ old: [ExtentRow], _ fresh: [ExtentRow]) -> Set<Int64> {
        let rows = Dictionary(old.map { ($0.offset, $0) }, uniquingKeysWith: { first, _ in first })
        return Set(fresh.filter { rows[$0.offset] == $0 }.map(\.offset))
    }

    mutating func replacePages(
        of item: CachedItem, with content: FetchedContent
    ) throws(FileSystemError) {
        let number = item.row.number
        guard item.row.flags.contains(.hasPages) || !content.pages.isEmpty else { return }
        let stored = try index.pages(of: number)
        let left = stored.filter { row in !content.known.contains { $0.isAbove(row.node) } }
        let new = content.pages.map {
            RemotePageRow(item: number, node: $0.node, plain: $0.plain, reference: $0.reference)
        }
        try replacePages(of: item, new: new[...], left: left[...])
    }
}

// Contents whose bytes lie elsewhere on the remote.
extension VaultState {
    /// Records where the extents and the pages of a file's content lie now, if it is otherwise the same.
    ///
    /// What is on this device stays, and the file's versions take the places along.
    ///
    /// - Returns: False if the file has another content; then nothing has changed.
    mutating func setPlaces(of item: CachedItem, to content: FetchedContent) throws(FileSystemError) -> Bool {
        let number = item.row.number
        guard item.type == .regular, item.row.unsent.isDisjoint(with: .content),
            item.row.size == content.value.size, item.row.origin == content.value.origin
        else { return false }
        let rows = try index.extents(of: number, overlapping: 0..<Int64.max)
        guard rows.count == content.entries.count else { return false }
        var moves: [Int64: (rows: [ExtentRow], place: SealedPlace)] = [:]
        for (row, entry) in zip(rows, content.entries) {
            guard row.remote != 0, row.entry(at: entry.place) == entry else { return false }
            if moves[row.remote] == nil {
                let known = try index.remoteExtent(row.remote).place
                guard known.hash == entry.place.hash else { return false }
                moves[row.remote] = ([], entry.place)
            }
            guard moves[row.remote]?.place == entry.place else { return false }
            moves[row.remote]?.rows.append(row)
        }
        for (remote, move) in moves.sorted(by: { $0.key < $1.key }) {
            try self.move(remote, of: move.rows, to: move.place)
        }
        try replacePages(of: item, with: content)
        return true
    }

    /// Records another place of an extent, as far as one file and its versions refer to it.
    ///
    /// The contents of other files go on naming the old place, and keep the bytes on this device, as two extents on
    /// the remote never share them.
    private mutating func move(
        _ remote: Int64, of rows: [ExtentRow], to place: SealedPlace
    ) throws(FileSystemError) {
        let known = try index.remoteExtent(remote)
        guard known.place != place, let first = rows.first else { return }
        let all = rows + (try keptRows(ofExtent: first).filter { $0.remote == remote })
        let live = all.reduce(0) { $0 + $1.length }
        if live == known.live { return try index.moveRemoteExtent(remote, to: place) }
        let number = try index.insertRemoteExtent(place, live: live)
        for row in all {
            var moved = row
            (moved.remote, moved.place) = (number, .remote)
            try index.remove(row)
            try index.insert(moved)
            try dropLocal(row, row.length)
            if case .pack = row.place { deadByteCount += row.length }
        }
        try index.addLive(-live, toRemote: remote)
    }
}
