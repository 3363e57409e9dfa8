package import CofferCrypto
package import CofferFormat
package import CofferSystem

/// The index of one vault on this device: items, names, extents; with a transaction that is always open.
///
/// Changes are seen at once by whoever reads through the same object, and reach the log at `commit`. Not
/// safe for several threads: the vault's lock lets one in. Numbers are the vault's own inode numbers.
package final class Index {
    let database: Database
    let statements: IndexStatements
    let factStatements: FactStatements
    var digest: RowDigest
    /// The number of the journal's next record, once it is known.
    var nextJournalNumber: Int64?
    private let fileSystem: IndexFileSystem
    private let logFile: any StorageFile
    /// The next number of an item, cookie of an entry, number of a pack.
    var counters: Counters
    /// Frames of the log that follow a damaged one, and so were dropped when the index was opened.
    package let droppedFrameCount: Int
    /// Rows that were changed since the last commit.
    package internal(set) var changes = 0

    /// The last commit.
    package private(set) var base: IndexBase
    private var committedCounters: Counters

    /// Whether numbers were given out since the last commit.
    package var hasNewNumbers: Bool { counters != committedCounters }

    /// How far the stored counters are ahead while the index is in use: numbers that were given away after the
    /// last commit before a crash are not given again.
    private static let reservedCount: Int64 = 65_536

    struct Counters: Equatable {
        var item: Int64
        var cookie: Int64
        var pack: Int64
        var commits: Int64
    }

    /// Makes an empty index in `directory`.
    package static func create(
        in directory: any StorageDirectory, vault: VaultID, key: borrowing SymmetricKey<StoreRole>
    ) throws(StoreError) {
        let fileSystem = makeFileSystem(directory, vault, key)
        let database = try Database(fileSystem, create: true)
        try database.reserve(bytesPerPage: IndexPageLayout.reservedByteCount)
        // The step into WAL mode needs a journal, for which there is no file.
        try database.execute("PRAGMA page_size = 4096; PRAGMA journal_mode = MEMORY")
        try database.execute(IndexSchema.configure)
        try database.execute("BEGIN; \(IndexSchema.create)")
        let digest = RowDigest(key: digestKey(vault, key))
        let statement = try database.prepare("INSERT INTO state VALUES (1, 1, 3, 1, 0, ?)")
        try statement.run { $0.bind(1, digest.bytes) }
        try database.execute("COMMIT")
        do throws(SystemError) { try directory.sync() } catch { throw StoreError(error) }
    }

    /// Opens an index and brings it to its last committed state.
    ///
    /// - Throws: `.format` for one that a newer version made, `.damaged` if it cannot be read.
    package init(
        in directory: any StorageDirectory, vault: VaultID, key: borrowing SymmetricKey<StoreRole>
    ) throws(StoreError) {
        fileSystem = Self.makeFileSystem(directory, vault, key)
        droppedFrameCount = try IndexLogScan.countDroppedFrames(fileSystem.files)
        database = try Database(fileSystem, create: false)
        // Until `close` has moved it all, nothing may touch the log: neither of an index that a newer version
        // made, nor after the disk failed, when what it has of the log is not known.
        try database.leaveLogOnClose()
        try database.execute(IndexSchema.configure)
        let version = try database.prepare("PRAGMA user_version").first({ _ in }, { $0.integer(0) }) ?? 0
        guard version == IndexSchema.version || version == FactSchema.version else {
            throw .format(
                version > FactSchema.version
                    ? .newerVersion(found: UInt32(clamping: version), supported: UInt32(FactSchema.version))
                    : .notThisKind, place: "the index of vault \(vault)")
        }
        statements = try IndexStatements(database)
        factStatements = FactStatements(database)
        let state = try database.prepare(
            "SELECT next_item, next_cookie, next_pack, commits, digests FROM state"
        )
        .first({ _ in }) { row in
            (
                Counters(
                    item: row.integer(0), cookie: row.integer(1), pack: row.integer(2),
                    commits: row.integer(3)), RowDigest.sums(row.bytes(4))
            )
        }
        // Numbers behind the counters can only be if an older page with this row was put back.
        guard let state, let sums = state.1, state.0.arePossible,
            try Self.largestNumber(in: "items", database) < state.0.item,
            try Self.largestNumber(in: "packs", database) < state.0.pack
        else { throw .damaged(place: "the state row of the index") }
        counters = state.0
        committedCounters = state.0
        digest = RowDigest(key: Self.digestKey(vault, key), sums: sums)
        guard digest.hasFacts == (version == FactSchema.version) else {
            throw .damaged(place: "the state row of the index")
        }
        base = IndexBase(commits: state.0.commits, digests: digest.bytes)
        database.countLogFrames()
        try database.execute("BEGIN IMMEDIATE")
        do throws(SystemError) {
            logFile = try directory.open(IndexFiles.logName, create: true)
            // SQLite's own layer does this when it makes a log: without its name the log is lost in a crash,
            // and an older log that comes back would be moved over newer pages.
            try directory.sync()
        } catch {
            throw StoreError(error)
        }
    }

    private static func makeFileSystem(
        _ directory: any StorageDirectory, _ vault: VaultID, _ key: borrowing SymmetricKey<StoreRole>
    ) -> IndexFileSystem {
        let pageKey = unsafe key.derive(IndexPageRole.self, context: vault.bytes.span.bytes)
        return IndexFileSystem(IndexFiles(directory: directory, vault: vault, key: pageKey))
    }

    private static func largestNumber(in table: String, _ database: Database) throws(StoreError) -> Int64 {
        do throws(StoreError) {
            return try database.prepare("SELECT max(number) FROM \(table)")
                .first({ _ in }, { $0.integer(0) }) ?? 0
        } catch {
            // A page that does not open is told where it is needed; the rest can be read.
            guard case .damaged = error else { throw error }
            return 0
        }
    }

    private static func digestKey(
        _ vault: VaultID, _ key: borrowing SymmetricKey<StoreRole>
    ) -> SymmetricKey<RowDigestRole> {
        unsafe key.derive(RowDigestRole.self, context: vault.bytes.span.bytes)
    }

    /// Whether the transaction is open that changes belong to; if not, SQLite has rolled it back after an
    /// error of the disk, and nothing may be changed any more.
    package var isInTransaction: Bool { database.isInTransaction }

    /// Frames in the log, moved into the database or not.
    package var logFrameCount: Int { database.logFrameCount }

    /// Writes what changed to the log and opens the next transaction.
    ///
    /// Does not wait for the disk.
    ///
    /// - Parameter restartingLog: Whether to move the rest of the log into the database, so that the next
    ///   commit starts it from the beginning; that does wait for the disk.
    package func commit(restartingLog: Bool = false) throws(StoreError) {
        try commit(restartingLog: restartingLog, reserving: Self.reservedCount)
    }

    private func commit(restartingLog: Bool, reserving count: Int64) throws(StoreError) {
        guard isInTransaction else { throw .stopped(reason: "the index went back to its last commit") }
        counters.commits += 1
        let digests = digest.bytes
        try statements.updateState.run { statement in
            statement.bind(1, counters.item + count)
            statement.bind(2, counters.cookie + count)
            statement.bind(3, counters.pack)
            statement.bind(4, counters.commits)
            statement.bind(5, digests)
        }
        try database.execute("COMMIT")
        changes = 0
        base = IndexBase(commits: counters.commits, digests: digests)
        committedCounters = counters
        do throws(StoreError) {
            if restartingLog { _ = try database.checkpoint() }
        } catch {
            try database.execute("BEGIN IMMEDIATE")
            // Without room in the database the log just stays as long as it is; the commit is made.
            if case .noSpace = error { return }
            throw error
        }
        try database.execute("BEGIN IMMEDIATE")
    }

    /// Commits, to disk, and moves the log into the database; the index is not to be used afterwards.
    ///
    /// Where somebody still reads from the log, or the database finds no room, the log stays.
    package func close() throws(StoreError) {
        try commit(restartingLog: false, reserving: 0)
        try database.execute("COMMIT")
        do throws(SystemError) {
            try fileSystem.files.writeUnwritten(to: logFile)
            try logFile.dataSync()
        } catch {
            throw StoreError(error)
        }
        do throws(StoreError) {
            let (frames, moved) = try database.checkpoint()
            guard moved == frames else { return }
            try database.leaveLogOnClose(false)
            // The last connection removes the log. Whoever still has one does that too late, or never: frames that were
            // moved would be read again, and added to, with each mount.
            _ = try database.checkpoint(emptying: true)
        } catch {
            guard case .noSpace = error else { throw error }
        }
    }

    /// Drops what was not committed, and leaves the files as they were; the index is not to be used afterwards.
    package func closeUnchanged() throws(StoreError) {
        do throws(SystemError) {
            // An empty log was made when the index was opened.
            guard try logFile.size() == 0 else { return }
        } catch {
            throw StoreError(error)
        }
        try database.execute("ROLLBACK")
        try database.leaveLogOnClose(false)
    }

    /// What it takes to wait for the disk, and to move the log, without the vault's lock.
    package func makeLog() throws(StoreError) -> IndexLog {
        try IndexLog(fileSystem: fileSystem, file: logFile)
    }

    /// The index as of the last commit, to be checked without the vault's lock.
    package func makeReader() throws(StoreError) -> sending IndexReader {
        try IndexReader(fileSystem, digest.startingAnew())
    }

    /// The contents as of the last commit, to be sent without the vault's lock.
    package func makeContentReader() throws(StoreError) -> ContentReader {
        try ContentReader(fileSystem)
    }

    /// A fresh number for an item.
    package func nextItemNumber() -> Int64 {
        defer { counters.item += 1 }
        return counters.item
    }

    /// A fresh cookie for an entry.
    package func nextCookie() -> Int64 {
        defer { counters.cookie += 1 }
        return counters.cookie
    }
}

