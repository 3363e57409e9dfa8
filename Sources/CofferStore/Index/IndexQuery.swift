internal import CofferFormat

/// The queries on the tables that every index has, and the changes of them.
enum IndexQuery: Int, IndexStatement {
    case updateState
    case item, insertItem, putItem, removeItem
    case entry, putEntry, removeEntry, entriesAfter, anyEntry
    case extents, putExtent, removeExtent, extentsAfter
    case content, contentLive, insertContent, putContentLive, removeContent
    case attribute, putAttribute, removeAttribute, attributes
    case packs, putPack, removePack
    case orphans, insertOrphan, removeOrphan
    case remoteExtent, insertRemoteExtent, putRemoteLive, removeRemoteExtent, moveRemoteExtent
    case pages, page, putPage, removePage

    var sql: String {
        switch self {
        case .updateState:
            "UPDATE state SET next_item = ?, next_cookie = ?, next_pack = ?, commits = ?, digests = ?"
        case .item: "SELECT \(ItemRow.columns) FROM items WHERE number = ?"
        // New rows are only inserted. If an old page was put back, and with it an old counter, the number may
        // belong to another item.
        case .insertItem:
            "INSERT INTO items (\(ItemRow.columns)) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
        case .putItem:
            "INSERT OR REPLACE INTO items (\(ItemRow.columns)) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
        case .removeItem: "DELETE FROM items WHERE number = ?"
        case .entry: "SELECT \(EntryRow.columns) FROM entries WHERE parent = ? AND name = ?"
        case .putEntry: "INSERT INTO entries (\(EntryRow.columns)) VALUES (?,?,?,?,?,?)"
        case .removeEntry: "DELETE FROM entries WHERE parent = ? AND name = ?"
        case .entriesAfter:
            """
            SELECT parent, name, item, type, cookie, 0 FROM entries INDEXED BY entries_in_order
            WHERE parent = ? AND cookie > ? ORDER BY cookie LIMIT ?
            """
        case .anyEntry: "SELECT 1 FROM entries WHERE parent = ? LIMIT 1"
        case .extents:
            """
            SELECT \(ExtentRow.columns) FROM extents WHERE item = ?1 AND "offset" < ?3 AND "offset" >=
            coalesce((SELECT max("offset") FROM extents WHERE item = ?1 AND "offset" <= ?2), ?2)
            ORDER BY "offset"
            """
        case .extentsAfter:
            """
            SELECT \(ExtentRow.columns) FROM extents WHERE (item, "offset") > (?, ?)
            ORDER BY item, "offset" LIMIT ?
            """
        case .putExtent: "INSERT INTO extents (\(ExtentRow.columns)) VALUES (?,?,?,?,?,?,?,?,?,?)"
        case .removeExtent: #"DELETE FROM extents WHERE item = ? AND "offset" = ?"#
        case .content: "SELECT sealed FROM contents WHERE number = ?"
        case .contentLive: "SELECT live FROM contents WHERE number = ?"
        case .insertContent: "INSERT INTO contents (live, sealed) VALUES (?, ?)"
        case .putContentLive: "UPDATE contents SET live = ? WHERE number = ?"
        case .removeContent: "DELETE FROM contents WHERE number = ?"
        case .attribute: "SELECT value FROM attributes WHERE item = ? AND name = ?"
        case .putAttribute: "INSERT OR REPLACE INTO attributes (item, name, value) VALUES (?,?,?)"
        case .removeAttribute: "DELETE FROM attributes WHERE item = ? AND name = ?"
        case .attributes: "SELECT name, value FROM attributes WHERE item = ? ORDER BY name"
        case .packs: "SELECT \(PackRow.columns) FROM packs"
        case .putPack: "INSERT OR REPLACE INTO packs (\(PackRow.columns)) VALUES (?,?,?,?)"
        case .removePack: "DELETE FROM packs WHERE number = ?"
        case .orphans: "SELECT item FROM orphans"
        case .insertOrphan: "INSERT OR IGNORE INTO orphans (item) VALUES (?)"
        case .removeOrphan: "DELETE FROM orphans WHERE item = ?"
        case .remoteExtent: "SELECT \(RemoteExtentRow.columns) FROM remote_extents WHERE number = ?"
        case .insertRemoteExtent:
            """
            INSERT INTO remote_extents (number, pack, position, hash, live)
            VALUES (max(?, (SELECT coalesce(max(number), 0) FROM remote_extents)) + 1, ?, ?, ?, ?)
            """
        case .putRemoteLive: "UPDATE remote_extents SET live = ? WHERE number = ?"
        case .moveRemoteExtent: "UPDATE remote_extents SET pack = ?, position = ? WHERE number = ?"
        case .removeRemoteExtent: "DELETE FROM remote_extents WHERE number = ?"
        case .pages: "SELECT \(RemotePageRow.columns) FROM remote_pages WHERE item = ?"
        case .page:
            """
            SELECT \(RemotePageRow.columns) FROM remote_pages
            WHERE item = ? AND level = ? AND "index" = ?
            """
        case .putPage: "INSERT INTO remote_pages (\(RemotePageRow.columns)) VALUES (?,?,?,?,?,?,?,?,?)"
        case .removePage: #"DELETE FROM remote_pages WHERE item = ? AND level = ? AND "index" = ?"#
        }
    }
}
