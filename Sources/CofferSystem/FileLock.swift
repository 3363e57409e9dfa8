internal import Glibc

/// An exclusive advisory lock on a file, held until this value goes away.
///
/// As flock(2).
package struct FileLock: ~Copyable, Sendable {
    private let descriptor: Descriptor
    private let path: String

    /// Takes the lock, or returns nil when another process holds it.
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

    /// Takes over a lock that came with a descriptor from the process that started this one.
    package init(owning descriptor: consuming Descriptor) {
        self.descriptor = descriptor
        path = "lock"
    }

    /// The descriptor that the lock hangs on: whoever inherits it holds the lock too.
    package var number: Int32 { descriptor.number }

    /// Which file it is.
    package func identity() throws(SystemError) -> FileIdentity {
        var status = stat()
        try retryingInterrupted("stat", on: path) { unsafe fstat(descriptor.number, &status) }
        return FileIdentity(device: UInt64(status.st_dev), number: UInt64(status.st_ino))
    }

    /// Leaves a note in the file for those who find it locked (who holds it, how to reach them).
    package func setNote(_ note: String) throws(SystemError) {
        let bytes = Array(note.utf8)
        // Over what was there: on a full disk, a block that was given back may be gone.
        try retryingInterrupted("write", on: path) {
            unsafe pwrite(descriptor.number, bytes, bytes.count, 0)
        }
        var status = stat()
        try retryingInterrupted("stat", on: path) { unsafe fstat(descriptor.number, &status) }
        guard status.st_size > bytes.count else { return }
        try retryingInterrupted("truncate", on: path) { ftruncate(descriptor.number, bytes.count) }
    }
}
