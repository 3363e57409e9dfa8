internal import CFilesystemCalls
internal import Glibc

/// An open file; `close()`, or the end of the last reference, closes it.
final class Descriptor {
    private(set) var number: Int32

    init(_ number: Int32) {
        self.number = number
    }

    deinit {
        if number >= 0 { _ = Glibc.close(number) }
    }

    func close() throws {
        let open = number
        number = -1
        try check("close", Glibc.close(open))
    }

    func duplicate() throws -> Descriptor {
        Descriptor(try check("dup", Glibc.dup(number)))
    }

    func status() throws -> FileStatus {
        var fields = linux_status()
        try check("fstat", linux_status_at(number, "", LINUX_AT_EMPTY_PATH, &fields))
        return FileStatus(fields)
    }

    @discardableResult
    func seek(_ offset: Int64, _ whence: Int32 = SEEK_SET) throws -> Int64 {
        Int64(try check("lseek", Glibc.lseek(number, Int(offset), whence)))
    }

    func truncate(_ size: Int64) throws {
        try check("ftruncate", Glibc.ftruncate(number, Int(size)))
    }

    func synchronise() throws {
        try check("fsync", Glibc.fsync(number))
    }

    func synchroniseData() throws {
        try check("fdatasync", Glibc.fdatasync(number))
    }

    func changeMode(_ mode: mode_t) throws {
        try check("fchmod", Glibc.fchmod(number, mode))
    }

    func changeOwner(_ owner: uid_t, _ group: gid_t) throws {
        try check("fchown", Glibc.fchown(number, owner, group))
    }

    func setTimes(accessed: Timestamp, modified: Timestamp) throws {
        try check(
            "futimens",
            linux_set_times(
                number, nil, accessed.seconds, accessed.nanoseconds, modified.seconds, modified.nanoseconds, 0
            ))
    }

    /// fallocate(2).
    func allocate(_ mode: Int32, _ offset: Int64, _ length: Int64) throws {
        try check("fallocate", linux_fallocate(number, mode, offset, length))
    }

    /// The path under which the kernel shows this descriptor.
    var procPath: String { "/proc/self/fd/\(number)" }
}
