internal import CCofferSystem
internal import Glibc

/// Small files, read and replaced as a whole.
package enum WholeFile {
    /// All bytes of a file.
    ///
    /// - Parameter limit: The largest size to accept; a longer file throws EFBIG.
    package static func read(_ path: String, limit: Int) throws(SystemError) -> [UInt8] {
        let descriptor = try Descriptor.open(path, .readOnly)
        return try read(descriptor: descriptor.number, limit: limit, subject: path)
    }

    /// All bytes until the end of an open descriptor, which stays open.
    package static func read(
        descriptor: Int32, limit: Int, subject: String
    ) throws(SystemError) -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = try retryingInterrupted("read", on: subject) {
                unsafe Glibc.read(descriptor, &chunk, chunk.count)
            }
            if count == 0 { return bytes }
            bytes.append(contentsOf: chunk[..<count])
            if bytes.count > limit { throw SystemError("read", code: EFBIG, on: subject) }
        }
    }

    /// Replaces a file so that after a crash it is either wholly old or wholly new.
    ///
    /// Writes a temporary file beside it, syncs it, renames it, and syncs the directory.
    package static func replace(_ path: String, with bytes: [UInt8]) throws(SystemError) {
        let temporary = "\(path).new"
        do throws(SystemError) {
            let descriptor = try Descriptor.open(temporary, [.writeOnly, .create, .truncate, .noFollow])
            try writeAll(bytes, to: descriptor.number, subject: temporary)
            try retryingInterrupted("fsync", on: temporary) { fsync(descriptor.number) }
            try move(temporary, to: path)
        } catch {
            _ = unsafe unlink(temporary)
            throw error
        }
    }

    /// Writes a new file, which only this user can read, in the directory of a path that a user chose, and
    /// syncs it.
    ///
    /// - Returns: The path of the new file, whose name no other file has; `move` gives it the chosen one.
    package static func writeNew(beside path: String, _ bytes: [UInt8]) throws(SystemError) -> String {
        let number = UInt64.random(in: .min ... .max)
        let temporary = "\(Directory.parent(of: path))/.coffer-\(String(number, radix: 16))"
        try create(temporary, bytes)
        return temporary
    }

    /// Creates a file where none is, and syncs it; removes it again if it cannot be written whole.
    package static func create(_ path: String, _ bytes: [UInt8]) throws(SystemError) {
        let descriptor = try Descriptor.open(path, [.writeOnly, .create, .exclusive, .noFollow])
        do throws(SystemError) {
            try writeAll(bytes, to: descriptor.number, subject: path)
            try retryingInterrupted("fsync", on: path) { fsync(descriptor.number) }
        } catch {
            _ = unsafe unlink(path)
            throw error
        }
    }

    /// Gives a new file the place of another, and syncs the directory.
    package static func move(_ temporary: String, to path: String) throws(SystemError) {
        try retryingInterrupted("rename", on: path) { unsafe rename(temporary, path) }
        try syncParent(of: path)
    }

    /// Gives a new file a name, and syncs the directory.
    ///
    /// - Throws: EEXIST if the name is taken; a file system that cannot tell, such as NFS, replaces what is there.
    package static func moveExclusively(_ temporary: String, to path: String) throws(SystemError) {
        let result = unsafe coffer_rename_exclusively(AT_FDCWD, temporary, AT_FDCWD, path)
        if result == -EINVAL || result == -ENOSYS { return try move(temporary, to: path) }
        guard result == 0 else { throw SystemError("rename", code: -result, on: path) }
        try syncParent(of: path)
    }

    private static func syncParent(of path: String) throws(SystemError) {
        let directory = try Descriptor.open(Directory.parent(of: path), [.readOnly, .directory])
        try retryingInterrupted("fsync", on: path) { fsync(directory.number) }
    }

    /// Overwrites the beginning of a small file in place, which needs no space on a full disk; creates it if
    /// it is missing.
    ///
    /// A crash may leave a mixture of old and new bytes.
    package static func overwrite(_ path: String, with bytes: [UInt8]) throws(SystemError) {
        do throws(SystemError) {
            let descriptor = try Descriptor.open(path, [.writeOnly, .noFollow])
            try writeAll(bytes, to: descriptor.number, subject: path)
            try retryingInterrupted("fdatasync", on: path) { fdatasync(descriptor.number) }
        } catch  where error.code == ENOENT {
            try replace(path, with: bytes)
        }
    }

    /// Writes all bytes at the current position of an open descriptor.
    ///
    /// - Throws: EPIPE, without the signal, for a pipe or socket that nobody reads any more.
    package static func writeAll(
        _ bytes: [UInt8], to descriptor: Int32, subject: String
    ) throws(SystemError) {
        var done = 0
        while done < bytes.count {
            done += try retryingInterrupted("write", on: subject) {
                // SAFETY: `done` is less than the count of the array, which is borrowed for the call.
                unsafe bytes.withUnsafeBytes { raw in
                    unsafe coffer_write_quietly(
                        descriptor, raw.baseAddress?.advanced(by: done), raw.count - done)
                }
            }
        }
    }
}
