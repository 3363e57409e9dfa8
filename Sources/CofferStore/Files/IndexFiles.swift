internal import CofferCrypto
internal import CofferFormat
internal import CofferSystem

/// The files of one index, shared by SQLite's connections to it.
final class IndexFiles: Sendable {
    static let databaseName = "index.sqlite"
    static let logName = "index.sqlite-wal"

    let directory: any StorageDirectory
    let vault: VaultID
    let sharedMemory = SharedMemory()
    /// How long reads of pages take.
    let pace: DiskPace
    private let key: SymmetricKey<IndexPageRole>
    /// Log frames for which the disk had no space, by offset.
    private let unwritten = RankedMutex([Int: [UInt8]](), rank: .leaf)
    private let damage = RankedMutex(String?.none, rank: .leaf)

    init(
        directory: any StorageDirectory, vault: VaultID, key: consuming SymmetricKey<IndexPageRole>,
        pace: DiskPace
    ) {
        self.directory = directory
        self.pace = pace
        self.vault = vault
        self.key = key
    }

    /// A sealer for one thread.
    func makeSealer() -> PageSealer {
        PageSealer(key: key, vault: vault)
    }

    /// Remembers the place of a page that failed to open.
    func noteDamage(_ place: String) {
        damage.withLock { $0 = place }
    }

    /// The place of the page that most recently failed to open.
    var damagedPlace: String? { damage.withLock { $0 } }

    /// Writes the log's header or some frames.
    ///
    /// If the disk is full, it keeps them in memory instead, so that SQLite sees a whole log;
    /// `writeUnwritten` tries again before a commit counts as durable.
    func writeLog(_ bytes: [UInt8], to file: any StorageFile, at offset: Int) throws(SystemError) {
        // No frame may reach the disk before the log's header has (see `keepHeader`).
        if offset > 0, unwritten.withLock({ $0[0] != nil }) { return keep(bytes, at: offset) }
        do {
            try unsafe file.write(bytes.span.bytes, at: offset)
            unwritten.withLock { unwritten in
                if !unwritten.isEmpty {
                    for (place, _) in Self.pieces(bytes, at: offset) { unwritten[place] = nil }
                }
            }
        } catch  where error.isNoSpace {
            keep(bytes, at: offset)
        }
    }

    private func keep(_ bytes: [UInt8], at offset: Int) {
        unwritten.withLock { unwritten in
            for (place, piece) in Self.pieces(bytes, at: offset) { unwritten[place] = Array(bytes[piece]) }
        }
    }

    /// The header, or the single frames, in the units in which they are read.
    private static func pieces(_ bytes: [UInt8], at offset: Int) -> [(place: Int, piece: Range<Int>)] {
        if offset < IndexPageLayout.logHeaderByteCount { return [(offset, 0..<bytes.count)] }
        return stride(from: 0, to: bytes.count, by: IndexPageLayout.frameByteCount).map { start in
            (offset + start, start..<min(bytes.count, start + IndexPageLayout.frameByteCount))
        }
    }

    /// Keeps the header of a restarted log in memory, and with it all later frames, because the disk has no
    /// space to sync it.
    ///
    /// If frames of the new log followed the header of the old one on disk, part of the old log would pass
    /// for all of it.
    func keepHeader(_ header: [UInt8]) {
        unwritten.withLock { $0[0] = header }
    }

    /// A piece of the log that exists only in memory.
    func unwrittenLog(at offset: Int) -> [UInt8]? {
        unwritten.withLock { $0.isEmpty ? nil : $0[offset] }
    }

    /// The end of the pieces that exist only in memory.
    var unwrittenEnd: Int {
        unwritten.withLock { $0.map { $0.key + $0.value.count }.max() ?? 0 }
    }

    /// Whether the file contains the whole log.
    var isWritten: Bool { unwritten.withLock { $0.isEmpty } }

    /// Writes the pieces for which the disk had no space.
    ///
    /// - Throws: ENOSPC if it still has none.
    func writeUnwritten(to file: any StorageFile) throws(SystemError) {
        try unwritten.withLock { pieces throws(SystemError) in
            for (offset, bytes) in pieces.sorted(by: { $0.key < $1.key }) {
                try unsafe file.write(bytes.span.bytes, at: offset)
                if offset == 0 { try file.dataSync() }
                pieces[offset] = nil
            }
        }
    }

    /// Drops pieces at or after `size`.
    func truncateUnwritten(to size: Int) {
        unwritten.withLock { pieces in
            if !pieces.isEmpty { pieces = pieces.filter { $0.key < size } }
        }
    }
}