/// A commit of an index, as its `state` row tells it: no other commit of the vault has the same.
package struct IndexBase: Equatable, Sendable {
    /// Commits up to and with this one.
    package let commits: Int64
    /// The row digest.
    package let digests: [UInt8]
}

/// The log of an index, seen from threads that do not hold the vault's lock.
package final class IndexLog: Sendable {
    private let fileSystem: IndexFileSystem
    private let file: any StorageFile
    /// A connection for moving the log: one move at a time.
    private let connection: Condition<Database>

    fileprivate init(fileSystem: IndexFileSystem, file: any StorageFile) throws(StoreError) {
        self.fileSystem = fileSystem
        self.file = file
        let connection = try Database(fileSystem, create: false)
        try connection.leaveLogOnClose()
        try connection.execute(IndexSchema.configure)
        self.connection = Condition(connection)
    }

    /// Returns once all that was committed is on disk.
    ///
    /// - Throws: `.noSpace` if the disk has no room for it: it is kept, and the next call tries again.
    ///   `.stopped` if the disk failed: what it has of the log is not known any more.
    package func sync() throws(StoreError) {
        do throws(SystemError) {
            try fileSystem.files.writeUnwritten(to: file)
        } catch {
            throw StoreError(error)
        }
        do throws(SystemError) {
            try file.dataSync()
        } catch {
            throw .stopped(reason: "the disk failed to store the index (\(error))")
        }
    }

    /// Whether all that was committed is in the file.
    package var isWritten: Bool { fileSystem.files.isWritten }

    /// Moves committed frames into the database.
    ///
    /// Blocks for as long as that takes, but not the writer.
    ///
    /// - Returns: Frames in the log that are not moved yet.
    @discardableResult
    package func checkpoint() throws(StoreError) -> Int {
        try connection.withLock { connection throws(StoreError) in
            let (frames, moved) = try connection.checkpoint()
            return max(0, frames - moved)
        }
    }
}
