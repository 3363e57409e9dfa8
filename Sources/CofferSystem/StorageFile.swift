/// A file of the store: the interface at which tests lose writes, tear them, and make calls fail.
///
/// Offsets and counts are in bytes. Every call may block on the local disk.
package protocol StorageFile: AnyObject, Sendable {
    /// Reads up to `buffer.byteCount` bytes at `offset`, like pread(2); returns fewer only at the end of the
    /// file.
    func read(into buffer: inout MutableRawSpan, at offset: Int) throws(SystemError) -> Int
    /// Reads like the call above, from a file opened with `openDirect`, and runs `meanwhile` once while the
    /// disk works.
    func read(
        into buffer: inout MutableRawSpan, at offset: Int, polling reads: PolledReads, meanwhile: () -> Void
    ) throws(SystemError) -> Int
    /// Starts a read of a file opened with `openDirect`, which ends in `flights.endNext`.
    ///
    /// - Parameter range: The bytes of the buffer to read into; they belong to the disk until the read ends.
    /// - Returns: False if the caller must read the usual way.
    func start(
        _ read: any StartedRead, in flights: ReadsInFlight, into buffer: AlignedBuffer, _ range: Range<Int>,
        at offset: Int
    ) -> Bool
    /// Whether a read of the whole buffer would not wait for the disk; true where that is unknown. Overwrites
    /// the buffer.
    func isAtHand(_ buffer: inout MutableRawSpan, at offset: Int) -> Bool
    /// Reads like `read(into:at:)`, but only if it need not wait for the disk, as far as that is known.
    ///
    /// - Returns: Nil if it would wait; the contents of the buffer are then undefined.
    func readAtHand(into buffer: inout MutableRawSpan, at offset: Int) throws(SystemError) -> Int?
    /// Asks for a range to be read into the page cache, without waiting, like posix_fadvise(2) with
    /// POSIX_FADV_WILLNEED.
    func bringNear(at offset: Int, count: Int)
    /// Writes all bytes at `offset`, like pwrite(2).
    func write(_ bytes: RawSpan, at offset: Int) throws(SystemError)
    /// The size, as st_size of fstat(2).
    func size() throws(SystemError) -> Int
    /// The bytes that the file takes up on disk, as st_blocks of fstat(2).
    func allocatedByteCount() throws(SystemError) -> Int
    /// Changes the size, like ftruncate(2).
    func truncate(to size: Int) throws(SystemError)
    /// Returns once contents, and the metadata needed to read them, are on disk, like fdatasync(2).
    func dataSync() throws(SystemError)
    /// Starts writing a range to disk, without waiting or promising anything, like sync_file_range(2).
    func startWriteback(at offset: Int, count: Int)
    /// Frees the disk space of a range, which then reads as zeros, like FALLOC_FL_PUNCH_HOLE of fallocate(2).
    func punchHole(at offset: Int, count: Int) throws(SystemError)
    /// Reserves disk space without changing the size, like fallocate(2) with FALLOC_FL_KEEP_SIZE.
    func preallocate(at offset: Int, count: Int) throws(SystemError)
}

extension StorageFile {
    /// The size, for files that do not know their allocation.
    package func allocatedByteCount() throws(SystemError) -> Int { try size() }

    /// Runs `meanwhile` and then reads the usual way, for files without a disk to wait for.
    package func read(
        into buffer: inout MutableRawSpan, at offset: Int, polling reads: PolledReads, meanwhile: () -> Void
    ) throws(SystemError) -> Int {
        meanwhile()
        return try read(into: &buffer, at: offset)
    }

    /// Always true, for files without a disk to wait for.
    package func isAtHand(_ buffer: inout MutableRawSpan, at offset: Int) -> Bool { true }

    /// Always reads, for files without a disk to wait for.
    package func readAtHand(into buffer: inout MutableRawSpan, at offset: Int) throws(SystemError) -> Int? {
        try read(into: &buffer, at: offset)
    }

    /// Does nothing, for files without a disk to wait for.
    package func bringNear(at offset: Int, count: Int) {}

    /// Starts nothing, for files without a disk to wait for.
    package func start(
        _ read: any StartedRead, in flights: ReadsInFlight, into buffer: AlignedBuffer, _ range: Range<Int>,
        at offset: Int
    ) -> Bool { false }
}

/// A directory of the store; names are relative to it.
package protocol StorageDirectory: AnyObject, Sendable {
    /// Opens a file for reading and writing.
    ///
    /// - Throws: ENOENT if it is missing and `create` is false.
    func open(_ name: String, create: Bool) throws(SystemError) -> any StorageFile
    /// Opens a file for reads and writes that bypass the page cache; nil if the file system does not support
    /// that (tmpfs).
    ///
    /// Buffer, offset, and count of each call must be multiples of 4096.
    func openDirect(_ name: String) throws(SystemError) -> (any StorageFile)?
    /// Removes a name, like unlink(2).
    func remove(_ name: String) throws(SystemError)
    /// Whether the name exists.
    func contains(_ name: String) throws(SystemError) -> Bool
    /// The names in it, unordered.
    func list() throws(SystemError) -> [String]
    /// Returns once added and removed names are on disk, like fsync(2) of the directory.
    func sync() throws(SystemError)
    /// Opens a directory in it, and makes it if it is missing.
    func subdirectory(_ name: String) throws(SystemError) -> any StorageDirectory
    /// The space of the file system that it is on.
    func space() throws(SystemError) -> StorageSpace
}

/// The answer of statvfs(3) for a file system.
package struct StorageSpace: Sendable {
    /// Bytes in all, free for root, and free for other users.
    package let total: Int, free: Int, available: Int
    /// Inodes in all, and free ones.
    package let files: Int, freeFiles: Int

    package init(total: Int, free: Int, available: Int, files: Int, freeFiles: Int) {
        self.total = total
        self.free = free
        self.available = available
        self.files = files
        self.freeFiles = freeFiles
    }
}
