package import CofferCrypto
package import CofferFormat
package import CofferSystem

/// The index of one vault on this device: items, names, extents, in a transaction that is always open.
///
/// Reads through the same object see changes at once; `commit` writes changes to the log. For one thread at a
/// time, under the vault's lock. Numbers of items are the vault's own inode numbers.
package final class Index {
    let database: Database
    let statements: PreparedStatements<IndexQuery>
    let factStatements: PreparedStatements<FactQuery>
    let historyStatements: PreparedStatements<HistoryQuery>
    var digest: RowDigest
    /// The number of the journal's next record, once it is known.
    var nextJournalNumber: Int64?
    /// The last number that a remote extent got since the index was opened; no number is given twice in that time.
    ///
    /// Bytes in memory that belong to a remote extent are known by its number.
    var lastRemoteNumber: Int64 = 0
    private let fileSystem: IndexFileSystem
    private let logFile: any StorageFile
    /// The next number of an item, cookie of an entry, and number of a pack, and the number of commits.
    var counters: Counters
    /// The number of log frames that were dropped when the index was opened, because they follow a damaged
    /// one.
    package let droppedFrameCount: Int
    /// The number of row changes since the last commit.
    package internal(set) var changes = 0

    /// The last commit.
    package private(set) var base: IndexBase
    private var committedCounters: Counters
    /// The tables that the last commit has.
    private var committedTables: IndexTables

    /// Whether queries fail with `.pageAbsent` where they would wait for a page that is not in memory.
    ///
    /// The first change makes it false: what follows must succeed. So a change looks before whether the places that it
    /// will change are in memory.
    package var failsForAbsentPages: Bool {
        get { database.absences.areErrors }
        set {
            database.absences.areErrors = newValue
            _ = database.absences.take()
        }
    }

    /// Whether numbers were assigned since the last commit.
    package var hasNewNumbers: Bool { counters != committedCounters }

    /// How far the stored counters are ahead while the index is in use.
    ///
    /// Numbers that were assigned between the last commit and a crash are therefore not assigned again.
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
    ) throws(FileSystemError) {
        let fileSystem = makeFileSystem(directory, vault, key, DiskPace())
        let database = try Database(fileSystem, create: true)
        try database.reserve(bytesPerPage: IndexPageLayout.reservedByteCount)
        // The switch to WAL mode needs a rollback journal, for which there is no file.
        try database.execute("PRAGMA page_size = 4096; PRAGMA journal_mode = MEMORY")
        try database.execute(IndexSchema.configure)
        try database.execute("BEGIN; \(IndexSchema.create)")
        let digest = RowDigest(key: digestKey(vault, key))
        let statement = try database.prepare("INSERT INTO state VALUES (1, 1, 3, 1, 0, ?)")
        try statement.run { $0.bind(1, digest.bytes) }
        try database.execute("COMMIT")
        do throws(SystemError) { try directory.sync() } catch { throw FileSystemError(error) }
    }

    /// Opens an index, in its last committed state.
    ///
    /// - Parameter pace: Learns how long reads of pages take.
    /// - Throws: `.format` if a newer version made it, `.damaged` if it cannot be read.
    package init(
        in directory: any StorageDirectory, vault: VaultID, key: borrowing SymmetricKey<StoreRole>,
        pace: DiskPace = DiskPace()
    ) throws(FileSystemError) {
        fileSystem = Self.makeFileSystem(directory, vault, key, pace)
        droppedFrameCount = try IndexLogScan.countDroppedFrames(fileSystem.files)
        database = try Database(fileSystem, create: false)
        // Closing a connection must not touch the log: neither that of an index that a newer version made, nor one
        // whose contents are unknown because the disk failed, nor the next one's.
        try database.leaveLogOnClose()
        try database.execute(IndexSchema.configure)
        let version = try database.prepare("PRAGMA user_version").first({ _ in }, { $0.integer(0) }) ?? 0
        guard let tables = IndexTables(version: version) else {
            let supported = UInt32(IndexTables.versionMax)
            throw .format(
                version > IndexTables.versionMax
                    ? .newerVersion(found: UInt32(clamping: version), supported: supported) : .notThisKind,
                place: "the index of vault \(vault)")
        }
        statements = PreparedStatements(database)
        try statements.prepareAll()
        factStatements = PreparedStatements(database)
        historyStatements = PreparedStatements(database)
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
        // Higher numbers are possible only if an older page with this row was put back.
        guard let state, let sums = state.1, state.0.arePossible,
            try Self.largestNumber(in: "items", database) < state.0.item,
            try Self.largestNumber(in: "packs", database) < state.0.pack
        else { throw .damaged(place: "the state row of the index") }
        counters = state.0
        committedCounters = state.0
        committedTables = tables
        digest = try RowDigest(key: Self.digestKey(vault, key), sums: sums, tables)
        base = IndexBase(commits: state.0.commits, digests: digest.bytes)
        database.countLogFrames()
        try database.execute("BEGIN IMMEDIATE")
        try database.connectAbsences()
        do throws(SystemError) {
            logFile = try directory.open(IndexFiles.logName, create: true)
            // SQLite's own layer does this when it makes a log. Without the sync, a crash may lose the log's
            // name, and an older log that reappears would be moved over newer pages.
            try directory.sync()
        } catch {
            throw FileSystemError(error)
        }
    }

    private static func makeFileSystem(
        _ directory: any StorageDirectory, _ vault: VaultID, _ key: borrowing SymmetricKey<StoreRole>,
        _ pace: DiskPace
    ) -> IndexFileSystem {
        let pageKey = unsafe key.derive(IndexPageRole.self, context: vault.bytes.span.bytes)
        return IndexFileSystem(IndexFiles(directory: directory, vault: vault, key: pageKey, pace: pace))
    }

    private static func largestNumber(in table: String, _ database: Database) throws(FileSystemError) -> Int64
    {
        do throws(FileSystemError) {
            return try database.prepare("SELECT max(number) FROM \(table)")
                .first({ _ in }, { $0.integer(0) }) ?? 0
        } catch {
            // A page that fails to open is reported where it is needed; the others can be read.
            guard case .damaged = error else { throw error }
            return 0
        }
    }

    private static func digestKey(
        _ vault: VaultID, _ key: borrowing SymmetricKey<StoreRole>
    ) -> SymmetricKey<RowDigestRole> {
        unsafe key.derive(RowDigestRole.self, context: vault.bytes.span.bytes)
    }

    /// Whether the transaction for changes is open.
    ///
    /// If not, SQLite has rolled it back after a disk error, and nothing may be changed any more.
    package var isInTransaction: Bool { database.isInTransaction }

    /// The number of frames in the log, moved into the database or not.
    package var logFrameCount: Int { database.logFrameCount }

    /// Writes the changes to the log, and opens the next transaction.
    ///
    /// Does not wait for the disk.
    ///
    /// - Parameter restartingLog: Whether to move the rest of the log into the database, so that the next
    ///   commit restarts it from the beginning; this does wait for the disk.
    package func commit(restartingLog: Bool = false) throws(FileSystemError) {
        try commit(restartingLog: restartingLog, reserving: Self.reservedCount)
    }

    private func commit(restartingLog: Bool, reserving count: Int64) throws(FileSystemError) {
        guard isInTransaction else { throw .stopped(reason: "the index was rolled back to its last commit") }
        counters.commits += 1
        let digests = digest.bytes
        try statements[.updateState].run { statement in
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
        committedTables = digest.tables
        do throws(FileSystemError) {
            if restartingLog { _ = try database.checkpoint() }
        } catch {
            try database.execute("BEGIN IMMEDIATE")
            // If the database has no space, the log keeps its length; the commit itself has succeeded.
            if case .noSpace = error { return }
            throw error
        }
        try database.execute("BEGIN IMMEDIATE")
    }

    /// Commits, syncs, and moves the log into the database; the index cannot be used afterwards.
    ///
    /// The log stays if a reader still uses it, or if the database has no space.
    package func close() throws(FileSystemError) {
        try commit(restartingLog: false, reserving: 0)
        try database.execute("COMMIT")
        do throws(SystemError) {
            try fileSystem.files.writeUnwritten(to: logFile)
            try logFile.dataSync()
        } catch {
            throw FileSystemError(error)
        }
        do throws(FileSystemError) {
            let (frames, moved) = try database.checkpoint()
            guard moved == frames, try database.checkpoint(emptying: true).frames == 0 else { return }
            removeEmptyLog()
        } catch {
            guard case .noSpace = error else { throw error }
        }
    }

    /// Drops uncommitted changes, and leaves the files unchanged; the index cannot be used afterwards.
    package func closeUnchanged() throws(FileSystemError) {
        do throws(SystemError) {
            // Opening the index made an empty log.
            guard try logFile.size() == 0 else { return }
        } catch {
            throw FileSystemError(error)
        }
        try database.execute("ROLLBACK")
        removeEmptyLog()
    }

    /// Removes the log, whose frames are all moved, while no other index of these files is open.
    ///
    /// SQLite would do it by name when the last connection ends, which may be after the next index has begun a log. An
    /// empty log that stays does no harm.
    private func removeEmptyLog() {
        try? fileSystem.files.directory.remove(IndexFiles.logName)
    }

    /// Makes an object that syncs and moves the log without the vault's lock.
    package func makeLog() throws(FileSystemError) -> IndexLog {
        try IndexLog(fileSystem: fileSystem, file: logFile)
    }

    /// Makes a reader of the last commit, for checks without the vault's lock.
    package func makeReader() throws(FileSystemError) -> sending IndexReader {
        try IndexReader(fileSystem, digest.startingAnew(), committedTables)
    }

    /// Makes a reader of the contents of the last commit, for sending without the vault's lock.
    package func makeContentReader() throws(FileSystemError) -> ContentReader {
        try ContentReader(fileSystem)
    }

    /// The highest number that was given to an item.
    package var lastItemNumber: Int64 { counters.item - 1 }

    /// A new number for an item.
    package func nextItemNumber() -> Int64 {
        defer { counters.item += 1 }
        return counters.item
    }

    /// A new cookie for an entry.
    package func nextCookie() -> Int64 {
        defer { counters.cookie += 1 }
        return counters.cookie
    }
}

