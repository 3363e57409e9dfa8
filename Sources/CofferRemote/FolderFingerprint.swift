internal import CofferSystem

/// What changes when an object comes, goes or is replaced: a digest of the directories and when they were changed.
struct FolderFingerprint: Equatable {
    private var digest = 0
    /// Directories that count; more are not looked at.
    private static let directoryCountMax = 100_000
    private var directoryCount = 0

    /// Looks at all directories below a prefix; blocks.
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
        // Added up, as directories give their names in no order.
        digest &+= hasher.finalize()
        var inner: [String] = []
        try? directory.forEach { entry throws(SystemError) in
            // Names too: times may stand still for milliseconds, or for seconds.
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
