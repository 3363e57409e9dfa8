internal import CofferCrypto
package import CofferFacts
package import CofferFormat
internal import CofferSystem

/// The index as of one commit, for checks that take a while, during which other connections may change it.
package final class IndexReader {
    let database: Database
    private let digest: RowDigest
    /// The tables that there were when the reader was made.
    let tables: IndexTables
    private lazy var names = Result { () throws(FileSystemError) in
        try database.prepare(
            """
            SELECT \(ItemRow.columns), entry FROM items JOIN
            (SELECT name AS entry, item AS entry_item FROM entries WHERE parent = ?1 AND name > ?2
            ORDER BY name LIMIT ?3) ON number = entry_item ORDER BY entry
            """)
    }

    init(
        _ fileSystem: IndexFileSystem, _ digest: consuming RowDigest, _ tables: IndexTables
    ) throws(FileSystemError) {
        self.digest = digest
        self.tables = tables
        database = try Database(fileSystem, create: false)
        try database.leaveLogOnClose()
        try database.execute(IndexSchema.configure)
        try database.execute("BEGIN")
    }

    /// The names that the vault has now, as a table for a query: without those that only its history has.
    var entries: String {
        tables.history
            ? "(SELECT * FROM entries WHERE parent NOT IN (SELECT version FROM versions))" : "entries"
    }

    /// The number of items, the bytes of their contents that are not holes, and the bytes that only the history has.
    package func size() throws(FileSystemError) -> (items: Int64, content: Int64, pastContent: Int64) {
        try database.prepare(
            """
            SELECT coalesce(sum(NOT past), 0), coalesce(sum(allocated * NOT past), 0),
                coalesce(sum(allocated * past), 0) FROM (SELECT allocated, flags & \(ItemRow.Flags.isVersion.rawValue) <> 0 AS past FROM items)
            """
        )
        .first({ _ in }, { ($0.integer(0), $0.integer(1), $0.integer(2)) }) ?? (0, 0, 0)
    }

    /// The number of items with content that is only on a remote, and the bytes of that content.
    package func missing() throws(FileSystemError) -> (items: Int64, bytes: Int64) {
        try database.prepare(
            """
            SELECT count(DISTINCT item), coalesce(sum(length), 0) FROM extents JOIN items ON number = item
            WHERE pack = 0 AND position = 0 AND NOT flags & \(ItemRow.Flags.isVersion.rawValue)
            """
        ).first({ _ in }, { ($0.integer(0), $0.integer(1)) }) ?? (0, 0)
    }

    /// Remote packs that contents refer to, or would refer to if they were sent again.
    package func remotePacks() throws(FileSystemError) -> [PackID] {
        try packs("SELECT pack FROM remote_extents WHERE live > 0 UNION SELECT pack FROM remote_pages")
    }

    /// What present contents and versions refer to in remote packs.
    package func remotePackUse() throws(FileSystemError) -> [PackID: RemotePackUse] {
        var use: [PackID: RemotePackUse] = [:]
        try database.prepare(
            """
            SELECT r.pack, e.total, e.present FROM remote_extents r JOIN (
                SELECT remote, max(total) AS total, max(NOT flags & \(ItemRow.Flags.isVersion.rawValue)) AS present
                FROM extents JOIN items ON number = item WHERE remote > 0 GROUP BY remote
            ) e ON e.remote = r.number
            """
        ).each({ _ in }) { row throws(FileSystemError) in
            guard let pack = PackID(bytes: row.bytes(0)) else { return true }
            let count = ExtentLayout.remoteByteCount(Int(clamping: row.integer(1)))
            use[pack, default: RemotePackUse()].add(count, isPresent: row.integer(2) != 0)
            return true
        }
        try database.prepare("SELECT \(RemotePageRow.columns) FROM remote_pages").each({ _ in }) {
            row throws(FileSystemError) in
            let page = try RemotePageRow.checked(row).reference
            use[page.place.pack, default: RemotePackUse()].add(Int(page.length), isPresent: true)
            return true
        }
        use[.nowhere] = nil
        return use
    }

    /// The packs of content that is only on a remote; each once.
    package func missingPacks() throws(FileSystemError) -> [PackID] {
        try packs(
            """
            SELECT DISTINCT remote_extents.pack FROM extents JOIN remote_extents ON remote_extents.number = extents.remote
            WHERE extents.pack = 0 AND extents.position = 0
            """)
    }

    private func packs(_ query: String) throws(FileSystemError) -> [PackID] {
        var packs: [PackID] = []
        try database.prepare(query).each(
            { _ in },
            { row throws(FileSystemError) in
                if let pack = PackID(bytes: row.bytes(0)) { packs.append(pack) }
                return true
            })
        return packs
    }

    /// The ranges of content whose extents are in some remote packs: the item, and the offset at which the range
    /// begins, in this order; one pass over all ranges.
    package func extents(in packs: Set<PackID>) throws(FileSystemError) -> [(item: Int64, offset: Int64)] {
        var ranges: [(item: Int64, offset: Int64)] = []
        try database.prepare(
            """
            SELECT extents.item, extents."offset", remote_extents.pack FROM extents
            JOIN remote_extents ON remote_extents.number = extents.remote ORDER BY extents.item, extents."offset"
            """
        ).each(
            { _ in },
            { row throws(FileSystemError) in
                if let pack = PackID(bytes: row.bytes(2)), packs.contains(pack) {
                    ranges.append((row.integer(0), row.integer(1)))
                }
                return true
            })
        return ranges
    }

    /// The items with content pages in some remote packs.
    package func itemsWithPages(in packs: Set<PackID>) throws(FileSystemError) -> Set<Int64> {
        var items: Set<Int64> = []
        try database.prepare("SELECT item, pack FROM remote_pages").each(
            { _ in },
            { row throws(FileSystemError) in
                if let pack = PackID(bytes: row.bytes(1)), packs.contains(pack) {
                    items.insert(row.integer(0))
                }
                return true
            })
        return items
    }

    /// Ranges of content that are only on a remote, after (`item`, `offset`), in order.
    package func missingRanges(
        behind item: Int64, _ offset: Int64, limit: Int
    ) throws(FileSystemError) -> [(item: Int64, range: Range<Int64>)] {
        var ranges: [(item: Int64, range: Range<Int64>)] = []
        try database.prepare(
            """
            SELECT item, "offset", length FROM extents JOIN items ON number = item
            WHERE pack = 0 AND position = 0 AND (item, "offset") > (?1, ?2)
            AND NOT flags & \(ItemRow.Flags.isVersion.rawValue) ORDER BY item, "offset" LIMIT ?3
            """
        ).each(
            {
                $0.bind(1, item)
                $0.bind(2, offset)
                $0.bind(3, Int64(limit))
            },
            { row throws(FileSystemError) in
                let (start, length) = (row.integer(1), row.integer(2))
                guard start >= 0, length > 0, length <= .max - start else {
                    throw .damaged(place: "an extent of item \(row.integer(0))")
                }
                ranges.append((row.integer(0), start..<start + length))
                return true
            })
        return ranges
    }

    /// Fixes the commit that the reader sees; otherwise the first query does.
    package func begin() throws(FileSystemError) {
        _ = try database.prepare("SELECT commits FROM state").first({ _ in }, { $0.integer(0) })
    }

    /// An item; nil if there is none with this number.
    package func item(_ number: Int64) throws(FileSystemError) -> ItemRow? {
        try database.prepare("SELECT \(ItemRow.columns) FROM items WHERE number = ?")
            .first({ $0.bind(1, number) }, { ItemRow($0) })
    }

    /// Names in a directory after `name`, ascending, and the items that they lead to.
    package func names(
        in parent: Int64, after name: [UInt8], limit: Int
    ) throws(FileSystemError) -> [(name: [UInt8], item: ItemRow)] {
        var found: [(name: [UInt8], item: ItemRow)] = []
        try names.get().each(
            {
                $0.bind(1, parent)
                $0.bind(2, name)
                $0.bind(3, Int64(limit))
            },
            { row throws(FileSystemError) in
                let item = ItemRow(row)
                guard item.isPossible else { throw .damaged(place: "an item in directory \(parent)") }
                found.append((row.bytes(ItemRow.columnCount), item))
                return true
            })
        return found
    }

    /// Problems that the index alone shows, as sentences; empty if it is sound.
    package func problems() throws(FileSystemError) -> [String] {
        var problems: [String] = []
        try database.prepare("PRAGMA integrity_check(20)").each({ _ in }) { row throws(FileSystemError) in
            let text = row.text(0)
            if text != "ok" { problems.append("The index is damaged: \(text).") }
            return true
        }
        guard problems.isEmpty else { return problems }
        problems += try digestProblems()
        let rules =
            rules + (tables.facts ? FactRules.all : []) + (tables.history ? HistoryRules.all : [])
        for rule in rules {
            try database.prepare(rule.query).each({ _ in }) { row throws(FileSystemError) in
                problems.append("\(rule.text) \(row.text(0)).")
                return problems.count < 100
            }
        }
        return problems
    }

    /// Compares the sums over all rows with those that the last commit stored.
    private func digestProblems() throws(FileSystemError) -> [String] {
        let stored = try database.prepare("SELECT digests FROM state").first(
            { _ in }, { RowDigest.sums($0.bytes(0)) })
        guard let stored, let stored else { return ["The state row of the index is missing."] }
        var problems: [String] = []
        for table in RowDigest.Table.allCases.prefix(stored.count) where tables.facts || !table.isOfFacts {
            var sum = RowDigest.Sum()
            try database.prepare(table.query).each({ _ in }) { row throws(FileSystemError) in
                sum.add(table.hash(row, digest))
                return true
            }
            if sum != stored[Int(table.rawValue) - 1] {
                problems.append(
                    "Rows of the index's table “\(table)” are missing, duplicated, or older than they should be."
                )
            }
        }
        return problems
    }

    /// Rules that must hold between rows; each query returns the numbers of items or packs that break the
    /// rule.
    private var rules: [(text: String, query: String)] {
        [
            (
                "A name leads to a missing item, or one of another type: item",
                """
                SELECT e.item FROM \(entries) e LEFT JOIN items i ON i.number = e.item
                WHERE i.number IS NULL OR (i.mode >> 12) & 15 <> e.type
                """
            ),
            (
                "A name is in something that is not a directory: item",
                """
                SELECT e.parent FROM entries e LEFT JOIN items i ON i.number = e.parent
                WHERE i.number IS NULL OR (i.mode >> 12) & 15 <> 4
                """
            ),
            (
                "The parent of a directory is wrong: item",
                "SELECT e.item FROM \(entries) e JOIN items i ON i.number = e.item WHERE e.type = 4 AND i.parent <> e.parent"
            ),
            (
                "The number of names is wrong: item",
                """
                SELECT i.number FROM items i LEFT JOIN (SELECT item, count(*) AS n FROM \(entries) GROUP BY item) c
                ON c.item = i.number WHERE (i.mode >> 12) & 15 <> 4 AND i.links <> coalesce(c.n, 0)
                """
            ),
            (
                "The number of subdirectories is wrong: item",
                """
                SELECT i.number FROM items i LEFT JOIN
                (SELECT parent, count(*) AS n FROM entries WHERE type = 4 GROUP BY parent) c ON c.parent = i.number
                WHERE (i.mode >> 12) & 15 = 4 AND i.links > 0 AND i.links <> 2 + coalesce(c.n, 0)
                """
            ),
            (
                "An item without a name is not recorded as such: item",
                """
                SELECT number FROM items WHERE links = 0 AND number NOT IN (SELECT item FROM orphans)
                AND NOT flags & \(ItemRow.Flags.isVersion.rawValue)
                """
            ),
            (
                "Ranges of content overlap: item",
                """
                SELECT DISTINCT item FROM (SELECT item, "offset", lag("offset" + length)
                OVER (PARTITION BY item ORDER BY "offset") AS before FROM extents) WHERE before > "offset"
                """
            ),
            (
                "The count of content bytes is wrong: item",
                """
                SELECT i.number FROM items i LEFT JOIN (SELECT item, sum(length) AS n FROM extents GROUP BY item) c
                ON c.item = i.number WHERE i.allocated <> coalesce(c.n, 0)
                """
            ),
            (
                "Content belongs to a missing item: item",
                "SELECT DISTINCT item FROM extents WHERE item NOT IN (SELECT number FROM items)"
            ),
            (
                "The count of live bytes is wrong: pack",
                """
                SELECT p.number FROM packs p LEFT JOIN
                (SELECT pack, sum(length) AS n FROM extents WHERE pack > 0 GROUP BY pack) c ON c.pack = p.number
                WHERE p.live <> coalesce(c.n, 0)
                """
            ),
            (
                "Content is in an unknown pack: pack",
                "SELECT DISTINCT pack FROM extents WHERE pack > 0 AND pack NOT IN (SELECT number FROM packs)"
            ),
            (
                "The count of live bytes is wrong: row of contents",
                """
                SELECT t.number FROM contents t LEFT JOIN
                (SELECT position, sum(length) AS n FROM extents WHERE pack = 0 GROUP BY position) c
                ON c.position = t.number WHERE t.live <> coalesce(c.n, 0)
                """
            ),
            (
                "The count of live bytes is wrong: extent on a remote",
                """
                SELECT r.number FROM remote_extents r LEFT JOIN
                (SELECT remote, sum(length) AS n FROM extents WHERE remote > 0 GROUP BY remote) c
                ON c.remote = r.number WHERE r.live <> coalesce(c.n, 0)
                """
            ),
            (
                "The place of content on a remote is missing: item",
                """
                SELECT DISTINCT item FROM extents WHERE remote > 0
                AND remote NOT IN (SELECT number FROM remote_extents)
                """
            ),
            (
                "Pages belong to an item that should have none: item",
                """
                SELECT DISTINCT p.item FROM remote_pages p LEFT JOIN items i ON i.number = p.item
                WHERE i.number IS NULL OR i.flags & 16 = 0
                """
            ),
        ]
    }
}

