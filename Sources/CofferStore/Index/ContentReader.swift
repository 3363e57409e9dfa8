package import CofferFormat

/// The contents of a vault's items as of one commit, while other connections may change them.
///
/// As long as it exists, the index's log cannot restart from its beginning.
package final class ContentReader {
    private let database: Database
    private let item: Statement, extents: Statement, last: Statement, content: Statement, pages: Statement

    init(_ fileSystem: IndexFileSystem) throws(FileSystemError) {
        database = try Database(fileSystem, create: false)
        try database.leaveLogOnClose()
        try database.execute(IndexSchema.configure)
        item = try database.prepare("SELECT \(ItemRow.columns) FROM items WHERE number = ?")
        extents = try database.prepare(
            """
            SELECT e.item, e."offset", e.length, e.base, e.total, e.pack, e.position, e.prefix, e.epoch,
            e.remote, r.number, r.pack, r.position, r.hash, r.live
            FROM extents e LEFT JOIN remote_extents r ON r.number = e.remote
            WHERE e.item = ? AND e."offset" > ? ORDER BY e."offset" LIMIT ?
            """)
        last = try database.prepare(
            #"SELECT max("offset") FROM extents WHERE item = ? AND "offset" < ?"#)
        content = try database.prepare("SELECT sealed FROM contents WHERE number = ?")
        pages = try database.prepare("SELECT \(RemotePageRow.columns) FROM remote_pages WHERE item = ?")
        // The first read fixes the commit that all later reads see.
        try database.execute("BEGIN; SELECT commits FROM state")
    }

    /// An item; nil if there is none with this number.
    package func item(_ number: Int64) throws(FileSystemError) -> ItemRow? {
        let row = try item.first({ $0.bind(1, number) }, { ItemRow($0) })
        if let row, !row.isPossible { throw .damaged(place: "the row of item \(number) in the index") }
        return row
    }

    /// A range, and the place of its extent on a remote; nil if it is on none.
    package typealias PlacedExtent = (row: ExtentRow, remote: SealedPlace?)

    /// Up to `limit` ranges of an item after `offset`, in order.
    package func extents(
        of item: Int64, after offset: Int64, limit: Int
    ) throws(FileSystemError) -> [PlacedExtent] {
        var rows: [PlacedExtent] = []
        try extents.each(
            {
                $0.bind(1, item)
                $0.bind(2, offset)
                $0.bind(3, Int64(limit))
            },
            { row throws(FileSystemError) in
                let extent = ExtentRow(row)
                guard extent.isPossible else {
                    throw .damaged(place: "the reference to content of item \(item) in the index")
                }
                guard extent.remote != 0 else {
                    rows.append((extent, nil))
                    return true
                }
                let remote = RemoteExtentRow(row, from: 10)
                guard remote.number == extent.remote, remote.isPossible else {
                    throw .damaged(place: "row \(extent.remote) of the index's extents on remotes")
                }
                rows.append((extent, remote.place))
                return true
            })
        return rows
    }

    /// The offset of the last range of an item that begins before `end`.
    package func lastOffset(of item: Int64, before end: Int64) throws(FileSystemError) -> Int64 {
        try last.first(
            {
                $0.bind(1, item)
                $0.bind(2, end)
            }, { $0.integer(0) }) ?? 0
    }

    /// The bytes of all ranges of present contents, by the epoch that they are sealed under.
    package func byteCountsByEpoch() throws(FileSystemError) -> [Epoch: Int64] {
        var counts: [Epoch: Int64] = [:]
        let sums = try database.prepare(
            """
            SELECT epoch, sum(length) FROM extents JOIN items ON number = item
            WHERE NOT flags & \(ItemRow.Flags.isVersion.rawValue) GROUP BY epoch
            """)
        try sums.each({ _ in }) { row throws(FileSystemError) in
            counts[Epoch(UInt32(truncatingIfNeeded: row.integer(0)))] = row.integer(1)
            return true
        }
        return counts
    }

    /// The sealed extent in a row; nil if there is no such row.
    package func content(_ number: Int64) throws(FileSystemError) -> [UInt8]? {
        try content.first({ $0.bind(1, number) }, { $0.bytes(0) })
    }

    /// The pages of an item's content that are on a remote.
    package func pages(of item: Int64) throws(FileSystemError) -> [RemotePageRow] {
        var rows: [RemotePageRow] = []
        try pages.each({ $0.bind(1, item) }) { row throws(FileSystemError) in
            rows.append(try RemotePageRow.checked(row))
            return true
        }
        return rows
    }
}
