internal import CCofferSystem
internal import Glibc

/// A directory that is held open: names are looked up in it, whatever becomes of its path.
///
/// Names are single components. No symbolic link is followed, at none of them. All calls may block on the disk,
/// or on the network behind it.
package final class OpenDirectory: Sendable {
    private let descriptor: Descriptor
    /// Where it was opened; for messages.
    package let path: String

    /// A name in a directory, and what readdir(3) says that it is; nil if it does not say.
    package struct Entry: Sendable {
        /// The name, which may be of any bytes; what is not UTF-8 is replaced.
        package let name: String
        /// What is there.
        package let kind: FileStatus.Kind?
    }

    private init(_ descriptor: consuming Descriptor, path: String) {
        self.descriptor = descriptor
        self.path = path
    }

    /// Opens the directory at a path, in which symbolic links are followed.
    package static func open(_ path: String) throws(SystemError) -> OpenDirectory {
        OpenDirectory(try Descriptor.open(path, [.readOnly, .directory]), path: path)
    }

    /// Opens a directory in this one.
    ///
    /// - Throws: ENOTDIR or ELOOP where a symbolic link is.
    package func subdirectory(_ name: String) throws(SystemError) -> OpenDirectory {
        let number = try openNumber(name, O_RDONLY | O_DIRECTORY)
        return OpenDirectory(Descriptor(owning: number), path: "\(path)/\(name)")
    }

    /// Makes a directory, with the permissions that the umask leaves; true if it was missing.
    @discardableResult
    package func makeSubdirectory(_ name: String) throws(SystemError) -> Bool {
        if unsafe mkdirat(descriptor.number, name, 0o777) == 0 { return true }
        if errno == EEXIST { return false }
        throw .last("mkdir", on: "\(path)/\(name)")
    }

    /// Makes a file that must not be there, for reading and writing, with the permissions that the umask leaves.
    ///
    /// - Throws: EEXIST where the name is taken.
    package func createFile(_ name: String) throws(SystemError) -> POSIXStorageFile {
        let number = try openNumber(name, O_RDWR | O_CREAT | O_EXCL)
        return POSIXStorageFile(Descriptor(owning: number), subject: "\(path)/\(name)")
    }

    /// Opens a file for reading; never waits for the other end of a pipe.
    package func openFile(_ name: String) throws(SystemError) -> POSIXStorageFile {
        let number = try openNumber(name, O_RDONLY | O_NONBLOCK)
        return POSIXStorageFile(Descriptor(owning: number), subject: "\(path)/\(name)")
    }

    private func openNumber(_ name: String, _ flags: Int32) throws(SystemError) -> Int32 {
        try checkingNegative("open", on: "\(path)/\(name)") {
            unsafe coffer_open_at(descriptor.number, name, flags | O_NOFOLLOW | O_CLOEXEC, 0o666)
        }
    }

    /// What is at a name; nil if nothing is.
    package func status(of name: String) throws(SystemError) -> FileStatus? {
        var status = stat()
        if unsafe fstatat(descriptor.number, name, &status, AT_SYMLINK_NOFOLLOW) == 0 {
            return FileStatus(status)
        }
        if errno == ENOENT { return nil }
        throw .last("stat", on: "\(path)/\(name)")
    }

    /// What this directory is.
    package func status() throws(SystemError) -> FileStatus {
        var status = stat()
        try retryingInterrupted("stat", on: path) { unsafe fstat(descriptor.number, &status) }
        return FileStatus(status)
    }

    /// Gives the directory to a group, unless that is nil, and sets its permissions.
    ///
    /// As fchown(2), if the user may, and fchmod(2).
    package func setAccess(group: UInt32?, _ permissions: UInt32) throws(SystemError) {
        try setFileAccess(descriptor.number, group, permissions, on: path)
    }

    /// Whether the directory has an access control list: the permissions of its group are then the mask of that.
    package var hasAccessList: Bool {
        unsafe coffer_has_mark(descriptor.number, "system.posix_acl_access") != 0
    }

    /// Whether this process may make and remove names in the directory.
    ///
    /// As faccessat(2) with AT_EACCESS.
    package var isWritable: Bool {
        unsafe faccessat(descriptor.number, ".", W_OK | X_OK, AT_EACCESS) == 0
    }

    /// Removes an empty directory; false if it was missing, or has something in it.
    @discardableResult
    package func removeSubdirectory(_ name: String) throws(SystemError) -> Bool {
        if unsafe unlinkat(descriptor.number, name, AT_REMOVEDIR) == 0 { return true }
        if [ENOENT, ENOTEMPTY, EEXIST].contains(errno) { return false }
        throw .last("rmdir", on: "\(path)/\(name)")
    }

    /// Gives a file a second name, which must be free.
    ///
    /// As link(2).
    package func link(
        _ name: String, to target: OpenDirectory, _ newName: String
    ) throws(SystemError) {
        try retryingInterrupted("link", on: "\(target.path)/\(newName)") {
            unsafe linkat(descriptor.number, name, target.descriptor.number, newName, 0)
        }
    }

    /// Moves a file to a name, in place of what is there.
    ///
    /// As rename(2).
    package func rename(
        _ name: String, to target: OpenDirectory, _ newName: String
    ) throws(SystemError) {
        try retryingInterrupted("rename", on: "\(target.path)/\(newName)") {
            unsafe renameat(descriptor.number, name, target.descriptor.number, newName)
        }
    }

    /// Moves a file to a name that must be free.
    ///
    /// As renameat2(2), RENAME_NOREPLACE.
    package func renameExclusively(
        _ name: String, to target: OpenDirectory, _ newName: String
    ) throws(SystemError) {
        try checkingNegative("rename", on: "\(target.path)/\(newName)") {
            unsafe coffer_rename_exclusively(descriptor.number, name, target.descriptor.number, newName)
        }
    }

    /// Removes a file's name; false if it was missing.
    @discardableResult
    package func removeFile(_ name: String) throws(SystemError) -> Bool {
        if unsafe unlinkat(descriptor.number, name, 0) == 0 { return true }
        if errno == ENOENT { return false }
        throw .last("unlink", on: "\(path)/\(name)")
    }

    /// Returns once names that were made or removed are on disk.
    ///
    /// As fsync(2).
    package func sync() throws(SystemError) {
        try retryingInterrupted("fsync", on: path) { fsync(descriptor.number) }
    }

    /// The number that statfs(2) gives to the kind of file system.
    package func fileSystemType() throws(SystemError) -> Int64 {
        let type = coffer_file_system_type(descriptor.number)
        guard type >= 0 else { throw SystemError("statfs", code: Int32(-type), on: path) }
        return type
    }

    /// A path by which this process reaches the directory, wherever it is now.
    var descriptorPath: String { "/proc/self/fd/\(descriptor.number)" }

    /// Tells all entries but "." and "..", unordered, without keeping them.
    ///
    /// - Parameter body: Answers whether to go on.
    package func forEach(_ body: (Entry) throws(SystemError) -> Bool) throws(SystemError) {
        // A descriptor of its own: those that are copied share their place in the directory.
        let number = try openNumber(".", O_RDONLY | O_DIRECTORY)
        guard let stream = unsafe fdopendir(number) else {
            let error = SystemError.last("opendir", on: path)
            close(number)
            throw error
        }
        defer { unsafe closedir(stream) }
        while true {
            errno = 0
            guard let entry = unsafe readdir(stream) else { break }
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { field in
                // SAFETY: d_name is NUL-terminated within its 256 bytes.
                unsafe field.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if name == "." || name == ".." { continue }
            guard try body(Entry(name: name, kind: unsafe Self.kind(entry.pointee.d_type))) else { return }
        }
        if errno != 0 { throw .last("readdir", on: path) }
    }

    private static func kind(_ type: UInt8) -> FileStatus.Kind? {
        switch Int(type) {
        case Int(DT_REG): .regular
        case Int(DT_DIR): .directory
        case Int(DT_LNK): .symbolicLink
        case Int(DT_UNKNOWN): nil
        default: .other
        }
    }
}

/// Gives what is open to a group, as far as the user may, and sets its permissions.
///
/// Where the user may not, the group that it has gets no more than it had.
func setFileAccess(
    _ descriptor: Int32, _ group: UInt32?, _ permissions: UInt32, on path: String
) throws(SystemError) {
    var permissions = permissions
    // Only to a group that the user is in.
    if let group, fchown(descriptor, uid_t.max, group) != 0 {
        var status = stat()
        try retryingInterrupted("stat", on: path) { unsafe fstat(descriptor, &status) }
        permissions = permissions & ~0o2070 | UInt32(status.st_mode) & 0o2070
    }
    let wanted = permissions
    try retryingInterrupted("chmod", on: path) { fchmod(descriptor, wanted) }
}
