internal import Glibc

/// What the kernel keeps in memory of files.
package enum PageCache {
    /// Makes the kernel forget the content of a file; what is not on disk yet stays.
    ///
    /// As posix_fadvise(2), POSIX_FADV_DONTNEED. A hint: memory that others use stays, too.
    package static func drop(_ path: String) throws(SystemError) {
        let file = try Descriptor.open(path, .readOnly)
        let code = posix_fadvise(file.number, 0, 0, POSIX_FADV_DONTNEED)
        guard code == 0 else { throw SystemError("posix_fadvise", code: code, on: path) }
    }

    /// The same for all files in a directory, and in those below it.
    package static func dropAll(below path: String) throws(SystemError) {
        for name in try Directory.names(in: path) {
            let child = "\(path)/\(name)"
            var status = stat()
            guard unsafe lstat(child, &status) == 0 else { continue }
            switch status.st_mode & S_IFMT {
            case S_IFDIR: try dropAll(below: child)
            case S_IFREG: try drop(child)
            default: break
            }
        }
    }
}
