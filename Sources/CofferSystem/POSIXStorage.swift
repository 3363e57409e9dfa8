internal import CCofferSystem
internal import Glibc

/// A directory of the store on a real file system.
package final class POSIXStorageDirectory: StorageDirectory {
    private let path: String
    private let descriptor: Descriptor
    private let isReadOnly: Bool

    /// Opens an existing directory.
    ///
    /// - Parameters:
    ///   - followsLink: Whether `path` may be a symbolic link.
    ///   - isReadOnly: Whether nothing is written; true for a directory on a read-only filesystem. A file
    ///     that would be created is then a temporary one without a name.
    package init(path: String, followsLink: Bool = false, isReadOnly: Bool = false) throws(SystemError) {
        self.path = path
        self.isReadOnly = isReadOnly
        descriptor = try Descriptor.open(
            path, followsLink ? [.readOnly, .directory] : [.readOnly, .directory, .noFollow])
    }

    package func open(_ name: String, create: Bool) throws(SystemError) -> any StorageFile {
        guard isReadOnly else { return try openFile(name, O_RDWR | O_NOFOLLOW | (create ? O_CREAT : 0)) }
        do throws(SystemError) {
            return try openFile(name, O_RDONLY | O_NOFOLLOW)
        } catch  where error.code == ENOENT && create {
            return POSIXStorageFile(try Self.makeTemporary(), subject: "\(path)/\(name)")
        }
    }

    /// Opens an empty file without a name.
    ///
    /// The corresponding C function is tmpfile(3).
    private static func makeTemporary() throws(SystemError) -> Descriptor {
        guard let file = unsafe tmpfile() else { throw .last("tmpfile") }
        defer { unsafe fclose(file) }
        return try Descriptor.copy(of: unsafe fileno(file))
    }

    package func openDirect(_ name: String) throws(SystemError) -> (any StorageFile)? {
        do {
            return try openFile(name, (isReadOnly ? O_RDONLY : O_RDWR) | O_NOFOLLOW | coffer_O_DIRECT)
        } catch  where error.code == EINVAL {
            return nil
        }
    }

    private func openFile(_ name: String, _ flags: Int32) throws(SystemError) -> POSIXStorageFile {
        let subject = "\(path)/\(name)"
        let number = try checkingNegative("open", on: subject) {
            unsafe coffer_open_at(descriptor.number, name, flags | O_CLOEXEC, 0o600)
        }
        return POSIXStorageFile(Descriptor(owning: number), subject: subject)
    }

    package func remove(_ name: String) throws(SystemError) {
        try retryingInterrupted("unlink", on: "\(path)/\(name)") {
            unsafe unlinkat(descriptor.number, name, 0)
        }
    }

    package func contains(_ name: String) throws(SystemError) -> Bool {
        if unsafe faccessat(descriptor.number, name, F_OK, 0) == 0 { return true }
        if errno == ENOENT { return false }
        throw .last("access", on: "\(path)/\(name)")
    }

    package func list() throws(SystemError) -> [String] {
        try Directory.names(in: path)
    }

    package func sync() throws(SystemError) {
        try retryingInterrupted("fsync", on: path) { fsync(descriptor.number) }
    }

    package func subdirectory(_ name: String) throws(SystemError) -> any StorageDirectory {
        if unsafe mkdirat(descriptor.number, name, 0o700) == 0 {
            try sync()
        } else if errno != EEXIST {
            throw .last("mkdir", on: "\(path)/\(name)")
        }
        return try POSIXStorageDirectory(path: "\(path)/\(name)", isReadOnly: isReadOnly)
    }

    package func space() throws(SystemError) -> StorageSpace {
        var result = statvfs()
        try retryingInterrupted("statvfs", on: path) { unsafe fstatvfs(descriptor.number, &result) }
        let unit = Int(result.f_frsize)
        return StorageSpace(
            total: Int(result.f_blocks) * unit, free: Int(result.f_bfree) * unit,
            available: Int(result.f_bavail) * unit,
            files: Int(result.f_files), freeFiles: Int(result.f_favail))
    }
}

