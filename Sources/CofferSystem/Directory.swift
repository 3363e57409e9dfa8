internal import Glibc

/// Operations on directories, and on names in them, by path.
package enum Directory {
    /// The names in a directory, unordered, without "." and "..".
    package static func names(in path: String) throws(SystemError) -> [String] {
        guard let stream = unsafe opendir(path) else { throw .last("opendir", on: path) }
        defer { unsafe closedir(stream) }
        var names: [String] = []
        while true {
            errno = 0
            guard let entry = unsafe readdir(stream) else { break }
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { field in
                // SAFETY: d_name is NUL-terminated within its 256 bytes.
                unsafe field.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if name != "." && name != ".." { names.append(name) }
        }
        if errno != 0 { throw .last("readdir", on: path) }
        return names
    }

    /// Makes a directory; returns true if it was missing.
    @discardableResult
    package static func make(_ path: String, mode: UInt32 = 0o700) throws(SystemError) -> Bool {
        if unsafe mkdir(path, mode) == 0 { return true }
        if errno == EEXIST { return false }
        throw .last("mkdir", on: path)
    }

    /// Makes a directory accessible to its owner only.
    ///
    /// chmod(2) with mode 0700.
    package static func makePrivate(_ path: String) throws(SystemError) {
        try retryingInterrupted("chmod", on: path) { unsafe chmod(path, 0o700) }
    }

    /// Makes a directory, and missing parents with mode 0700.
    package static func makeAll(_ path: String, mode: UInt32 = 0o700) throws(SystemError) {
        if exists(path) { return }
        let parent = parent(of: path)
        if parent != path { try makeAll(parent, mode: 0o700) }
        try make(path, mode: mode)
    }

    /// The path without its last component.
    package static func parent(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Whether there is anything at `path`, including a dangling symbolic link.
    package static func exists(_ path: String) -> Bool {
        unsafe faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0
    }

    /// Whether there is a directory at `path`, or a symbolic link to one.
    package static func isDirectory(_ path: String) -> Bool {
        var status = stat()
        return unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// Removes a directory with everything in it.
    ///
    /// Does not follow symbolic links, and removes only the link if `path` is one, even if others put it there meanwhile.
    package static func removeAll(_ path: String) throws(SystemError) {
        if unsafe unlink(path) == 0 { return }
        guard errno == EISDIR || errno == EPERM else { throw .last("unlink", on: path) }
        try OpenDirectory.open(path, followsLink: false).removeContents()
        try retryingInterrupted("rmdir", on: path) { unsafe rmdir(path) }
    }

    /// Bytes that the files below a directory take up on disk.
    package static func allocatedByteCount(_ path: String) throws(SystemError) -> Int64 {
        var sum: Int64 = 0
        for name in try names(in: path) {
            let child = "\(path)/\(name)"
            var status = stat()
            // Files that have vanished in the meantime take up nothing.
            guard unsafe lstat(child, &status) == 0 else { continue }
            sum += Int64(status.st_blocks) * 512
            if status.st_mode & S_IFMT == S_IFDIR { sum += try allocatedByteCount(child) }
        }
        return sum
    }

    /// Makes a path absolute: a relative one starts at the working directory.
    ///
    /// Symbolic links, and components such as “..”, stay as they are; the path need not exist.
    package static func absolute(_ path: String) -> String {
        if path.hasPrefix("/") { return path }
        guard let working = unsafe getcwd(nil, 0) else { return path }
        defer { unsafe free(working) }
        let directory = unsafe String(cString: working)
        return directory == "/" ? "/\(path)" : "\(directory)/\(path)"
    }

    /// The absolute path with all symbolic links resolved.
    ///
    /// The corresponding C function is realpath(3).
    package static func resolve(_ path: String) throws(SystemError) -> String {
        guard let resolved = unsafe realpath(path, nil) else { throw .last("realpath", on: path) }
        defer { unsafe free(resolved) }
        return unsafe String(cString: resolved)
    }

    /// The target of a symbolic link; nil if it cannot be read.
    ///
    /// The corresponding C function is readlink(2).
    package static func linkTarget(_ path: String) -> String? {
        var target = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = unsafe readlink(path, &target, target.count)
        guard count >= 0 else { return nil }
        return String(decoding: target.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Removes a file's name; a missing one is not an error.
    package static func removeFile(_ path: String) throws(SystemError) {
        if unsafe unlink(path) != 0, errno != ENOENT { throw .last("unlink", on: path) }
    }
}
