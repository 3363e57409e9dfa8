/// The tables of an index (docs/format.md, "Index").
enum IndexSchema {
    /// The database's user_version, unless it has other tables, too (`IndexTables`).
    static let version: Int64 = 1
    /// The database's application_id: "Cofr".
    static let applicationID: Int64 = 0x436f_6672

    static let create = """
        PRAGMA application_id = \(applicationID);
        PRAGMA user_version = \(version);
        CREATE TABLE state (
            one INTEGER PRIMARY KEY CHECK (one = 1),
            next_item INTEGER NOT NULL, next_cookie INTEGER NOT NULL, next_pack INTEGER NOT NULL,
            commits INTEGER NOT NULL, digests BLOB NOT NULL);
        CREATE TABLE items (
            number INTEGER PRIMARY KEY, id BLOB NOT NULL, mode INTEGER NOT NULL, links INTEGER NOT NULL,
            user INTEGER NOT NULL, "group" INTEGER NOT NULL, size INTEGER NOT NULL,
            allocated INTEGER NOT NULL, device INTEGER NOT NULL, accessed INTEGER NOT NULL,
            modified INTEGER NOT NULL, changed INTEGER NOT NULL, born INTEGER NOT NULL,
            parent INTEGER NOT NULL, flags INTEGER NOT NULL, unsent INTEGER NOT NULL, origin BLOB NOT NULL,
            target BLOB NOT NULL);
        CREATE TABLE entries (
            parent INTEGER NOT NULL, name BLOB NOT NULL, item INTEGER NOT NULL, type INTEGER NOT NULL,
            cookie INTEGER NOT NULL, unsent INTEGER NOT NULL, PRIMARY KEY (parent, name)) WITHOUT ROWID;
        CREATE UNIQUE INDEX entries_in_order ON entries (parent, cookie, item, type);
        CREATE TABLE extents (
            item INTEGER NOT NULL, "offset" INTEGER NOT NULL, length INTEGER NOT NULL, base INTEGER NOT NULL,
            total INTEGER NOT NULL, pack INTEGER NOT NULL, position INTEGER NOT NULL, prefix BLOB NOT NULL,
            epoch INTEGER NOT NULL, remote INTEGER NOT NULL, PRIMARY KEY (item, "offset")) WITHOUT ROWID;
        CREATE TABLE contents (
            number INTEGER PRIMARY KEY, live INTEGER NOT NULL, sealed BLOB NOT NULL);
        CREATE TABLE attributes (
            item INTEGER NOT NULL, name BLOB NOT NULL, value BLOB NOT NULL,
            PRIMARY KEY (item, name)) WITHOUT ROWID;
        CREATE TABLE packs (
            number INTEGER PRIMARY KEY, id BLOB NOT NULL, written INTEGER NOT NULL, live INTEGER NOT NULL);
        CREATE TABLE orphans (item INTEGER PRIMARY KEY);
        CREATE TABLE remote_extents (
            number INTEGER PRIMARY KEY, pack BLOB NOT NULL, position INTEGER NOT NULL, hash BLOB NOT NULL,
            live INTEGER NOT NULL);
        CREATE TABLE remote_pages (
            item INTEGER NOT NULL, level INTEGER NOT NULL, "index" INTEGER NOT NULL, plain BLOB NOT NULL,
            pack BLOB NOT NULL, position INTEGER NOT NULL, length INTEGER NOT NULL, epoch INTEGER NOT NULL,
            hash BLOB NOT NULL, PRIMARY KEY (item, level, "index")) WITHOUT ROWID;
        """

    /// The settings of each connection.
    ///
    /// Commits do not wait for the disk: the store syncs the packs before them and the log after them,
    /// outside its locks.
    static let configure = """
        PRAGMA page_size = 4096;
        PRAGMA journal_mode = WAL;
        PRAGMA synchronous = NORMAL;
        PRAGMA wal_autocheckpoint = 0;
        PRAGMA temp_store = MEMORY;
        PRAGMA cache_spill = OFF;
        PRAGMA cache_size = -8192;
        PRAGMA trusted_schema = OFF;
        """
}