/// A commit of an index, as its `state` row identifies it; unique among the vault's commits.
package struct IndexBase: Equatable, Sendable {
    /// The number of commits, including this one.
    package let commits: Int64
    /// The row digest.
    package let digests: [UInt8]
}

/// The log of an index, for threads that do not hold the vault's lock.
package final class IndexLog: Sendable {
    private let fileSystem: IndexFileSystem
    private let file: any StorageFile
    /// The connection for moving the log; one move at a time.
    private let connection: RankedMutex<Database>

    fileprivate init(fileSystem: IndexFileSystem, file: any StorageFile) throws(FileSystemError) {
        self.fileSystem = fileSystem
        self.file = file
        let connection = try Database(fileSystem, create: false)
        try connection.leaveLogOnClose()
        try connection.execute(IndexSchema.configure)
        self.connection = RankedMutex(connection, rank: .checkpoint)
    }

    /// Returns once everything that was committed is on disk.
    ///
    /// - Throws: `.noSpace` if the disk has no space for it; it is kept, and the next call tries again.
    ///   `.stopped` if the disk failed; its contents of the log are then unknown.
    package func sync() throws(FileSystemError) {
        do throws(SystemError) {
            try fileSystem.files.writeUnwritten(to: file)
        } catch {
            throw FileSystemError(error)
        }
        do throws(SystemError) {
            try file.dataSync()
        } catch {
            throw .stopped(reason: "the disk failed to store the index (\(error))")
        }
    }

    /// Whether the file contains everything that was committed.
    package var isWritten: Bool { fileSystem.files.isWritten }

    /// Moves committed frames into the database.
    ///
    /// Blocks for as long as that takes, but does not block the writer.
    ///
    /// - Returns: The number of frames in the log that are not moved yet.
    @discardableResult
    package func checkpoint() throws(FileSystemError) -> Int {
        try connection.withLock { connection throws(FileSystemError) in
            let (frames, moved) = try connection.checkpoint()
            return max(0, frames - moved)
        }
    }
}
