internal import CofferSystem

/// The directories that a watch of a folder hears of, and what events in them mean.
struct WatchedDirectories {
    /// A directory that is watched.
    private enum Place {
        /// The prefix of what is in it.
        case below(RemotePrefix)
        /// On the way to what is watched: only the next directory of the path counts.
        case above(next: String)
    }

    private static let countMax = 100_000

    private let tree: FolderTree
    private let prefix: RemotePrefix
    private var places: [Int32: Place] = [:]
    /// Which folder was scanned; nil if it was missing.
    private var root: FileIdentity?
    /// Whether others than this machine may change the folder's file system.
    private(set) var needsPolling = false

    init(_ tree: FolderTree, below prefix: RemotePrefix) {
        self.tree = tree
        self.prefix = prefix
    }

    /// All prefixes whose directories are watched.
    var prefixes: Set<RemotePrefix> {
        Set(places.values.compactMap { if case .below(let prefix) = $0 { prefix } else { nil } })
    }

    /// Whether another folder is at the path now, or none, than was scanned.
    var isElsewhere: Bool { (try? OpenDirectory.open(tree.path).status().identity) != root }

    /// Watches all directories that are there now, and no others.
    ///
    /// - Returns: Whether the kernel will tell of all changes that this machine makes.
    mutating func scan(_ watch: DirectoryWatch) -> Bool {
        let before = Set(places.keys)
        places = [:]
        var isComplete = true
        do throws(SystemError) {
            try scanAll(watch)
        } catch {
            // Too many watches, or something that cannot be read.
            isComplete = false
        }
        for number in before.subtracting(places.keys) { watch.remove(number) }
        return isComplete
    }

    private mutating func scanAll(_ watch: DirectoryWatch) throws(SystemError) {
        root = nil
        var directory: OpenDirectory
        do throws(SystemError) {
            directory = try OpenDirectory.open(tree.path)
        } catch {
            return try watchAbove(tree.path, watch)
        }
        root = try directory.status().identity
        needsPolling = Self.isShared(try directory.fileSystemType())
        for segment in prefix.segments {
            places[try watch.add(directory)] = .above(next: String(segment))
            do throws(SystemError) {
                directory = try directory.subdirectory(String(segment))
            } catch {
                if error.isMissing { return }
                throw error
            }
        }
        try scan(directory, prefix, watch)
    }

    /// Watches the nearest directory above one that is missing.
    private mutating func watchAbove(_ path: String, _ watch: DirectoryWatch) throws(SystemError) {
        var missing = path
        while missing != "/" && missing != "." {
            let parent = Directory.parent(of: missing)
            if let directory = try? OpenDirectory.open(parent) {
                let name = missing.split(separator: "/").last ?? ""
                places[try watch.add(directory)] = .above(next: String(name))
                return
            }
            missing = parent
        }
    }

    private mutating func scan(
        _ directory: OpenDirectory, _ prefix: RemotePrefix, _ watch: DirectoryWatch
    ) throws(SystemError) {
        // First the watch, then the look: what comes between is seen twice rather than never.
        places[try watch.add(directory)] = .below(prefix)
        guard places.count < Self.countMax else { throw SystemError("inotify_add_watch", code: 28) }
        var inner: [String] = []
        try directory.forEach { entry throws(SystemError) in
            if entry.kind == .directory || entry.kind == nil { inner.append(entry.name) }
            return inner.count < Self.countMax
        }
        for name in inner {
            guard let below = prefix.appending(name) else { continue }
            do throws(SystemError) {
                try scan(try directory.subdirectory(name), below, watch)
            } catch {
                guard error.isMissing || error.isNotDirectory else { throw error }
            }
        }
    }

    /// Posts what events mean; answers whether directories have come or gone.
    func take(_ events: [DirectoryWatch.Event], _ mailbox: ChangeMailbox) -> Bool {
        var needsScan = false
        for event in events {
            if event.kind == .overflow {
                mailbox.post(prefix)
                needsScan = true
                continue
            }
            switch places[event.watch] {
            case nil: continue
            case .above(let next):
                let concerns = event.kind == .gone || (event.kind == .directory && event.name == next)
                if concerns { mailbox.post(prefix) }
                needsScan = needsScan || concerns
            case .below(let prefix):
                // Temporary files, and what other tools keep in a folder, are no change.
                guard event.kind == .gone || RemoteName.isSegment(event.name) else { continue }
                mailbox.post(prefix)
                needsScan = needsScan || event.kind != .file
            }
        }
        return needsScan
    }

    /// Whether a file system may be changed without this machine's kernel: statfs(2), linux/magic.h.
    static func isShared(_ type: Int64) -> Bool {
        let shared: [Int64] = [
            0x6969 /* NFS */, 0x517B /* SMB */, 0xFF53_4D42 /* CIFS */, 0xFE53_4D42 /* SMB2 */,
            0x6573_5546 /* FUSE */, 0x00C3_6400 /* Ceph */, 0x0102_1997 /* 9P */, 0x5346_414F /* AFS */,
            0x6B41_4653 /* kAFS */, 0x7375_7245 /* Coda */, 0x564C /* NCP */, 0x7461_636F /* OCFS2 */,
            0x0116_1970 /* GFS2 */, 0x0BD0_0BD0 /* Lustre */, 0x786F_4256 /* VirtualBox */,
        ]
        return shared.contains(type)
    }
}
