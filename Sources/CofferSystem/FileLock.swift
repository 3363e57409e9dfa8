internal import Glibc

/// An exclusive advisory lock on a file, held until this value is destroyed.
///
/// The corresponding C function is flock(2).
package struct FileLock: ~Copyable, Sendable {
    private let descriptor: Descriptor
    private let path: String

    /// Takes the lock, or returns nil if another process holds it.
    ///
    /// On a read-only filesystem, which cannot hold a note, the file is opened for reading; if it is missing,
    /// its directory is locked instead.
    package static func take(_ path: String) throws(SystemError) -> FileLock? {
        let descriptor = try open(path)
        do throws(SystemError) {
            try retryingInterrupted("flock", on: path) { flock(descriptor.number, LOCK_EX | LOCK_NB) }
        } catch  where error.code == EWOULDBLOCK {
            return nil
        }
        return FileLock(descriptor: descriptor, path: path)
    }

    private static func open(_ path: String) throws(SystemError) -> Descriptor {
        do throws(SystemError) {
            return try Descriptor.open(path, [.readWrite, .create, .noFollow])
        } catch  where error.code == EROFS {
            do throws(SystemError) {
                return try Descriptor.open(path, [.readOnly, .noFollow])
            } catch  where error.code == ENOENT {
                return try Descriptor.open(Directory.parent(of: path), [.readOnly, .directory])
            }
        }
    }

    private init(descriptor: consuming Descriptor, path: String) {
        self.descriptor = descriptor
        self.path = path
    }

    /// Takes over a lock whose descriptor this process inherited from its parent.
    package init(owning descriptor: consuming Descriptor) {
        self.descriptor = descriptor
        path = "lock"
    }

    /// The descriptor that carries the lock: a process that inherits it holds the lock, too.
    package var number: Int32 { descriptor.number }

    /// The device and inode number of the locked file.
    package func identity() throws(SystemError) -> FileIdentity {
        var status = stat()
        try retryingInterrupted("stat", on: path) { unsafe fstat(descriptor.number, &status) }
        return FileIdentity(device: UInt64(status.st_dev), number: UInt64(status.st_ino))
    }

    /// Whether the file is on a read-only filesystem, and holds no note.
    package var isReadOnly: Bool { fcntl(descriptor.number, F_GETFL) & O_ACCMODE == O_RDONLY }

    /// Writes a note into the file for processes that find it locked: who holds it, how to reach the holder.
    ///
    /// Does nothing on a read-only filesystem.
    package func setNote(_ note: String) throws(SystemError) {
        if isReadOnly { return }
        let bytes = Array(note.utf8)
        // Overwrites first and shortens last: on a full disk, a block that was freed may not be available
        // again.
        try retryingInterrupted("write", on: path) {
            unsafe pwrite(descriptor.number, bytes, bytes.count, 0)
        }
        var status = stat()
        try retryingInterrupted("stat", on: path) { unsafe fstat(descriptor.number, &status) }
        guard status.st_size > bytes.count else { return }
        try retryingInterrupted("truncate", on: path) { ftruncate(descriptor.number, bytes.count) }
    }
}
