internal import Glibc

/// The file contents that the kernel keeps in memory.
package enum PageCache {
    /// Makes the kernel drop the content of a file from memory, except what is not on disk yet.
    ///
    /// Uses posix_fadvise(2) with POSIX_FADV_DONTNEED. A hint: pages that other processes use stay, too.
    package static func drop(_ path: String) throws(SystemError) {
        let file = try Descriptor.open(path, .readOnly)
        let code = posix_fadvise(file.number, 0, 0, POSIX_FADV_DONTNEED)
        guard code == 0 else { throw SystemError("posix_fadvise", code: code, on: path) }
    }

    /// Drops the contents of all files below a directory.
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
