internal import CofferFormat

/// All queries on the tables of facts, and all changes of them.
///
/// None reads a whole table, except `logs`, which has a row for each device.
enum FactQuery: Int, IndexStatement {
    case item, insertItem, putItem, removeItem, united, putBack
    case entry, insertEntry, putEntry, removeEntry
    case others, copies, placed, activePlaced, orphans, inSlot, wanting, shownElsewhere, shownIn, changed
    case itemIDs, entryIDs, lastItem, lastEntry, removeItems, removeEntries, removeAttributes, removeLogs
    case attribute, putAttribute, removeAttribute, attributeNames
    case logs, log, putLog
    case state, putState
    case append, journal, lastOfJournal, removeJournal
    case insertUnsent, unsent, removeUnsent
    case kept, keptRows, putKept, removeKept

    var sql: String {
        switch self {
        case .item: "SELECT \(FactItemRow.columns) FROM fact_items WHERE id = ?"
        case .insertItem:
            "INSERT INTO fact_items (\(FactItemRow.columns)) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)"
        case .putItem:
            "INSERT OR REPLACE INTO fact_items (\(FactItemRow.columns)) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)"
        case .removeItem: "DELETE FROM fact_items WHERE id = ?"
        case .united: "SELECT id FROM fact_items WHERE united = ? ORDER BY id"
        case .putBack: "SELECT id FROM fact_items WHERE flags & 12"

        case .entry: "SELECT \(FactEntryRow.columns) FROM fact_entries WHERE id = ?"
        case .insertEntry:
            """
            INSERT INTO fact_entries (\(FactEntryRow.columns))
            VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)
            """
        case .putEntry:
            """
            INSERT OR REPLACE INTO fact_entries (\(FactEntryRow.columns))
            VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)
            """
        case .removeEntry: "DELETE FROM fact_entries WHERE id = ?"
        case .others: "SELECT id FROM fact_entries WHERE item = ? AND flags & 16"
        case .copies: "SELECT id FROM fact_entries WHERE copied = ?"
        case .placed:
            """
            SELECT id FROM fact_entries WHERE place = ?1 AND flags & 8 = 0 AND id > ?2
            UNION ALL SELECT id FROM fact_entries WHERE place = ?1 AND flags & 8 = 8 AND id > ?2
            ORDER BY id LIMIT ?3
            """
        case .activePlaced: "SELECT 1 FROM fact_entries WHERE place = ? AND flags & 8 = 8 LIMIT 1"
        case .orphans: "SELECT id FROM fact_entries WHERE target = ? AND target IS NOT place ORDER BY id"
        case .inSlot: "SELECT id FROM fact_entries WHERE slot = ? AND slot_name = ?"
        case .wanting: "SELECT id FROM fact_entries WHERE wanted = ? AND wanted_name = ?"
        case .shownElsewhere: "SELECT id FROM fact_entries WHERE shown = ? AND shown_name = ?"
        case .shownIn:
            """
            SELECT id, slot_name AS name FROM fact_entries
            WHERE slot = ?1 AND slot_name > ?2 AND flags & 256
            UNION ALL SELECT id, shown_name FROM fact_entries WHERE shown = ?1 AND shown_name > ?2
            ORDER BY name, id LIMIT ?3
            """
        case .changed: "SELECT id FROM fact_entries WHERE flags & 32 ORDER BY id LIMIT ?"

        case .itemIDs: "SELECT id FROM fact_items WHERE id > ? ORDER BY id LIMIT ?"
        case .entryIDs: "SELECT id FROM fact_entries WHERE id > ? ORDER BY id LIMIT ?"
        case .lastItem: "SELECT id FROM fact_items WHERE id < ? ORDER BY id DESC LIMIT 1"
        case .lastEntry: "SELECT id FROM fact_entries WHERE id < ? ORDER BY id DESC LIMIT 1"
        case .removeItems: "DELETE FROM fact_items"
        case .removeEntries: "DELETE FROM fact_entries"
        case .removeAttributes: "DELETE FROM fact_attributes"
        case .removeLogs: "DELETE FROM logs"

        case .attribute: "SELECT facts FROM fact_attributes WHERE item = ? AND name = ?"
        case .putAttribute: "INSERT OR REPLACE INTO fact_attributes (item, name, facts) VALUES (?,?,?)"
        case .removeAttribute: "DELETE FROM fact_attributes WHERE item = ? AND name = ?"
        case .attributeNames: "SELECT name FROM fact_attributes WHERE item = ? ORDER BY name"

        case .logs: "SELECT id, sequence, label FROM logs"
        case .log: "SELECT id, sequence, label FROM logs WHERE id = ?"
        case .putLog: "INSERT OR REPLACE INTO logs (id, sequence, label) VALUES (?,?,?)"

        case .state: "SELECT one, clock, hash, journal FROM fact_state WHERE one = ?"
        case .putState: "INSERT OR REPLACE INTO fact_state (one, clock, hash, journal) VALUES (?,?,?,?)"

        case .append: "INSERT INTO journal (seq, record) VALUES (?,?)"
        case .journal: "SELECT seq, record FROM journal WHERE seq > ? ORDER BY seq LIMIT ?"
        case .lastOfJournal: "SELECT max(seq) FROM journal"
        case .removeJournal: "DELETE FROM journal WHERE seq <= ?"

        case .insertUnsent: "INSERT OR IGNORE INTO unsent (item) VALUES (?)"
        case .unsent: "SELECT item FROM unsent WHERE item > ? ORDER BY item LIMIT ?"
        case .removeUnsent: "DELETE FROM unsent WHERE item = ?"

        case .kept: "SELECT value FROM kept WHERE kind = ? AND id = ? AND number = ?"
        case .keptRows:
            """
            SELECT kind, id, number, value FROM kept WHERE (kind, id, number) > (?,?,?) AND kind <= ?
            ORDER BY kind, id, number LIMIT ?
            """
        case .putKept: "INSERT OR REPLACE INTO kept (kind, id, number, value) VALUES (?,?,?,?)"
        case .removeKept: "DELETE FROM kept WHERE kind = ? AND id = ? AND number = ?"
        }
    }
}
