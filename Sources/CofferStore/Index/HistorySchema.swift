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
        CREATE TABLE authors (
            moment INTEGER NOT NULL, item INTEGER NOT NULL, log BLOB NOT NULL, created INTEGER NOT NULL,
            PRIMARY KEY (moment, item, log)) WITHOUT ROWID;
        CREATE INDEX authors_item ON authors (item);
        CREATE TABLE snapshots (
            number INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE, moment INTEGER NOT NULL,
            made INTEGER NOT NULL);
        """
}
