internal import CofferSystem
internal import Synchronization

/// A file that is being written and has no name of an object yet, in "vaults/ID/.incoming".
///
/// The vault's own directory, as that is surely in the file system where the object will be. It is locked as long as
/// it is written (flock), so that on one machine, and on servers that pass locks on, nobody takes it for abandoned.
struct FolderTemporary {
    static let directoryName = ".incoming"
    static let claimPrefix = "claim."
    /// How old a file there must be to be taken for abandoned, in nanoseconds: two days.
    static let age: Int64 = 2 * 86400 * 1_000_000_000

    let directory: OpenDirectory
    let name: String
    let file: POSIXStorageFile

    /// Makes an empty one.
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

    /// Removes the temporary name, if there still is one.
    func remove() {
        // Whoever cleans finds it otherwise.
        _ = try? directory.removeFile(name)
    }

    /// Removes what processes that were killed left behind.
    ///
    /// The age is by the clock of the file system's host: what it says of this file, which was just written.
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
            // What another user left, he or the server's owner removes.
            _ = try? directory.removeFile(name)
        }
    }

    /// Whether a writer has it locked; what cannot be opened is not for this process to judge.
    private func isLive(_ name: String) -> Bool {
        guard let file = try? directory.openFile(name) else { return true }
        return !file.lock()
    }
}

extension FolderTree {
    /// How long after one look for abandoned files the next one is due, in nanoseconds: an hour.
    private static var cleaningInterval: Int64 { 3600 * 1_000_000_000 }

    /// Removes what was left behind, at most once an hour.
    func cleanNowAndThen(_ temporary: FolderTemporary) {
        let isDue = lastCleaning.withLock { last in
            let now = Clock.monotonic
            if let last, now - last < Self.cleaningInterval { return false }
            last = now
            return true
        }
        // A hint: whoever comes next tries again.
        if isDue { try? temporary.removeAbandoned() }
    }
}
