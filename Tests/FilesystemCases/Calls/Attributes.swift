internal import CFilesystemCalls
internal import Glibc

extension Sandbox {
    func changeMode(_ name: String, _ mode: mode_t) throws {
        try check("chmod", Glibc.chmod(path(name), mode))
    }

    /// chown(2); an id of `unchanged` stays as it is.
    func changeOwner(_ name: String, _ owner: uid_t, _ group: gid_t) throws {
        try check("chown", Glibc.chown(path(name), owner, group))
    }

    func changeLinkOwner(_ name: String, _ owner: uid_t, _ group: gid_t) throws {
        try check("lchown", Glibc.lchown(path(name), owner, group))
    }

    /// access(2).
    func access(_ name: String, _ mode: Int32) throws {
        try check("access", Glibc.access(path(name), mode))
    }

    func setTimes(
        _ name: String, accessed: Timestamp, modified: Timestamp, following: Bool = true
    ) throws {
        try check(
            "utimensat",
            linux_set_times(
                AT_FDCWD, path(name), accessed.seconds, accessed.nanoseconds, modified.seconds,
                modified.nanoseconds, following ? 0 : AT_SYMLINK_NOFOLLOW))
    }

    func filesystem(_ name: String = "") throws -> linux_filesystem {
        var filesystem = linux_filesystem()
        try check("statfs", linux_statfs(path(name), &filesystem))
        return filesystem
    }
}

/// The id that tells chown(2) to leave an owner or a group alone.
let unchanged = UInt32.max

/// One of the three times of a file.
enum Stamp: String, CaseIterable {
    case accessed, modified, changed

    func value(_ status: FileStatus) -> Timestamp {
        switch self {
        case .accessed: status.accessed
        case .modified: status.modified
        case .changed: status.changed
        }
    }
}

extension Sandbox {
    /// Requires that an operation advances exactly these times of a name, and leaves its other times alone.
    ///
    /// The access time counts only if it is among `stamps`: mounts differ in when they record it.
    func expectTimes(
        _ name: String, advance stamps: Set<Stamp>, line: UInt = #line, by operation: () throws -> Void
    ) throws {
        let before = try linkStatus(name)
        tick()
        try operation()
        let after = try linkStatus(name)
        for stamp in stamps {
            try expect(
                stamp.value(after) > stamp.value(before), "the \(stamp) time of \(name) did not advance",
                line: line)
        }
        for stamp in [Stamp.modified, .changed] where !stamps.contains(stamp) {
            try expectEqual(
                stamp.value(after), stamp.value(before), "the \(stamp) time of \(name)", line: line)
        }
    }
}
