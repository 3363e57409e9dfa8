internal import CofferSystem

extension FolderTree {
    /// How this machine's kernel learns of changes that others make in the folder.
    var visibility: ChangeVisibility {
        guard let type = try? OpenDirectory.open(path).fileSystemType() else { return .polled }
        return WatchedDirectories.visibility(ofFileSystem: type)
    }

    /// The number of directories that are examined; more would show nothing new.
    private static var directoryCountMax: Int { 10_000 }

    /// Names the directories below a prefix, including temporary ones, that this user cannot change, and
    /// their owners.
    func obstacles(below prefix: RemotePrefix) throws(RemoteError) -> [String] {
        guard let top = try open(prefix, in: try openRoot()) else { return [] }
        var found: [String] = []
        var count = 0
        try reading { () throws(SystemError) in try Self.collect(top, &count, &found) }
        return found
    }

    private static func collect(
        _ directory: OpenDirectory, _ count: inout Int, _ found: inout [String]
    ) throws(SystemError) {
        count += 1
        guard count <= directoryCountMax else { return }
        if !directory.isWritable {
            found.append(FolderRefusal(.forbidden(in: directory), isChange: true).text)
        }
        var inner: [String] = []
        try directory.forEach { entry throws(SystemError) in
            if entry.kind == .directory || entry.kind == nil { inner.append(entry.name) }
            return inner.count < directoryCountMax
        }
        for name in inner {
            do throws(SystemError) {
                try collect(try directory.subdirectory(name), &count, &found)
            } catch {
                if error.isMissing || error.isNotDirectory { continue }
                found.append(FolderRefusal(error, isChange: false).text)
            }
        }
    }

    /// Removes the empty directories below a prefix, including those of temporary files, then the prefix's
    /// own directory and its empty parents, up to the folder, which stays.
    func tidy(_ prefix: RemotePrefix) throws(RemoteError) {
        let root = try openRoot()
        var way: [(parent: OpenDirectory, name: String)] = []
        var directory = root
        for segment in prefix.segments.map(String.init) {
            guard let next = try changing({ () throws(SystemError) in try directory.existing(segment) })
            else {
                return
            }
            way.append((directory, segment))
            directory = next
        }
        let top = directory
        try changing { () throws(SystemError) in
            try Self.removeEmpty(in: top)
            for step in way.reversed() {
                guard try step.parent.removeSubdirectory(step.name) else { return }
            }
        }
    }

    private static func removeEmpty(in directory: OpenDirectory) throws(SystemError) {
        var inner: [String] = []
        try directory.forEach { entry throws(SystemError) in
            if entry.kind == .directory || entry.kind == nil { inner.append(entry.name) }
            return inner.count < directoryCountMax
        }
        for name in inner {
            guard let below = try directory.existing(name) else { continue }
            try removeEmpty(in: below)
            try directory.removeSubdirectory(name)
        }
    }
}

extension OpenDirectory {
    /// Opens a directory in this one; nil if there is none, or something else has the name.
    fileprivate func existing(_ name: String) throws(SystemError) -> OpenDirectory? {
        do throws(SystemError) { return try subdirectory(name) } catch {
            if error.isMissing || error.isNotDirectory { return nil }
            throw error
        }
    }
}
