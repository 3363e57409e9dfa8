internal import CofferSystem

/// A digest of directories, their names and times, which changes when an object is added, removed, or
/// replaced.
struct FolderFingerprint: Equatable {
    private var digest = 0
    /// The number of directories that are read; further ones are ignored.
    private static let directoryCountMax = 100_000
    private var directoryCount = 0

    /// Reads all directories below a prefix; blocks.
    init(of tree: FolderTree, below prefix: RemotePrefix) {
        guard let root = try? tree.openRoot(), let top = try? tree.open(prefix, in: root) else {
            return
        }
        add(top, prefix)
    }

    private mutating func add(_ directory: OpenDirectory, _ prefix: RemotePrefix) {
        guard directoryCount < Self.directoryCountMax, let status = try? directory.status() else { return }
        directoryCount += 1
        var hasher = Hasher()
        hasher.combine(prefix)
        hasher.combine(status.modified)
        hasher.combine(status.identity)
        // Digests are summed, since directories list their names in no particular order.
        digest &+= hasher.finalize()
        var inner: [String] = []
        try? directory.forEach { entry throws(SystemError) in
            // Names are included, since file times may not advance for milliseconds, or even seconds.
            var hasher = Hasher()
            hasher.combine(prefix)
            hasher.combine(entry.name)
            digest &+= hasher.finalize()
            if entry.kind == .directory || entry.kind == nil { inner.append(entry.name) }
            return inner.count < Self.directoryCountMax
        }
        for name in inner {
            guard let below = prefix.appending(name), let next = try? directory.subdirectory(name) else {
                continue
            }
            add(next, below)
        }
    }
}
