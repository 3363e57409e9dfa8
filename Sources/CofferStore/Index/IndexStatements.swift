internal import CofferFormat

/// The prepared statements of an index.
struct IndexStatements {
    let updateState: Statement
    let item: Statement, insertItem: Statement, putItem: Statement, removeItem: Statement, items: Statement
    let entry: Statement, putEntry: Statement, removeEntry: Statement, entriesAfter: Statement
    let anyEntry: Statement, entries: Statement
    let extents: Statement, putExtent: Statement, removeExtent: Statement, extentsAfter: Statement
    let content: Statement, contentLive: Statement, insertContent: Statement, putContentLive: Statement,
        removeContent: Statement
    let attribute: Statement, putAttribute: Statement, removeAttribute: Statement, attributes: Statement
    let attributesAfter: Statement
    let packs: Statement, putPack: Statement, removePack: Statement
    let orphans: Statement, insertOrphan: Statement, removeOrphan: Statement
    let contentsAfter: Statement
    let remoteExtent: Statement, insertRemoteExtent: Statement, putRemoteLive: Statement,
        removeRemoteExtent: Statement, moveRemoteExtent: Statement
    let pages: Statement, page: Statement, putPage: Statement, removePage: Statement

    init(_ database: Database) throws(FileSystemError) {
        updateState = try database.prepare(
            "UPDATE state SET next_item = ?, next_cookie = ?, next_pack = ?, commits = ?, digests = ?")
        item = try database.prepare("SELECT \(ItemRow.columns) FROM items WHERE number = ?")
        items = try database.prepare(
            "SELECT \(ItemRow.columns) FROM items WHERE number > ? ORDER BY number LIMIT ?")
        // New rows are only inserted. If an old page was put back, and with it an old counter, the number may
        // belong to another item.
        insertItem = try database.prepare(
            "INSERT INTO items (\(ItemRow.columns)) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)")
        putItem = try database.prepare(
            "INSERT OR REPLACE INTO items (\(ItemRow.columns)) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)")
        removeItem = try database.prepare("DELETE FROM items WHERE number = ?")
        entry = try database.prepare("SELECT \(EntryRow.columns) FROM entries WHERE parent = ? AND name = ?")
        putEntry = try database.prepare(
            "INSERT INTO entries (\(EntryRow.columns)) VALUES (?,?,?,?,?,?)")
        removeEntry = try database.prepare("DELETE FROM entries WHERE parent = ? AND name = ?")
        entriesAfter = try database.prepare(
            """
            SELECT parent, name, item, type, cookie, 0 FROM entries INDEXED BY entries_in_order
            WHERE parent = ? AND cookie > ? ORDER BY cookie LIMIT ?
            """)
        anyEntry = try database.prepare("SELECT 1 FROM entries WHERE parent = ? LIMIT 1")
        entries = try database.prepare(
            """
            SELECT \(EntryRow.columns) FROM entries WHERE (parent, name) > (?, ?)
            ORDER BY parent, name LIMIT ?
            """)
        extents = try database.prepare(
            """
            SELECT \(ExtentRow.columns) FROM extents WHERE item = ?1 AND "offset" < ?3 AND "offset" >=
            coalesce((SELECT max("offset") FROM extents WHERE item = ?1 AND "offset" <= ?2), ?2)
            ORDER BY "offset"
            """)
        extentsAfter = try database.prepare(
            """
            SELECT \(ExtentRow.columns) FROM extents WHERE (item, "offset") > (?, ?)
            ORDER BY item, "offset" LIMIT ?
            """)
        putExtent = try database.prepare(
            "INSERT INTO extents (\(ExtentRow.columns)) VALUES (?,?,?,?,?,?,?,?,?,?)")
        removeExtent = try database.prepare(#"DELETE FROM extents WHERE item = ? AND "offset" = ?"#)
        content = try database.prepare("SELECT sealed FROM contents WHERE number = ?")
        contentLive = try database.prepare("SELECT live FROM contents WHERE number = ?")
        contentsAfter = try database.prepare(
            "SELECT number, live, sealed FROM contents WHERE number > ? ORDER BY number LIMIT ?")
        insertContent = try database.prepare("INSERT INTO contents (live, sealed) VALUES (?, ?)")
        putContentLive = try database.prepare("UPDATE contents SET live = ? WHERE number = ?")
        removeContent = try database.prepare("DELETE FROM contents WHERE number = ?")
        attribute = try database.prepare("SELECT value FROM attributes WHERE item = ? AND name = ?")
        putAttribute = try database.prepare(
            "INSERT OR REPLACE INTO attributes (item, name, value) VALUES (?,?,?)")
        removeAttribute = try database.prepare("DELETE FROM attributes WHERE item = ? AND name = ?")
        attributes = try database.prepare("SELECT name, value FROM attributes WHERE item = ? ORDER BY name")
        attributesAfter = try database.prepare(
            """
            SELECT item, name, value FROM attributes WHERE (item, name) > (?, ?)
            ORDER BY item, name LIMIT ?
            """)
        packs = try database.prepare("SELECT \(PackRow.columns) FROM packs")
        putPack = try database.prepare("INSERT OR REPLACE INTO packs (\(PackRow.columns)) VALUES (?,?,?,?)")
        removePack = try database.prepare("DELETE FROM packs WHERE number = ?")
        orphans = try database.prepare("SELECT item FROM orphans")
        insertOrphan = try database.prepare("INSERT OR IGNORE INTO orphans (item) VALUES (?)")
        removeOrphan = try database.prepare("DELETE FROM orphans WHERE item = ?")
        remoteExtent = try database.prepare(
            "SELECT \(RemoteExtentRow.columns) FROM remote_extents WHERE number = ?")
        insertRemoteExtent = try database.prepare(
            "INSERT INTO remote_extents (pack, position, hash, live) VALUES (?,?,?,?)")
        putRemoteLive = try database.prepare("UPDATE remote_extents SET live = ? WHERE number = ?")
        moveRemoteExtent = try database.prepare(
            "UPDATE remote_extents SET pack = ?, position = ? WHERE number = ?")
        removeRemoteExtent = try database.prepare("DELETE FROM remote_extents WHERE number = ?")
        pages = try database.prepare("SELECT \(RemotePageRow.columns) FROM remote_pages WHERE item = ?")
        page = try database.prepare(
            """
            SELECT \(RemotePageRow.columns) FROM remote_pages
            WHERE item = ? AND level = ? AND "index" = ?
            """)
        putPage = try database.prepare(
            "INSERT INTO remote_pages (\(RemotePageRow.columns)) VALUES (?,?,?,?,?,?,?,?,?)")
        removePage = try database.prepare(
            #"DELETE FROM remote_pages WHERE item = ? AND level = ? AND "index" = ?"#)
    }
}
