internal import CofferCrypto
package import CofferFormat
internal import CofferStore
package import CofferSystem

/// A vault as it was at a moment; nothing of it can be changed.
///
/// Keeps the moment from being removed until `close`. Item numbers are those of the vault.
package final class HistoryView: Sendable {
    /// How often a read retries when the vault has changed in the meantime.
    private static let attemptCount = 20

    private let vault: Vault
    let moment: MomentRow

    /// A name in a directory.
    package struct Entry: Sendable {
        /// The name.
        package let name: [UInt8]
        /// The number of the item that it led to.
        package let item: Int64
        /// The item's type, as in d_type.
        package let type: UInt8
        /// The place in the order of reading.
        package let cookie: Int64
    }

    init(_ vault: Vault, _ moment: MomentRow) {
        self.vault = vault
        self.moment = moment
    }

    /// From when on the vault was in this state, in nanoseconds since 1970.
    package var since: Int64 { moment.since }

    /// Whether it shows the past of a vault, and not that of another, or of one that was opened again.
    package func belongs(to vault: Vault?) -> Bool { self.vault === vault }

    /// The state.
    package var state: History.State { History.State(moment) }

    /// Lets the moment be removed when its time has come; call it once, and nothing after it.
    package func close() {
        vault.history.release(moment.number)
    }

    /// How an item was.
    ///
    /// - Throws: `.stale` if there was no such item.
    package func attributes(of item: Int64) throws(FileSystemError) -> Attributes {
        try vault.looking { state throws(FileSystemError) in
            try PastItem(item, at: moment, in: state).attributes
        }
    }

    /// The directory that a directory was in; the root is in itself.
    package func parent(of directory: Int64) throws(FileSystemError) -> Int64 {
        try vault.looking { state throws(FileSystemError) in
            try PastItem(directory, at: moment, in: state).row.parent
        }
    }

    /// The item that a name in a directory led to.
    ///
    /// - Throws: `.notFound`, `.notDirectory`, `.stale`.
    package func lookup(_ name: [UInt8], in directory: Int64) throws(FileSystemError) -> Attributes {
        try vault.looking { state throws(FileSystemError) in
            let past = try PastItem(directory, at: moment, in: state)
            guard past.attributes.type == .directory else { throw .notDirectory }
            for holder in past.holders {
                guard let entry = try state.index.entry(name, in: holder) else { continue }
                guard entry.item != 0, entry.cookie < moment.nextCookie else { break }
                return try PastItem(entry.item, at: moment, in: state).attributes
            }
            throw .notFound
        }
    }

    /// All names in a directory, in the order of reading.
    ///
    /// - Throws: `.notDirectory`, `.stale`.
    package func entries(of directory: Int64) throws(FileSystemError) -> [Entry] {
        var found: [[UInt8]: EntryRow] = [:]
        let type = try attributes(of: directory).type
        guard type == .directory else { throw .notDirectory }
        // Names move from the present to the versions, so what is read later has what is not there any more.
        if directory < moment.nextItem { try collect(directory, into: &found) }
        let versions = try vault.looking { state throws(FileSystemError) in
            try PastItem.versions(of: directory, at: moment, in: state)
        }
        for version in versions.reversed() { try collect(version.version, into: &found) }
        return found.values.filter { $0.item != 0 && $0.cookie < moment.nextCookie }
            .map { Entry(name: $0.name, item: $0.item, type: $0.type, cookie: $0.cookie) }
            .sorted { $0.cookie < $1.cookie }
    }

    /// Adds the entries of a directory or of a version, in the place of others with the same names.
    private func collect(
        _ holder: Int64, into found: inout [[UInt8]: EntryRow]
    ) throws(FileSystemError) {
        var cookie: Int64 = 0
        while true {
            let rows = try vault.looking { state throws(FileSystemError) in
                try state.index.entries(in: holder, after: cookie, limit: Self.batchCount)
            }
            for row in rows { found[row.name] = row }
            guard rows.count == Self.batchCount, let last = rows.last else { return }
            cookie = last.cookie
        }
    }

    private static let batchCount = 1024

    /// The target of a symbolic link.
    ///
    /// - Throws: `.invalidArgument` for other items.
    package func readLink(_ item: Int64) throws(FileSystemError) -> [UInt8] {
        try vault.looking { state throws(FileSystemError) in
            let row = try PastItem(item, at: moment, in: state).row
            guard FileType(mode: row.mode) == .symbolicLink else { throw .invalidArgument }
            return row.target
        }
    }

    /// All extended attributes of an item, by name.
    package func extendedAttributes(
        of item: Int64
    ) throws(FileSystemError) -> [(name: [UInt8], value: [UInt8])] {
        try vault.looking { state throws(FileSystemError) in
            let past = try PastItem(item, at: moment, in: state)
            for holder in past.holders {
                if let row = try state.tree.row(holder), row.flags.contains(.isVersion),
                    !row.flags.contains(.ownsAttributes)
                {
                    continue
                }
                return try state.index.attributes(of: holder)
            }
            return []
        }
    }

    /// Reads content into `buffer`; fetches what is only on the remote, and waits for it as reads of present files do.
    ///
    /// - Parameter isInterrupted: Whether nobody wants the answer any more.
    /// - Returns: The number of bytes read; fewer than requested only at the end of the file.
    /// - Throws: As `Contents.read`; `.stale` if the file goes on changing.
    package func read(
        _ item: Int64, at offset: Int64, count: Int, into buffer: AlignedBuffer,
        isInterrupted: () -> Bool = { false }
    ) throws(FileSystemError) -> Int {
        let begin = Clock.monotonic
        var plan = try self.plan(item, offset..<offset.addingClamped(Int64(count)))
        for _ in 0..<Self.attemptCount {
            do throws(FileSystemError) {
                try fill(buffer, plan, since: begin, isInterrupted)
            } catch {
                guard case .stale = error else { throw error }
            }
            let after = try self.plan(item, offset..<offset.addingClamped(Int64(count)))
            if after == plan { return plan.range.count }
            plan = after
        }
        throw .stale
    }

    /// The ranges of a file that had data, ascending; all else was a hole.
    ///
    /// Looks at a part at a time, so that a file with many ranges stops nobody.
    package func dataRanges(of item: Int64) throws(FileSystemError) -> [Range<Int64>] {
        let attributes = try attributes(of: item)
        guard attributes.type == .regular else { throw .invalidArgument }
        // Content moves from the present to the versions, so what is read later has what is not there any more.
        var ranges = try extents(of: item)
        let versions = try vault.looking { state throws(FileSystemError) in
            try PastItem.versions(of: item, at: moment, in: state)
        }
        for version in versions.reversed() {
            let (data, holes) = (try extents(of: version.version), try holes(of: version.version))
            if data.isEmpty && holes.isEmpty { continue }
            ranges = FileRanges.merged(
                data, FileRanges.removing(FileRanges.merged(data, holes), from: ranges))
        }
        return ranges.filter { $0.lowerBound < attributes.size }
            .map { $0.clamped(to: 0..<attributes.size) }
    }

    private func extents(of holder: Int64) throws(FileSystemError) -> [Range<Int64>] {
        try inBatches { state, rest throws(FileSystemError) in
            try state.index.extents(of: holder, overlapping: rest, limit: Self.batchCount)
                .map { $0.offset..<$0.end }
        }
    }

    private func holes(of version: Int64) throws(FileSystemError) -> [Range<Int64>] {
        try inBatches { state, rest throws(FileSystemError) in
            try state.index.holes(of: version, overlapping: rest, limit: Self.batchCount)
        }
    }

    /// Collects ranges; ranges that touch become one.
    ///
    /// - Parameter next: Returns the first ones that overlap a range.
    private func inBatches(
        _ next: (inout VaultState, Range<Int64>) throws(FileSystemError) -> [Range<Int64>]
    ) throws(FileSystemError) -> [Range<Int64>] {
        var ranges: [Range<Int64>] = []
        while true {
            let rest = (ranges.last?.upperBound ?? 0)..<Int64.max
            let more = try vault.looking { state throws(FileSystemError) in try next(&state, rest) }
            // Meanwhile, an extent may have become a part of another one.
            ranges += more.map { $0.clamped(to: rest) }
            guard more.count == Self.batchCount else { return FileRanges.merged(ranges, []) }
        }
    }

    /// How an item was, and its id; nil if there was no such item.
    func item(_ number: Int64) throws(FileSystemError) -> (id: ItemID, attributes: Attributes)? {
        do throws(FileSystemError) {
            return try vault.looking { state throws(FileSystemError) in
                let past = try PastItem(number, at: moment, in: state)
                return (past.row.id, past.attributes)
            }
        } catch {
            guard case .stale = error else { throw error }
            return nil
        }
    }

    /// Whether the content of a file is the one that the last commit has; reads only rows.
    func hasPresentContent(_ item: Int64) throws(FileSystemError) -> Bool {
        try vault.looking { state throws(FileSystemError) in
            let past = try PastItem(item, at: moment, in: state)
            guard past.attributes.type == .regular, past.holders.last == item,
                try state.index.item(item)?.size == past.row.size
            else { return false }
            for version in past.holders.dropLast() {
                if try state.index.extents(after: version, -1, limit: 1).first?.item == version {
                    return false
                }
                if try !state.index.holes(of: version, overlapping: 0..<Int64.max).isEmpty { return false }
            }
            return true
        }
    }

    /// Where the bytes of a range are.
    private struct Plan: Equatable {
        var range: Range<Int64>
        /// Ranges that are no holes, and the items that have them.
        var pieces: [Piece] = []
    }

    private struct Piece: Equatable {
        let holder: Int64
        let range: Range<Int64>
        /// The extent that has it, wherever that lies: fetching it brings it here, and makes others go.
        let extent: NoncePrefix
    }

    private func plan(_ item: Int64, _ range: Range<Int64>) throws(FileSystemError) -> Plan {
        try vault.looking { state throws(FileSystemError) in
            let past = try PastItem(item, at: moment, in: state)
            guard past.attributes.type == .regular else { throw .invalidArgument }
            var plan = Plan(range: range.clamped(to: min(range.lowerBound, past.row.size)..<past.row.size))
            var unknown = RangeSet(plan.range)
            for holder in past.holders where !unknown.isEmpty {
                let rows = try state.index.extents(of: holder, overlapping: plan.range)
                for row in rows {
                    let parts = unknown.intersection(RangeSet(row.offset..<row.end))
                    plan.pieces += parts.ranges.map { Piece(holder: holder, range: $0, extent: row.prefix) }
                }
                for row in rows { unknown.remove(contentsOf: row.offset..<row.end) }
                // Only versions have holes of their own.
                if holder == item { continue }
                for hole in try state.index.holes(of: holder, overlapping: plan.range) {
                    unknown.remove(contentsOf: hole)
                }
            }
            return plan
        }
    }

    private func fill(
        _ buffer: AlignedBuffer, _ plan: Plan, since begin: Int64, _ isInterrupted: () -> Bool
    ) throws(FileSystemError) {
        buffer.wipe(0..<plan.range.count)
        for piece in plan.pieces {
            let place = Int(piece.range.lowerBound - plan.range.lowerBound)
            try fill(buffer, at: place, with: piece, since: begin, isInterrupted)
        }
    }

    private func fill(
        _ buffer: AlignedBuffer, at place: Int, with piece: Piece, since begin: Int64,
        _ isInterrupted: () -> Bool
    ) throws(FileSystemError) {
        let arrivals = vault.remoteReads.arrivals
        var hasWaited = false
        while true {
            do throws(FileSystemError) {
                _ = try vault.contents.read(
                    piece.holder, at: piece.range.lowerBound, count: piece.range.count, into: buffer,
                    place: place)
                if hasWaited { arrivals.noteArrival() }
                arrivals.forget(piece.holder, piece.range, in: vault)
                return
            } catch {
                guard arrivals.isWaiting(piece.holder, since: begin, after: error), !isInterrupted() else {
                    throw error
                }
                arrivals.awaitNextTry()
                hasWaited = true
            }
        }
    }
}

