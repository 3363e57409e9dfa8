internal import CSQLite
internal import CofferFormat
internal import CofferSystem

/// One SQLite connection; for one thread at a time.
// SAFETY: the connection is owned from init to deinit; the owner of this object admits one thread.
@safe
final class Database {
    fileprivate let handle: OpaquePointer
    private let fileSystem: IndexFileSystem
    /// What happens if a page is not in memory.
    let absences = PageAbsences()

    /// Opens the index of `fileSystem`.
    init(_ fileSystem: IndexFileSystem, create: Bool) throws(FileSystemError) {
        self.fileSystem = fileSystem
        var handle: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (create ? SQLITE_OPEN_CREATE : 0)
        let code = unsafe sqlite3_open_v2(IndexFiles.databaseName, &handle, flags, fileSystem.name)
        guard let handle = unsafe handle else { throw .index(code: code, message: "out of memory") }
        unsafe self.handle = unsafe handle
        try check(code)
    }

    deinit {
        unsafe sqlite3_close_v2(handle)
    }

    /// Makes `absences` decide for both files of the connection; the log must have been used.
    func connectAbsences() throws(FileSystemError) {
        for code in [SQLITE_FCNTL_FILE_POINTER, SQLITE_FCNTL_JOURNAL_POINTER] {
            var file: UnsafeMutablePointer<sqlite3_file>?
            try check(unsafe sqlite3_file_control(handle, "main", code, &file))
            unsafe OpenIndexFile.behind(file)?.file.absences = absences
        }
    }

    /// The number of frames in the log after the last commit of this connection.
    private(set) var logFrameCount = 0