extension RowDigest.Table {
    /// All rows of the table, with the columns that `hash` takes.
    fileprivate var query: String {
        switch self {
        case .items: "SELECT \(ItemRow.columns) FROM items"
        case .entries: "SELECT \(EntryRow.columns) FROM entries"
        case .extents: "SELECT \(ExtentRow.columns) FROM extents"
        case .attributes: "SELECT item, name, value FROM attributes"
        case .packs: "SELECT \(PackRow.columns) FROM packs"
        case .contents: "SELECT number, live FROM contents"
        case .orphans: "SELECT item FROM orphans"
        case .remoteExtents: "SELECT \(RemoteExtentRow.columns) FROM remote_extents"
        case .remotePages: "SELECT \(RemotePageRow.columns) FROM remote_pages"
        case .factItems: "SELECT \(FactItemRow.columns) FROM fact_items"
        case .factEntries: "SELECT \(FactEntryRow.columns) FROM fact_entries"
        case .factAttributes: "SELECT item, name, facts FROM fact_attributes"
        case .logs: "SELECT id, sequence, label FROM logs"
        case .factState: "SELECT one, clock, hash, journal FROM fact_state"
        case .journal: "SELECT seq, record FROM journal"
        case .unsent: "SELECT item FROM unsent"
        case .kept: "SELECT kind, id, number, value FROM kept"
        case .history: "SELECT one, kept, changed, last FROM history"
        case .moments: "SELECT \(MomentRow.columns) FROM moments"
        case .versions: "SELECT \(VersionRow.columns) FROM versions"
        case .holes: #"SELECT version, "offset", length FROM holes"#
        case .authors: "SELECT \(AuthorRow.columns) FROM authors"
        case .snapshots: "SELECT \(SnapshotRow.columns) FROM snapshots"
        }
    }

