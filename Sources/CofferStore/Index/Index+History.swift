package import CofferFormat

// The states of a vault that are kept; in indexes that have the tables of history.
extension Index {
    /// Whether the index has the tables of history.
    package var hasHistory: Bool { digest.tables.history }

    /// Makes the tables of history, in the open transaction, unless they are there.
    package func addHistory(_ row: HistoryRow) throws(FileSystemError) {
        guard !hasHistory else { return }
        try database.execute(HistorySchema.create)
        digest.addHistory()
        try storeVersion()
        changes += 1
        try put(row, replacing: nil)
    }

    /// Stores which tables there are.
    func storeVersion() throws(FileSystemError) {
        try database.execute("PRAGMA user_version = \(digest.tables.version)")
    }

    /// The numbers that the next item and the next entry get.
    package var nextNumbers: (item: Int64, cookie: Int64) { (counters.item, counters.cookie) }

    /// What there is once for the history.
    package func history() throws(FileSystemError) -> HistoryRow {
        guard let row = try historyStatements[.history].first({ _ in }, { HistoryRow($0) }) else {
            throw .damaged(place: "the state of the history in the index")
        }
        return row
    }

    /// Stores what there is once for the history, replacing `old`.
    package func put(_ row: HistoryRow, replacing old: HistoryRow?) throws(FileSystemError) {
        let before = old.map { old in hash(.history) { old.write(to: &$0) } }
        _ = try put(
            .history, historyStatements[.putHistory], replacing: before, { row.write(to: &$0) },
            { row.write(to: &$0) })
    }

    /// All moments, ascending.
    package func moments() throws(FileSystemError) -> [MomentRow] {
        try rows(.moments, { _ in }) { MomentRow($0) }
    }

    /// A moment; nil if there is none with this number.
    package func moment(_ number: Int64) throws(FileSystemError) -> MomentRow? {
        try historyStatements[.moment].first({ $0.bind(1, number) }, { MomentRow($0) })
    }

    /// The last moment that began at a time or before it, in nanoseconds since 1970; nil if there is none.
    package func moment(at time: Int64) throws(FileSystemError) -> MomentRow? {
        try historyStatements[.momentAt].first({ $0.bind(1, time) }, { MomentRow($0) })
    }

    /// Whether there is a moment after `moment`, up to `last`.
    package func hasMoment(after moment: Int64, upTo last: Int64) throws(FileSystemError) -> Bool {
        try historyStatements[.anyMoment].first(
            {
                $0.bind(1, moment)
                $0.bind(2, last)
            }, { _ in true }) == true
    }

    /// Stores a new moment.
    package func insert(_ row: MomentRow) throws(FileSystemError) {
        _ = try put(
            .moments, historyStatements[.putMoment], replacing: nil, { row.write(to: &$0) },
            { row.write(to: &$0) })
    }

    /// Removes a moment, which must equal the stored one.
    package func remove(_ row: MomentRow) throws(FileSystemError) {
        try remove(.moments, historyStatements[.removeMoment], { row.write(to: &$0) }) {
            $0.bind(1, row.number)
        }
    }

    /// The versions of an item from a moment on, ascending.
    package func versions(of item: Int64, from moment: Int64) throws(FileSystemError) -> [VersionRow] {
        try rows(
            .versions,
            {
                $0.bind(1, item)
                $0.bind(2, moment)
            }
        ) { VersionRow($0) }
    }

    /// The version of an item that ends with a moment; nil if there is none.
    package func version(of item: Int64, until moment: Int64) throws(FileSystemError) -> VersionRow? {
        try historyStatements[.version].first(
            {
                $0.bind(1, item)
                $0.bind(2, moment)
            }, { VersionRow($0) })
    }

    /// Versions of any item after (`item`, `moment`), in this order.
    package func versions(
        after item: Int64, _ moment: Int64, limit: Int
    ) throws(FileSystemError) -> [VersionRow] {
        try rows(
            .versionsAfter,
            {
                $0.bind(1, item)
                $0.bind(2, moment)
                $0.bind(3, Int64(limit))
            }
        ) { VersionRow($0) }
    }

    /// Stores a new version.
    package func insert(_ row: VersionRow) throws(FileSystemError) {
        _ = try put(
            .versions, historyStatements[.putVersion], replacing: nil, { row.write(to: &$0) },
            { row.write(to: &$0) })
    }

    /// Removes a version, which must equal the stored one.
    package func remove(_ row: VersionRow) throws(FileSystemError) {
        try remove(.versions, historyStatements[.removeVersion], { row.write(to: &$0) }) {
            $0.bind(1, row.item)
            $0.bind(2, row.until)
        }
    }

