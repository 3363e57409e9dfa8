internal import CofferSystem
internal import Synchronization

/// A file that is being written, and is not an object yet, in "vaults/ID/.incoming".
///
/// It is in the vault's own directory, because that is certain to be in the same file system as the object.
/// The writer holds a lock (flock) on it, so that processes on the same machine, or on others if the server
/// passes locks on, do not take it for abandoned.
struct FolderTemporary {
    static let directoryName = ".incoming"
    static let claimPrefix = "claim."
    /// The age from which a temporary file counts as abandoned, in nanoseconds: two days.
    static let age: Int64 = 2 * 86400 * 1_000_000_000

    let directory: OpenDirectory
    let name: String
    let file: POSIXStorageFile

    /// Makes an empty file.
    ///
    /// - Parameter directory: "vaults/ID/.incoming".
    init(in directory: OpenDirectory, _ access: FolderAccess) throws(RemoteError) {
        let name = "put." + String(UInt64.random(in: 0 ... .max), radix: 16)
        try? access.apply(to: directory)
        file = try changing { () throws(SystemError) in try directory.createFile(name) }
        try? access.apply(to: file)
        self.name = name
        self.directory = directory
        _ = file.lock()
    }

    /// Removes the temporary name, if it still exists.
    func remove() {
        // If this fails, a later cleanup removes it.
        _ = try? directory.removeFile(name)
    }

    /// Removes the temporary files and claims of processes that were killed.
    ///
    /// Ages are by the clock of the file system's host, which is read from this file, as it was just written.
    func removeAbandoned(olderThan age: Int64 = Self.age) throws(SystemError) {
        let now = try file.status().modified
        var old: [String] = []
        try directory.forEach { entry throws(SystemError) in
            guard entry.name.hasPrefix("put.") || entry.name.hasPrefix(Self.claimPrefix), entry.name != name,
                let status = try directory.status(of: entry.name), status.kind == .regular,
                now - status.modified > age
            else { return true }
            old.append(entry.name)
            return old.count < 1000
        }
        for name in old where !isLive(name) {
            // Another user's file is for that user, or the server's owner, to remove.
            _ = try? directory.removeFile(name)
        }
    }

    /// Whether a writer holds its lock; a file that cannot be opened counts as live.
    private func isLive(_ name: String) -> Bool {
        guard let file = try? directory.openFile(name) else { return true }
        return !file.lock()
    }
}

extension FolderTree {
    /// The time between two cleanups, in nanoseconds: an hour.
    private static var cleaningInterval: Int64 { 3600 * 1_000_000_000 }

    /// Removes abandoned files, at most once an hour.
    func cleanNowAndThen(_ temporary: FolderTemporary) {
        let isDue = lastCleaning.withLock { last in
            let now = Clock.monotonic
            if let last, now - last < Self.cleaningInterval { return false }
            last = now
            return true
        }
        // If this fails, the next cleanup tries again.
        if isDue { try? temporary.removeAbandoned() }
    }
}
