internal import Glibc

/// The result of a walk through a directory tree.
struct Walk {
    var fileCount = 0
    var directoryCount = 0
    /// The space on disk, in bytes.
    var allocated = 0.0

    /// Lists every directory, and reads the attributes of every file.
    init(_ path: String) throws {
        guard let directory = opendir(path) else { throw Failure(call: "opendir \(path)") }
        try visit(directory, path)
    }

    private mutating func visit(_ directory: OpaquePointer, _ path: String) throws {
        defer { closedir(directory) }
        let descriptor = dirfd(directory)
        while let entry = readdir(directory) {
            // Uses the name in place, because making strings would take much of the time.
            try withUnsafePointer(to: &entry.pointee.d_name) { field in
                try field.withMemoryRebound(to: CChar.self, capacity: 256) { name in
                    if name[0] == 46, name[1] == 0 || (name[1] == 46 && name[2] == 0) { return }
                    try visit(name, in: descriptor, path)
                }
            }
        }
    }

    private mutating func visit(_ name: UnsafePointer<CChar>, in directory: Int32, _ path: String) throws {
        var status = stat()
        if fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) < 0 {
            // A store may change during the walk.
            if errno == ENOENT { return }
            throw Failure(call: "stat \(path)/\(String(cString: name))")
        }
        allocated += Double(status.st_blocks) * 512
        guard status.st_mode & S_IFMT == S_IFDIR else {
            fileCount += 1
            return
        }
        directoryCount += 1
        let child = openat(directory, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard child >= 0, let stream = fdopendir(child) else {
            if errno == ENOENT { return }
            throw Failure(call: "opendir \(path)/\(String(cString: name))")
        }
        try visit(stream, "\(path)/\(String(cString: name))")
    }
}