    /// The recorded holes of a version that overlap `range`, ascending.
    package func holes(
        of version: Int64, overlapping range: Range<Int64>, limit: Int = .max
    ) throws(FileSystemError) -> [Range<Int64>] {
        var ranges: [Range<Int64>] = []
        try historyStatements[.holes].each(
            {
                $0.bind(1, version)
                $0.bind(2, range.lowerBound)
                $0.bind(3, range.upperBound)
            },
            { row throws(FileSystemError) in
                let (start, length) = (row.integer(0), row.integer(1))
                guard start >= 0, length > 0, length <= .max - start else {
                    throw .damaged(place: "a hole of item \(version) in the index")
                }
                if start + length > range.lowerBound { ranges.append(start..<start + length) }
                return ranges.count < limit
            })
        return ranges
    }

    /// Records a hole of a version, which overlaps no other.
    package func insertHole(_ range: Range<Int64>, of version: Int64) throws(FileSystemError) {
        let row = HoleRow(version: version, range: range)
        _ = try put(
            .holes, historyStatements[.putHole], replacing: nil, { row.write(to: &$0) },
            { row.write(to: &$0) })
    }

    /// Removes a recorded hole, which must equal the stored one.
    package func removeHole(_ range: Range<Int64>, of version: Int64) throws(FileSystemError) {
        let row = HoleRow(version: version, range: range)
        try remove(.holes, historyStatements[.removeHole], { row.write(to: &$0) }) {
            $0.bind(1, version)
            $0.bind(2, range.lowerBound)
        }
    }

    /// Who changed what in the times of some moments, as far as it is recorded, by moment, item, and device.
    ///
    /// - Parameter place: The row to begin after; nil for the first one.
    package func authors(
        in moments: Range<Int64>, after place: AuthorRow? = nil, limit: Int
    ) throws(FileSystemError) -> [AuthorRow] {
        try authors(.authors) {
            $0.bind(1, place?.moment ?? moments.lowerBound)
            $0.bind(2, place?.item ?? 0)
            if let log = place?.log { $0.bind(3, log) } else { $0.bind(3, []) }
            $0.bind(4, moments.upperBound)
            $0.bind(5, Int64(limit))
        }
    }

    /// Who changed an item in the times of some moments, as far as it is recorded, by moment.
    package func authors(of item: Int64, in moments: Range<Int64>) throws(FileSystemError) -> [AuthorRow] {
        try authors(.authorsOfItem) {
            $0.bind(1, item)
            $0.bind(2, moments.lowerBound)
            $0.bind(3, moments.upperBound)
        }
    }

    private func authors(
        _ query: HistoryQuery, _ bind: (Statement) -> Void
    ) throws(FileSystemError) -> [AuthorRow] {
        try rows(query, bind) { row throws(FileSystemError) in
            guard let author = AuthorRow(row) else {
                throw .damaged(place: "the author of a change in the index")
            }
            return author
        }
    }

    /// Records that a device changed an item.
    package func insert(_ row: AuthorRow) throws(FileSystemError) {
        _ = try put(
            .authors, historyStatements[.putAuthor], replacing: nil, { row.write(to: &$0) },
            { row.write(to: &$0) })
    }

    /// Removes the record of a change, which must equal the stored one.
    package func remove(_ row: AuthorRow) throws(FileSystemError) {
        try remove(.authors, historyStatements[.removeAuthor], { row.write(to: &$0) }) {
            $0.bind(1, row.moment)
            $0.bind(2, row.item)
            if let log = row.log { $0.bind(3, log) } else { $0.bind(3, []) }
        }
    }

    /// All snapshots, by number.
    package func snapshots() throws(FileSystemError) -> [SnapshotRow] {
        try rows(.snapshots, { _ in }) { SnapshotRow($0) }
    }

    /// The snapshot with a name; nil if there is none.
    package func snapshot(_ name: [UInt8]) throws(FileSystemError) -> SnapshotRow? {
        try historyStatements[.snapshot].first({ $0.bind(1, name) }, { SnapshotRow($0) })
    }

    /// Stores a new snapshot, whose number and name are free.
    package func insert(_ row: SnapshotRow) throws(FileSystemError) {
        _ = try put(
            .snapshots, historyStatements[.putSnapshot], replacing: nil, { row.write(to: &$0) },
            { row.write(to: &$0) })
    }

    /// Removes a snapshot, which must equal the stored one.
    package func remove(_ row: SnapshotRow) throws(FileSystemError) {
        try remove(.snapshots, historyStatements[.removeSnapshot], { row.write(to: &$0) }) {
            $0.bind(1, row.number)
        }
    }

    /// All rows that a query finds.
    private func rows<Row>(
        _ query: HistoryQuery, _ bind: (Statement) -> Void,
        _ make: (Statement) throws(FileSystemError) -> Row
    ) throws(FileSystemError) -> [Row] {
        var rows: [Row] = []
        try historyStatements[query].each(bind) { row throws(FileSystemError) in
            rows.append(try make(row))
            return true
        }
        return rows
    }

    private func remove(
        _ table: RowDigest.Table, _ statement: Statement, _ write: (inout HashedColumns) -> Void,
        _ bind: (Statement) -> Void
    ) throws(FileSystemError) {
        try statement.run(bind)
        digest.subtract(table, hash(table, write).sum)
        changes += 1
    }
}
