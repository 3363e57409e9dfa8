internal import CofferSystem

/// The directories that a folder watch covers, and the meaning of events in them.
struct WatchedDirectories {
    /// The role of a watched directory.
    private enum Place {
        /// The directory of this prefix.
        case below(RemotePrefix)
        /// A directory on the path to the prefix: only the next directory of the path matters.
        case above(next: String)
    }

    private static let countMax = 100_000

    private let tree: FolderTree
    private let prefix: RemotePrefix
    private var places: [Int32: Place] = [:]
    /// The folder that was scanned; nil if it was missing.
    private var root: FileIdentity?
    /// Whether other machines may change the folder's file system.
    private(set) var needsPolling = false

    init(_ tree: FolderTree, below prefix: RemotePrefix) {
        self.tree = tree
        self.prefix = prefix
    }

    /// The prefixes of all watched directories.
    var prefixes: Set<RemotePrefix> {
        Set(places.values.compactMap { if case .below(let prefix) = $0 { prefix } else { nil } })
    }

    /// Whether the path now leads to another folder than the scanned one, or to none.
    var isElsewhere: Bool { (try? OpenDirectory.open(tree.path).status().identity) != root }

    /// Watches all directories that exist now, and no others.
    ///
    /// - Returns: Whether the kernel will report all changes that this machine makes.
    mutating func scan(_ watch: DirectoryWatch) -> Bool {
        let before = Set(places.keys)
        places = [:]
        var isComplete = true
        do throws(SystemError) {
            try scanAll(watch)
        } catch {
            // Too many watches, or a directory that cannot be read.
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
        needsPolling = Self.visibility(ofFileSystem: try directory.fileSystemType()) != .reported
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

    /// Watches the nearest existing directory above a missing one.
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
        // The watch comes before the scan: a change between the two is seen twice rather than never.
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

    /// Posts the changes that events mean; returns whether directories were added or removed.
    func handle(_ events: [DirectoryWatch.Event], _ mailbox: ChangeMailbox) -> Bool {
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
                // Temporary files, and files of other tools, are not changes.
                guard event.kind == .gone || RemoteName.isSegment(event.name) else { continue }
                mailbox.post(prefix)
                needsScan = needsScan || event.kind != .file
            }
        }
        return needsScan
    }

    /// How this machine's kernel learns of changes by others in a file system of this type.
    static func visibility(ofFileSystem type: Int64) -> ChangeVisibility {
        // Programs that mount network storages, such as rclone, sshfs and davfs2, keep listings as long as they
        // are told to.
        type == fuse ? .delayed : isShared(type) ? .polled : .reported
    }

    private static let fuse: Int64 = 0x6573_5546

    /// Whether other machines may change a file system of this type without this machine's kernel.
    ///
    /// From statfs(2) and linux/magic.h.
    private static func isShared(_ type: Int64) -> Bool {
        let shared: [Int64] = [
            0x6969 /* NFS */, 0x517B /* SMB */, 0xFF53_4D42 /* CIFS */, 0xFE53_4D42 /* SMB2 */,
            fuse, 0x00C3_6400 /* Ceph */, 0x0102_1997 /* 9P */, 0x5346_414F /* AFS */,
            0x6B41_4653 /* kAFS */, 0x7375_7245 /* Coda */, 0x564C /* NCP */, 0x7461_636F /* OCFS2 */,
            0x0116_1970 /* GFS2 */, 0x0BD0_0BD0 /* Lustre */, 0x786F_4256 /* VirtualBox */,
        ]
        return shared.contains(type)
    }
}
