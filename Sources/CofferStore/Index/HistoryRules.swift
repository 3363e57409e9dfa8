/// Rules that must hold between rows of the tables of history.
///
/// Each query returns the numbers of items, or of snapshots, that break the rule.
enum HistoryRules {
    static let all: [(text: String, query: String)] = [
        (
            "A version is missing, or is not marked as one: item",
            """
            SELECT v.version FROM versions v LEFT JOIN items i ON i.number = v.version
            WHERE i.number IS NULL OR NOT i.flags & \(ItemRow.Flags.isVersion.rawValue)
            """
        ),
        (
            "A version belongs to no item, or to several: item",
            """
            SELECT i.number FROM items i LEFT JOIN
            (SELECT version, count(*) AS n FROM versions GROUP BY version) c ON c.version = i.number
            WHERE i.flags & \(ItemRow.Flags.isVersion.rawValue) AND coalesce(c.n, 0) <> 1
            """
        ),
        (
            "A version says that it was there later than the last moment: item",
            "SELECT version FROM versions WHERE until > (SELECT last FROM history)"
        ),
        (
            "A hole belongs to a missing version: item",
            "SELECT DISTINCT version FROM holes WHERE version NOT IN (SELECT version FROM versions)"
        ),
        (
            "A recorded author refers to a moment that never existed: item",
            "SELECT DISTINCT item FROM authors WHERE moment > (SELECT last FROM history)"
        ),
        (
            "The state of a snapshot is missing: snapshot",
            """
            SELECT s.number FROM snapshots s LEFT JOIN moments m ON m.number = s.moment
            WHERE m.number IS NULL AND (s.moment <> (SELECT last + 1 FROM history) OR (SELECT kept FROM history) = 0)
            """
        ),
    ]
}
