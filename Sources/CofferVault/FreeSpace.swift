internal import CofferFormat
internal import CofferStore
internal import CofferSystem

/// The space on a vault's disk, checked before anything grows; asks the disk only now and then.
struct FreeSpace {
    /// Space that is kept for the index when the disk is nearly full, so that removing works, in bytes.
    static let reserveByteCount = 8 << 20
    /// How long a check of the free space is valid, in bytes and nanoseconds.
    private static let budgetByteCount = 16 << 20
    private static let budgetLifetime: Int64 = 200_000_000

    private let directory: any StorageDirectory
    private let log: IndexLog
    private let packs: PackStore
    /// The number of bytes that may be written before the free space is checked again, and when it is checked
    /// at the latest.
    var budget: (bytes: Int, end: Int64) = (0, 0)

    init(in directory: any StorageDirectory, log: IndexLog, packs: PackStore) {
        self.directory = directory
        self.log = log
        self.packs = packs
    }

    /// Checks that there is room for about `count` more bytes.
    ///
    /// - Throws: `.noSpace`.
    mutating func ensure(for count: Int) throws(FileSystemError) {
        let now = Clock.monotonic
        if budget.bytes >= count, now < budget.end {
            budget.bytes -= count
            return
        }
        guard log.isWritten else { throw .noSpace }
        let room = try Self.space(of: directory).available - Self.reserveByteCount - packs.unwrittenByteCount
        guard room >= count else { throw .noSpace }
        budget = (min(room, Self.budgetByteCount) - count, now + Self.budgetLifetime)
    }

    /// The disk's space.
    static func space(of directory: any StorageDirectory) throws(FileSystemError) -> StorageSpace {
        do throws(SystemError) { return try directory.space() } catch { throw .system(error) }
    }
}
