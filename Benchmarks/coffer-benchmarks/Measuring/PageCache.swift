internal import Glibc

/// The kernel's cache of files, names and attributes.
enum PageCache {
    /// Only root may drop it.
    static var canBeDropped: Bool { access("/proc/sys/vm/drop_caches", W_OK) == 0 }

    /// Writes everything to the disk, and drops all cached data that is not in use.
    static func drop() throws {
        sync()
        let file = try check(open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC), "open drop_caches")
        defer { close(file) }
        try check(write(file, "3", 1), "write drop_caches")
    }
}
