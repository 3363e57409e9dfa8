/// The additional tables of an index whose vault keeps history (docs/format.md, "Tables of history").
enum HistorySchema {
    static let create = """
        CREATE TABLE history (
            one INTEGER PRIMARY KEY CHECK (one = 1), kept INTEGER NOT NULL, changed INTEGER NOT NULL,
            last INTEGER NOT NULL);
        CREATE TABLE moments (
            number INTEGER PRIMARY KEY, since INTEGER NOT NULL, begun INTEGER NOT NULL,
            next_item INTEGER NOT NULL, next_cookie INTEGER NOT NULL);
        CREATE TABLE versions (
            item INTEGER NOT NULL, until INTEGER NOT NULL, version INTEGER NOT NULL, links INTEGER NOT NULL,
            PRIMARY KEY (item, until)) WITHOUT ROWID;
        CREATE TABLE holes (
            version INTEGER NOT NULL, "offset" INTEGER NOT NULL, length INTEGER NOT NULL,
            PRIMARY KEY (version, "offset")) WITHOUT ROWID;
        """
}

/// The tables that an index has beside those that every index has, as its user_version says.
struct IndexTables: Equatable {
    /// The tables of facts.
    var facts = false
    /// The tables of history.
    var history = false

    /// The highest user_version.
    static let versionMax: Int64 = 4

    /// The tables that a user_version stands for; nil for an unknown one.
    init?(version: Int64) {
        guard (IndexSchema.version...Self.versionMax).contains(version) else { return nil }
        facts = (version - 1) & 1 != 0
        history = (version - 1) & 2 != 0
    }

    init() {}

    /// The user_version.
    var version: Int64 { 1 + (facts ? 1 : 0) + (history ? 2 : 0) }
}