    fileprivate func hash(_ row: Statement, _ digest: borrowing RowDigest) -> RowDigest.Sum {
        switch self {
        case .items: digest.hash(self) { ItemRow(row).digest(into: &$0) }
        case .entries: digest.hash(self) { EntryRow(row).digest(into: &$0) }
        case .extents: digest.hash(self) { ExtentRow(row).digest(into: &$0) }
        case .packs: digest.hash(self) { PackRow(row).digest(into: &$0) }
        case .attributes: digest.attribute(row.integer(0), row.bytes(1), row.bytes(2))
        case .contents: digest.content(row.integer(0), row.integer(1))
        case .orphans: digest.orphan(row.integer(0))
        case .remoteExtents: digest.hash(self) { RemoteExtentRow(row).digest(into: &$0) }
        case .remotePages: digest.hash(self) { RemotePageRow(row).digest(into: &$0) }
        case .factItems, .factEntries, .factAttributes, .logs, .factState, .journal, .unsent, .kept,
            .history, .moments, .versions, .holes, .authors, .snapshots:
            digest.hash(HashedColumns(self, row))
        }
    }
}

extension RowDigest {
    func attribute(_ item: Int64, _ name: [UInt8], _ value: [UInt8]) -> Sum {
        hash(.attributes) { writer in
            writer.number(item)
            writer.number(UInt16(name.count))
            writer.append(name)
            writer.append(value)
        }
    }

    /// Omits the sealed bytes, which are authenticated, and bound to their extent by its prefix.
    func content(_ number: Int64, _ live: Int64) -> Sum {
        hash(.contents) { writer in
            writer.number(number)
            writer.number(live)
        }
    }

    func orphan(_ item: Int64) -> Sum {
        hash(.orphans) { $0.number(item) }
    }
}
