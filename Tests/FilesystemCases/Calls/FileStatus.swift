internal import CFilesystemCalls
internal import Glibc

/// A point in time, as stat(2) returns it.
struct Timestamp: Comparable, CustomStringConvertible {
    var seconds: Int64
    var nanoseconds: Int64 = 0

    /// Leaves the time as it is (utimensat).
    static var omitted: Timestamp { Timestamp(seconds: 0, nanoseconds: LINUX_UTIME_OMIT) }
    /// Sets the time of the call (utimensat).
    static var now: Timestamp { Timestamp(seconds: 0, nanoseconds: LINUX_UTIME_NOW) }

    static func < (left: Timestamp, right: Timestamp) -> Bool {
        (left.seconds, left.nanoseconds) < (right.seconds, right.nanoseconds)
    }

    var description: String { "\(seconds)s+\(nanoseconds)ns" }
}

/// What stat(2) returns for a file.
struct FileStatus {
    private let fields: linux_status

    init(_ fields: linux_status) {
        self.fields = fields
    }

    var device: UInt64 { fields.device }
    var inode: UInt64 { fields.inode }
    var specialDevice: UInt64 { fields.special_device }
    var links: UInt64 { fields.links }
    /// S_IFREG and so on.
    var kind: mode_t { fields.mode & S_IFMT }
    /// The twelve bits that chmod(2) sets.
    var permissions: mode_t { fields.mode & 0o7777 }
    var owner: uid_t { fields.owner }
    var group: gid_t { fields.group }
    var size: Int64 { fields.size }
    /// In units of 512 bytes.
    var blocks: Int64 { fields.blocks }
    var accessed: Timestamp {
        Timestamp(seconds: fields.accessed, nanoseconds: fields.accessed_nanoseconds)
    }
    var modified: Timestamp {
        Timestamp(seconds: fields.modified, nanoseconds: fields.modified_nanoseconds)
    }
    var changed: Timestamp {
        Timestamp(seconds: fields.changed, nanoseconds: fields.changed_nanoseconds)
    }
}

extension Sandbox {
    /// The status of a name; a symbolic link is followed.
    func status(_ name: String) throws -> FileStatus {
        try statusAt(name, flags: 0)
    }

    /// The status of a name itself.
    func linkStatus(_ name: String) throws -> FileStatus {
        try statusAt(name, flags: AT_SYMLINK_NOFOLLOW)
    }

    /// Whether the name itself exists; links are not followed.
    func exists(_ name: String) -> Bool {
        (try? linkStatus(name)) != nil
    }

    private func statusAt(_ name: String, flags: Int32) throws -> FileStatus {
        var fields = linux_status()
        try check("stat", linux_status_at(AT_FDCWD, path(name), flags, &fields))
        return FileStatus(fields)
    }
}
