/// The queries on the tables of history, and the changes of them.
enum HistoryQuery: Int, IndexStatement {
    case history, putHistory
    case moments, moment, momentAt, anyMoment, putMoment, removeMoment
    case versions, version, versionsAfter, putVersion, removeVersion
    case holes, putHole, removeHole
    case authors, authorsOfItem, putAuthor, removeAuthor
    case snapshots, snapshot, putSnapshot, removeSnapshot

    var sql: String {
        switch self {
        case .history: "SELECT kept, changed, last FROM history"
        case .putHistory: "INSERT OR REPLACE INTO history (one, kept, changed, last) VALUES (?,?,?,?)"
        case .moments: "SELECT \(MomentRow.columns) FROM moments ORDER BY number"
        case .moment: "SELECT \(MomentRow.columns) FROM moments WHERE number = ?"
        case .momentAt:
            "SELECT \(MomentRow.columns) FROM moments WHERE since <= ? ORDER BY number DESC LIMIT 1"
        case .anyMoment: "SELECT 1 FROM moments WHERE number > ? AND number <= ? LIMIT 1"
        case .putMoment: "INSERT INTO moments (\(MomentRow.columns)) VALUES (?,?,?,?,?)"
        case .removeMoment: "DELETE FROM moments WHERE number = ?"
        case .versions:
            "SELECT \(VersionRow.columns) FROM versions WHERE item = ? AND until >= ? ORDER BY until"
        case .version: "SELECT \(VersionRow.columns) FROM versions WHERE item = ? AND until = ?"
        case .versionsAfter:
            """
            SELECT \(VersionRow.columns) FROM versions WHERE (item, until) > (?, ?)
            ORDER BY item, until LIMIT ?
            """
        case .putVersion: "INSERT INTO versions (\(VersionRow.columns)) VALUES (?,?,?,?)"
        case .removeVersion: "DELETE FROM versions WHERE item = ? AND until = ?"
        case .holes:
            """
            SELECT "offset", length FROM holes WHERE version = ?1 AND "offset" < ?3 AND "offset" >=
            coalesce((SELECT max("offset") FROM holes WHERE version = ?1 AND "offset" <= ?2), ?2)
            ORDER BY "offset"
            """
        case .putHole: #"INSERT INTO holes (version, "offset", length) VALUES (?,?,?)"#
        case .removeHole: #"DELETE FROM holes WHERE version = ? AND "offset" = ?"#
        case .authors:
            """
            SELECT \(AuthorRow.columns) FROM authors
            WHERE (moment, item, log) > (?1, ?2, ?3) AND moment < ?4
            ORDER BY moment, item, log LIMIT ?5
            """
        case .authorsOfItem:
            """
            SELECT \(AuthorRow.columns) FROM authors WHERE item = ?1 AND moment >= ?2 AND moment < ?3
            ORDER BY moment, log
            """
        case .putAuthor: "INSERT INTO authors (\(AuthorRow.columns)) VALUES (?,?,?,?)"
        case .removeAuthor: "DELETE FROM authors WHERE moment = ? AND item = ? AND log = ?"
        case .snapshots: "SELECT \(SnapshotRow.columns) FROM snapshots ORDER BY number"
        case .snapshot: "SELECT \(SnapshotRow.columns) FROM snapshots WHERE name = ?"
        case .putSnapshot: "INSERT INTO snapshots (\(SnapshotRow.columns)) VALUES (?,?,?,?)"
        case .removeSnapshot: "DELETE FROM snapshots WHERE number = ?"
        }
    }
}