/// An open file of the store on a real file system.
package final class POSIXStorageFile: StorageFile {
    private let descriptor: Descriptor
    private let subject: String

    init(_ descriptor: consuming Descriptor, subject: String) {
        self.descriptor = descriptor
        self.subject = subject
    }

    /// Changes the file's group, unless `group` is nil, and sets its permissions.
    ///
    /// Uses fchown(2), if the user is allowed to, and fchmod(2).
    package func setAccess(group: UInt32?, _ permissions: UInt32) throws(SystemError) {
        try setFileAccess(descriptor.number, group, permissions, on: subject)
    }

    package func read(into buffer: inout MutableRawSpan, at offset: Int) throws(SystemError) -> Int {
        let number = descriptor.number
        let subject = subject
        var done = 0
        let wanted = buffer.byteCount
        while done < wanted {
            let count = try unsafe buffer.withUnsafeMutableBytes { bytes throws(SystemError) -> Int in
                // SAFETY: `done` is less than the buffer's count, and the buffer outlives the call.
                try retryingInterrupted("read", on: subject) {
                    unsafe pread(number, bytes.baseAddress?.advanced(by: done), wanted - done, offset + done)
                }
            }
            if count == 0 { break }
            done += count
        }
        return done
    }

    package func read(
        into buffer: inout MutableRawSpan, at offset: Int, polling reads: PolledReads, meanwhile: () -> Void
    ) throws(SystemError) -> Int {
        let count = try reads.read(
            descriptor.number, into: &buffer, at: offset, meanwhile: meanwhile, subject: subject)
        return if let count { count } else { try read(into: &buffer, at: offset) }
    }

    package func start(
        _ read: any StartedRead, in flights: ReadsInFlight, into buffer: AlignedBuffer, _ range: Range<Int>,
        at offset: Int
    ) -> Bool {
        flights.start(read, descriptor.number, into: buffer, range, at: offset)
    }

    package func isAtHand(_ buffer: inout MutableRawSpan, at offset: Int) -> Bool {
        let number = descriptor.number
        return unsafe buffer.withUnsafeMutableBytes { bytes in
            let count = unsafe coffer_read_at_hand(number, bytes.baseAddress, bytes.count, offset)
            // Where the file system cannot say, nothing is gained by asking again.
            return count < 0 ? count != -Int(EAGAIN) : count == bytes.count
        }
    }

    package func readAtHand(into buffer: inout MutableRawSpan, at offset: Int) throws(SystemError) -> Int? {
        let number = descriptor.number
        let wanted = buffer.byteCount
        var done = 0
        while done < wanted {
            let count = unsafe buffer.withUnsafeMutableBytes { bytes in
                // SAFETY: `done` is less than the buffer's count, and the buffer outlives the call.
                unsafe coffer_read_at_hand(
                    number, bytes.baseAddress?.advanced(by: done), wanted - done, offset + done)
            }
            if count == -Int(EAGAIN) { return nil }
            // The kernel, a sandbox, or the file system knows no such reads; or a signal came, or the disk failed. At
            // the end of the file the count is 0; Linux 5.9 and 5.10 also return that for a page that is not in memory.
            if count <= 0 { return try read(into: &buffer, at: offset) }
            done += count
        }
        return done
    }

    package func bringNear(at offset: Int, count: Int) {
        posix_fadvise(descriptor.number, offset, count, POSIX_FADV_WILLNEED)
    }

    package func write(_ bytes: RawSpan, at offset: Int) throws(SystemError) {
        let number = descriptor.number
        let subject = subject
        var done = 0
        while done < bytes.byteCount {
            done += try unsafe bytes.withUnsafeBytes { raw throws(SystemError) -> Int in
                // SAFETY: `done` is less than the buffer's count, and the buffer outlives the call.
                try retryingInterrupted("write", on: subject) {
                    unsafe pwrite(
                        number, raw.baseAddress?.advanced(by: done), raw.count - done, offset + done)
                }
            }
        }
    }

    /// Writes the whole pages of a buffer's first `count` bytes to the beginning of the file, past the page
    /// cache.
    ///
    /// Sets O_DIRECT during the call, so nothing else may use the file meanwhile.
    ///
    /// - Returns: The number of bytes written; 0 if the file system does not support O_DIRECT.
    package func writeDirectly(_ buffer: AlignedBuffer, count: Int) throws(SystemError) -> Int {
        let whole = count & ~4095
        return try directly {
            () throws(SystemError) in
            try buffer.withBytes(0..<whole) { bytes throws(SystemError) in try write(bytes, at: 0) }
            return whole
        } ?? 0
    }

    /// Reads the whole pages that contain a range, past the page cache if the file system supports O_DIRECT.
    ///
    /// Sets O_DIRECT during the call, so nothing else may use this descriptor meanwhile.
    ///
    /// - Parameter buffer: Has room for the range and two pages.
    /// - Returns: Which bytes of the buffer are the range; fewer than `range.count` at the end of the file.
    package func readDirectly(
        _ range: Range<Int>, into buffer: AlignedBuffer
    ) throws(SystemError) -> Range<Int> {
        let pages = range.lowerBound & ~4095..<(range.upperBound + 4095) & ~4095
        func readPages() throws(SystemError) -> Int {
            try buffer.withMutableBytes(0..<pages.count) { bytes throws(SystemError) in
                try read(into: &bytes, at: pages.lowerBound)
            }
        }
        let count = try directly(readPages)
        let got = if let count { count } else { try readPages() }
        let start = range.lowerBound - pages.lowerBound
        return start..<max(start, min(start + range.count, got))
    }

    /// Runs calls that bypass the page cache; nil if the file system does not support O_DIRECT.
    private func directly(_ body: () throws(SystemError) -> Int) throws(SystemError) -> Int? {
        guard coffer_set_direct(descriptor.number, 1) == 0 else { return nil }
        defer { _ = coffer_set_direct(descriptor.number, 0) }
        do throws(SystemError) {
            return try body()
        } catch {
            guard error.code == EINVAL else { throw error }
            return nil
        }
    }

    package func size() throws(SystemError) -> Int { try rawStatus().st_size }

    package func allocatedByteCount() throws(SystemError) -> Int { try rawStatus().st_blocks * 512 }

    package func truncate(to size: Int) throws(SystemError) {
        try retryingInterrupted("truncate", on: subject) { ftruncate(descriptor.number, size) }
    }

    /// The status of the file.
    package func status() throws(SystemError) -> FileStatus { FileStatus(try rawStatus()) }

    private func rawStatus() throws(SystemError) -> stat {
        var status = stat()
        try retryingInterrupted("stat", on: subject) { unsafe fstat(descriptor.number, &status) }
        return status
    }

    /// Takes an exclusive lock that belongs to this open file; false if another open file holds it.
    ///
    /// Uses flock(2). Returns true, too, if the file system does not support locks.
    package func lock() -> Bool {
        flock(descriptor.number, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK
    }

    package func dataSync() throws(SystemError) {
        try retryingInterrupted("fdatasync", on: subject) { fdatasync(descriptor.number) }
    }

    /// Makes the file system send data that it holds back until a file is closed, and throws if that fails.
    ///
    /// Closes a duplicate of the descriptor with close(2). Some network file systems send nothing before
    /// that, even on fsync.
    package func flush() throws(SystemError) {
        let copy = fcntl(descriptor.number, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { throw SystemError("fcntl", code: errno, on: subject) }
        // close(2) always frees the descriptor, even if it fails, so it is never repeated.
        guard close(copy) == 0 else { throw SystemError("close", code: errno, on: subject) }
    }

    package func startWriteback(at offset: Int, count: Int) {
        _ = coffer_start_writeback(descriptor.number, offset, count)
    }

    package func punchHole(at offset: Int, count: Int) throws(SystemError) {
        try checkingNegative("fallocate", on: subject) { coffer_punch_hole(descriptor.number, offset, count) }
    }

    package func preallocate(at offset: Int, count: Int) throws(SystemError) {
        try checkingNegative("fallocate", on: subject) {
            coffer_preallocate(descriptor.number, offset, count)
        }
    }
}