    /// Keeps `logFrameCount` current from now on.
    func countLogFrames() {
        // SAFETY: the hook is called during commits of this connection only, which self owns.
        _ = unsafe sqlite3_wal_hook(
            handle,
            { context, _, _, frames in
                guard let context = unsafe context else { return SQLITE_OK }
                unsafe Unmanaged<Database>.fromOpaque(context).takeUnretainedValue().logFrameCount = Int(
                    frames)
                return SQLITE_OK
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    /// Whether a transaction is open; SQLite rolls it back on its own if an I/O call fails in it.
    var isInTransaction: Bool { unsafe sqlite3_get_autocommit(handle) == 0 }

    /// Runs SQL that returns nothing.
    func execute(_ sql: String) throws(FileSystemError) {
        try check(unsafe sqlite3_exec(handle, sql, nil, nil, nil))
    }

    /// Prepares a statement for repeated use.
    func prepare(_ sql: String) throws(FileSystemError) -> Statement {
        var statement: OpaquePointer?
        try check(
            unsafe sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil))
        guard let statement = unsafe statement else { throw .index(code: SQLITE_MISUSE, message: sql) }
        return unsafe Statement(statement, of: self)
    }

    /// The number of the row that was last inserted.
    var lastInsertedRow: Int64 { unsafe sqlite3_last_insert_rowid(handle) }

    /// The number of rows that the last changing statement changed.
    var changedRowCount: Int { Int(unsafe sqlite3_changes64(handle)) }

    /// Makes SQLite reserve `count` bytes at the end of each page of a new database for Coffer's use.
    func reserve(bytesPerPage count: Int) throws(FileSystemError) {
        var count = Int32(count)
        try check(unsafe sqlite3_file_control(handle, "main", SQLITE_FCNTL_RESERVE_BYTES, &count))
    }

    /// Makes the end of the connection leave the log unchanged, instead of moving it into the database and
    /// removing it.
    func leaveLogOnClose() throws(FileSystemError) {
        try check(unsafe coffer_sqlite_configure(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1))
    }

    /// Moves as much of the log into the database as readers allow.
    ///
    /// - Parameter emptying: Whether to empty the log if all of it is moved and there are no readers.
    /// - Returns: The number of frames in the log, and of those that are moved; both are 0 for an emptied
    ///   log.
    func checkpoint(emptying: Bool = false) throws(FileSystemError) -> (frames: Int, moved: Int) {
        var frames: Int32 = 0
        var moved: Int32 = 0
        let code = unsafe sqlite3_wal_checkpoint_v2(
            handle, "main", emptying ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE, &frames, &moved
        )
        if code != SQLITE_BUSY { try check(code) }
        return (Int(frames), Int(moved))
    }

    /// Throws the error that a result code stands for.
    func check(_ code: Int32) throws(FileSystemError) {
        switch code & 0xff {
        case SQLITE_OK, SQLITE_ROW, SQLITE_DONE: return
        case SQLITE_FULL: throw .noSpace
        case SQLITE_CORRUPT, SQLITE_NOTADB:
            throw .damaged(place: fileSystem.files.damagedPlace ?? "the index")
        case SQLITE_CONSTRAINT:
            throw .damaged(place: "the index, which already has a row that should be new,")
        default:
            if code & 0xff == SQLITE_AUTH, let page = absences.take() { throw .pageAbsent(page) }
            throw .index(code: code, message: unsafe String(cString: sqlite3_errmsg(handle)))
        }
    }
}

/// A prepared statement.
@safe
final class Statement {
    // SAFETY: owned from init to deinit; used by the thread that uses the connection.
    private let handle: OpaquePointer
    private unowned let database: Database

    fileprivate init(_ handle: OpaquePointer, of database: Database) {
        unsafe self.handle = unsafe handle
        self.database = database
    }

    deinit {
        unsafe sqlite3_finalize(handle)
    }

    /// Runs the statement for its effect.
    func run(_ bind: (Statement) -> Void) throws(FileSystemError) {
        bind(self)
        database.absences.areErrors = false
        let code = unsafe sqlite3_step(handle)
        unsafe sqlite3_reset(handle)
        try database.check(code)
    }

    /// The first row, if there is one.
    func first<Row>(_ bind: (Statement) -> Void, _ read: (Statement) -> Row) throws(FileSystemError) -> Row? {
        bind(self)
        defer { unsafe sqlite3_reset(handle) }
        let code = unsafe sqlite3_step(handle)
        if code == SQLITE_ROW { return read(self) }
        try database.check(code)
        return nil
    }

    /// Passes each row to `read`, until it returns false.
    func each(_ bind: (Statement) -> Void, _ read: (Statement) throws(FileSystemError) -> Bool)
        throws(FileSystemError)
    {
        bind(self)
        defer { unsafe sqlite3_reset(handle) }
        while true {
            let code = unsafe sqlite3_step(handle)
            guard code == SQLITE_ROW else { return try database.check(code) }
            if try !read(self) { return }
        }
    }

    @inline(__always)
    func bind(_ index: Int32, _ value: Int64) {
        unsafe sqlite3_bind_int64(handle, index, value)
    }

    func bind(_ index: Int32, _ bytes: [UInt8]) {
        unsafe coffer_sqlite_bind_blob(handle, index, bytes, Int32(bytes.count))
    }

    func bindNull(_ index: Int32) {
        unsafe sqlite3_bind_null(handle, index)
    }

    /// Binds an identifier with byte 15 first, so that SQLite sorts identifiers as they compare.
    func bind<Kind>(_ index: Int32, _ identifier: Identifier<Kind>) {
        let words = (identifier.high.bigEndian, identifier.low.bigEndian)
        // SAFETY: SQLite copies the bytes before the call returns.
        unsafe withUnsafeBytes(of: words) { bytes in
            _ = unsafe coffer_sqlite_bind_blob(handle, index, bytes.baseAddress, Int32(bytes.count))
        }
    }

    @inline(__always)
    func integer(_ column: Int32) -> Int64 {
        unsafe sqlite3_column_int64(handle, column)
    }

    func text(_ column: Int32) -> String {
        String(decoding: bytes(column), as: UTF8.self)
    }

    func bytes(_ column: Int32) -> [UInt8] {
        let count = unsafe sqlite3_column_bytes(handle, column)
        guard count > 0, let start = unsafe sqlite3_column_blob(handle, column) else { return [] }
        // SAFETY: SQLite keeps the column until the next step; it is copied here.
        return unsafe [UInt8](UnsafeRawBufferPointer(start: start, count: Int(count)))
    }

    func byteCount(_ column: Int32) -> Int {
        Int(unsafe sqlite3_column_bytes(handle, column))
    }

    /// The contents of a column of any type.
    enum Value {
        case null
        case integer(Int64)
        case bytes([UInt8])
    }

    var columnCount: Int32 { unsafe sqlite3_column_count(handle) }

    func value(_ column: Int32) -> Value {
        switch unsafe sqlite3_column_type(handle, column) {
        case SQLITE_NULL: .null
        case SQLITE_INTEGER: .integer(integer(column))
        default: .bytes(bytes(column))
        }
    }

    func isNull(_ column: Int32) -> Bool {
        unsafe sqlite3_column_type(handle, column) == SQLITE_NULL
    }

    /// An identifier, as `bind` stores it; nil if the column does not have 16 bytes.
    func identifier<Kind>(_ column: Int32, _ type: Identifier<Kind>.Type) -> Identifier<Kind>? {
        guard unsafe sqlite3_column_bytes(handle, column) == Int32(Identifier<Kind>.byteCount),
            let start = unsafe sqlite3_column_blob(handle, column)
        else { return nil }
        // SAFETY: SQLite keeps the column until the next step; it has 16 bytes, as was just checked.
        let high = unsafe start.loadUnaligned(as: UInt64.self)
        let low = unsafe start.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
        return Identifier(low: UInt64(bigEndian: low), high: UInt64(bigEndian: high))
    }
}