extension Int64 {
    fileprivate func addingClamped(_ other: Int64) -> Int64 {
        let (sum, overflows) = addingReportingOverflow(other)
        return overflows ? .max : sum
    }
}

/// An item as it was at a moment.
private struct PastItem {
    let row: ItemRow
    let attributes: Attributes
    /// The numbers of the versions that have parts of it, and of the item itself, if it still exists: in this order,
    /// the first one that says something about a part is right.
    let holders: [Int64]

    /// - Throws: `.stale` if there was no such item.
    init(_ item: Int64, at moment: MomentRow, in state: borrowing VaultState) throws(FileSystemError) {
        guard item < moment.nextItem else { throw .stale }
        let versions = try Self.versions(of: item, at: moment, in: state)
        var holders = versions.map(\.version)
        // As the last commit has it: a change since then is not kept yet.
        let present = try state.index.item(item)
        if let present, !present.flags.contains(.isVersion) { holders.append(item) }
        guard let first = holders.first, var row = first == item ? present : try state.tree.row(first) else {
            throw .stale
        }
        row.number = item
        if let links = versions.first?.links { row.links = UInt32(clamping: links) }
        row.allocated = row.size
        self.row = row
        attributes = Attributes(row)
        self.holders = holders
    }

    /// A read-only vault that never kept states has no versions, and no tables for them.
    static func versions(
        of item: Int64, at moment: MomentRow, in state: borrowing VaultState
    ) throws(FileSystemError) -> [VersionRow] {
        state.index.hasHistory ? try state.index.versions(of: item, from: moment.number) : []
    }
}
