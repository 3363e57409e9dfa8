/// A file of the store: the seam at which tests lose writes, tear them and make calls fail.
///
/// Offsets and counts are in bytes. Every call may block on local disk.
package protocol StorageFile: AnyObject, Sendable {
    /// Reads up to `buffer.byteCount` bytes at `offset`; fewer only at the end of the file. As pread(2).
    func read(into buffer: inout MutableRawSpan, at offset: Int) throws(SystemError) -> Int
    /// Reads as the call above, from a file opened with `openDirect`, and runs `meanwhile` once while the disk works.
    func read(
        into buffer: inout MutableRawSpan, at offset: Int, polling reads: PolledReads, meanwhile: () -> Void
    ) throws(SystemError) -> Int
    /// Writes all bytes at `offset`. As pwrite(2).
    func write(_ bytes: RawSpan, at offset: Int) throws(SystemError)
    /// As fstat(2), st_size.
    func size() throws(SystemError) -> Int
    /// Bytes that it takes on the disk. As fstat(2), st_blocks.
    func allocatedByteCount() throws(SystemError) -> Int
    /// As ftruncate(2).
    func truncate(to size: Int) throws(SystemError)
    /// Returns once contents, and the metadata needed to read them, are on disk. As fdatasync(2).
    func dataSync() throws(SystemError)
    /// Starts writing a range to disk without waiting; promises nothing. As sync_file_range(2).
    func startWriteback(at offset: Int, count: Int)
    /// Gives the disk space of a range back; it reads as zeros. As fallocate(2), FALLOC_FL_PUNCH_HOLE.
    func punchHole(at offset: Int, count: Int) throws(SystemError)
    /// Reserves disk space without changing the size. As fallocate(2), FALLOC_FL_KEEP_SIZE.
    func preallocate(at offset: Int, count: Int) throws(SystemError)
}

extension StorageFile {
    /// Its size, where nothing else is known.
    package func allocatedByteCount() throws(SystemError) -> Int { try size() }

    /// Runs `meanwhile` and reads the usual way, where there is no disk to wait for.
    package func read(
        into buffer: inout MutableRawSpan, at offset: Int, polling reads: PolledReads, meanwhile: () -> Void
    ) throws(SystemError) -> Int {
        meanwhile()
        return try read(into: &buffer, at: offset)
    }
}

/// A directory of the store, by name relative to it.
package protocol StorageDirectory: AnyObject, Sendable {
    /// Opens a file for reading and writing.
    ///
    /// - Throws: ENOENT where it is missing and `create` is false.
    func open(_ name: String, create: Bool) throws(SystemError) -> any StorageFile
    /// Opens a file for reads and writes that pass the kernel's page cache by; buffer, offset and count must be
    /// multiples of 4096. Nil where the file system under it cannot (tmpfs).
    func openDirect(_ name: String) throws(SystemError) -> (any StorageFile)?
    /// As unlink(2).
    func remove(_ name: String) throws(SystemError)
    /// Whether the name exists.
    func contains(_ name: String) throws(SystemError) -> Bool
    /// The names in it, unordered.
    func list() throws(SystemError) -> [String]
    /// Returns once names that were made or removed are on disk. As fsync(2) of the directory.
    func sync() throws(SystemError)
    /// A directory in it, made if missing.
    func subdirectory(_ name: String) throws(SystemError) -> any StorageDirectory
    /// Space of the file system that it is on.
    func space() throws(SystemError) -> StorageSpace
}

/// What statvfs(3) says of a file system.
package struct StorageSpace: Sendable {
    /// Bytes in all, free for root, and free for others.
    package let total: Int, free: Int, available: Int
    /// Inodes in all, and free.
    package let files: Int, freeFiles: Int

    package init(total: Int, free: Int, available: Int, files: Int, freeFiles: Int) {
        self.total = total
        self.free = free
        self.available = available
        self.files = files
        self.freeFiles = freeFiles
    }
}
