internal import Glibc

/// An exclusive advisory lock on a file, held until this value is destroyed.
///
/// The corresponding C function is flock(2).
package struct FileLock: ~Copyable, Sendable {
    private let descriptor: Descriptor
    private let path: String

    /// Takes the lock, or returns nil if another process holds it.
    package static func take(_ path: String) throws(SystemError) -> FileLock? {
        let descriptor = try Descriptor.open(path, [.readWrite, .create, .noFollow])
        do throws(SystemError) {
            try retryingInterrupted("flock", on: path) { flock(descriptor.number, LOCK_EX | LOCK_NB) }
        } catch  where error.code == EWOULDBLOCK {
            return nil
        }
        return FileLock(descriptor: descriptor, path: path)
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

    /// Writes a note into the file for processes that find it locked: who holds it, how to reach the holder.
    package func setNote(_ note: String) throws(SystemError) {
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
