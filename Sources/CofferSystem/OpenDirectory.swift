internal import CCofferSystem
internal import Glibc

/// A directory that is held open, so that names are looked up in it even if its path changes.
///
/// Names are single components, and a symbolic link at a name is never followed. All calls may block on the
/// disk, or on the network.
package final class OpenDirectory: Sendable {
    private let descriptor: Descriptor
    /// The path that it was opened at; for messages.
    package let path: String

    /// A name in a directory, and what kind of file readdir(3) reports.
    package struct Entry: Sendable {
        /// The name; bytes that are not UTF-8 are replaced.
        package let name: String
        /// The kind of file; nil if readdir(3) does not report it.
        package let kind: FileStatus.Kind?
    }

    private init(_ descriptor: consuming Descriptor, path: String) {
        self.descriptor = descriptor
        self.path = path
    }

    /// Opens the directory at a path; symbolic links in the path are followed.
    ///
    /// - Parameter followsLink: Whether the path itself may be a symbolic link; otherwise ENOTDIR or ELOOP.
    package static func open(_ path: String, followsLink: Bool = true) throws(SystemError) -> OpenDirectory {
        let options: Descriptor.Options = followsLink ? [] : .noFollow
        return OpenDirectory(try Descriptor.open(path, options.union(.directory)), path: path)
    }

    /// Opens a directory in this one.
    ///
    /// - Throws: ENOTDIR or ELOOP if the name is a symbolic link.
    package func subdirectory(_ name: String) throws(SystemError) -> OpenDirectory {
        let number = try openNumber(name, O_RDONLY | O_DIRECTORY)
        return OpenDirectory(Descriptor(owning: number), path: "\(path)/\(name)")
    }

    /// Makes a directory, with the permissions that the umask leaves; returns true if it was missing.
    @discardableResult
    package func makeSubdirectory(_ name: String) throws(SystemError) -> Bool {
        if unsafe mkdirat(descriptor.number, name, 0o777) == 0 { return true }
        if errno == EEXIST { return false }
        throw .last("mkdir", on: "\(path)/\(name)")
    }

    /// Creates a file for reading and writing, with the permissions that the umask leaves.
    ///
    /// - Throws: EEXIST if the name is taken.
    package func createFile(_ name: String) throws(SystemError) -> POSIXStorageFile {
        let number = try openNumber(name, O_RDWR | O_CREAT | O_EXCL)
        return POSIXStorageFile(Descriptor(owning: number), subject: "\(path)/\(name)")
    }

    /// Opens a file for reading; does not block on a FIFO.
    package func openFile(_ name: String) throws(SystemError) -> POSIXStorageFile {
        let number = try openNumber(name, O_RDONLY | O_NONBLOCK)
        return POSIXStorageFile(Descriptor(owning: number), subject: "\(path)/\(name)")
    }

    private func openNumber(_ name: String, _ flags: Int32) throws(SystemError) -> Int32 {
        try checkingNegative("open", on: "\(path)/\(name)") {
            unsafe coffer_open_at(descriptor.number, name, flags | O_NOFOLLOW | O_CLOEXEC, 0o666)
        }
    }

    /// The status of the file at a name; nil if there is none.
    package func status(of name: String) throws(SystemError) -> FileStatus? {
        var status = stat()
        if unsafe fstatat(descriptor.number, name, &status, AT_SYMLINK_NOFOLLOW) == 0 {
            return FileStatus(status)
        }
        if errno == ENOENT { return nil }
        throw .last("stat", on: "\(path)/\(name)")
    }

    /// The status of this directory.
    package func status() throws(SystemError) -> FileStatus {
        var status = stat()
        try retryingInterrupted("stat", on: path) { unsafe fstat(descriptor.number, &status) }
        return FileStatus(status)
    }

    /// Changes the directory's group, unless `group` is nil, and sets its permissions.
    ///
    /// Uses fchown(2), if the user is allowed to, and fchmod(2).
    package func setAccess(group: UInt32?, _ permissions: UInt32) throws(SystemError) {
        try setFileAccess(descriptor.number, group, permissions, on: path)
    }

    /// Whether the directory has an access control list; if so, the permissions of its group are the mask of
    /// the list.
    package var hasAccessList: Bool {
        unsafe coffer_has_mark(descriptor.number, "system.posix_acl_access") != 0
    }

    /// The access control list that new files in the directory get, as Linux encodes it; nil if there is none.
    ///
    /// Uses fgetxattr(2).
    package var defaultAccessList: [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = unsafe coffer_get_attribute(
            descriptor.number, "system.posix_acl_default", &bytes, bytes.count)
        return count > 0 ? Array(bytes.prefix(count)) : nil
    }

    /// Whether this process may add and remove names in the directory.
    ///
    /// Uses faccessat(2) with AT_EACCESS.
    package var isWritable: Bool {
        unsafe faccessat(descriptor.number, ".", W_OK | X_OK, AT_EACCESS) == 0
    }

    /// Removes everything in the directory.
    func removeContents() throws(SystemError) {
        var names: [String] = []
        try forEach { entry throws(SystemError) in
            names.append(entry.name)
            return true
        }
        for name in names {
            do throws(SystemError) { try removeFile(name) } catch {
                guard error.code == EISDIR || error.code == EPERM else { throw error }
                try subdirectory(name).removeContents()
                try removeSubdirectory(name)
            }
        }
    }

    /// Removes an empty directory; returns false if it was missing, or is not empty.
    @discardableResult
    package func removeSubdirectory(_ name: String) throws(SystemError) -> Bool {
        if unsafe unlinkat(descriptor.number, name, AT_REMOVEDIR) == 0 { return true }
        if [ENOENT, ENOTEMPTY, EEXIST].contains(errno) { return false }
        throw .last("rmdir", on: "\(path)/\(name)")
    }

    /// Gives a file a second name, which must not exist yet.
    ///
    /// Uses link(2).
    package func link(
        _ name: String, to target: OpenDirectory, _ newName: String
    ) throws(SystemError) {
        try retryingInterrupted("link", on: "\(target.path)/\(newName)") {
            unsafe linkat(descriptor.number, name, target.descriptor.number, newName, 0)
        }
    }

    /// Moves a file to a name, and replaces an existing file there.
    ///
    /// Uses rename(2).
    package func rename(
        _ name: String, to target: OpenDirectory, _ newName: String
    ) throws(SystemError) {
        try retryingInterrupted("rename", on: "\(target.path)/\(newName)") {
            unsafe renameat(descriptor.number, name, target.descriptor.number, newName)
        }
    }

    /// Moves a file to a name that must not exist yet.
    ///
    /// Uses renameat2(2) with RENAME_NOREPLACE.
    package func renameExclusively(
        _ name: String, to target: OpenDirectory, _ newName: String
    ) throws(SystemError) {
        try checkingNegative("rename", on: "\(target.path)/\(newName)") {
            unsafe coffer_rename_exclusively(descriptor.number, name, target.descriptor.number, newName)
        }
    }

    /// Removes a file's name; returns false if it was missing.
    @discardableResult
    package func removeFile(_ name: String) throws(SystemError) -> Bool {
        if unsafe unlinkat(descriptor.number, name, 0) == 0 { return true }
        if errno == ENOENT { return false }
        throw .last("unlink", on: "\(path)/\(name)")
    }

    /// Returns once added and removed names are on disk.
    ///
    /// Uses fsync(2).
    package func sync() throws(SystemError) {
        try retryingInterrupted("fsync", on: path) { fsync(descriptor.number) }
    }

    /// The type of the file system, as statfs(2) numbers it.
    package func fileSystemType() throws(SystemError) -> Int64 {
        let type = coffer_file_system_type(descriptor.number)
        guard type >= 0 else { throw SystemError("statfs", code: Int32(-type), on: path) }
        return type
    }

    /// A path by which this process reaches the directory, wherever it has moved.
    var descriptorPath: String { "/proc/self/fd/\(descriptor.number)" }

    /// Calls `body` for each entry except "." and "..", unordered, without collecting them.
    ///
    /// - Parameter body: Returns whether to continue.
    package func forEach(_ body: (Entry) throws(SystemError) -> Bool) throws(SystemError) {
        // Opens a descriptor of its own, since a duplicate would share its position in the directory.
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

/// Changes a descriptor's group, if the user is allowed to, and sets its permissions.
///
/// If the user is not allowed to, the current group keeps its permissions (and the set-group-ID bit).
func setFileAccess(
    _ descriptor: Int32, _ group: UInt32?, _ permissions: UInt32, on path: String
) throws(SystemError) {
    var permissions = permissions
    // The user may give the file only to a group that they are in.
    if let group, fchown(descriptor, uid_t.max, group) != 0 {
        var status = stat()
        try retryingInterrupted("stat", on: path) { unsafe fstat(descriptor, &status) }
        permissions = permissions & ~0o2070 | UInt32(status.st_mode) & 0o2070
    }
    let wanted = permissions
    try retryingInterrupted("chmod", on: path) { fchmod(descriptor, wanted) }
}
