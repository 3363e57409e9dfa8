internal import CofferSystem
internal import Synchronization

extension SFTPTree {
    func put(
        _ name: RemoteName, _ bytes: RemoteBytes, ifAbsent: Bool, _ call: SFTPCall
    ) throws(RemoteError) {
        let files = try files(call)
        guard let format = name.vaultFormat, name.segments.count > 2 else {
            throw .refused("names in a directory begin with vaults/ID/")
        }
        try checkVault(format, besides: name, files)
        let target = String(name.parent.text.dropLast())
        let incoming = "\(format.parent.text)\(FolderTemporary.directoryName)"
        for directory in [target, incoming] where !isKnown(directory) {
            try makeDirectories(directory, for: name, files)
        }
        if ifAbsent, let status = try files.linkStatus(name.text), status.kind ?? .file == .file {
            throw .exists
        }
        do throws(RemoteError) {
            let exclusion = ifAbsent ? try self.exclusion(in: incoming, files) : nil
            var put = SFTPPut(files, name, in: incoming, exclusion)
            defer { put.remove() }
            try put.send(bytes, access(files))
            cleanNowAndThen(put, files)
            try put.publish()
            try files.syncDirectory(target)
        } catch {
            // A directory that went away is looked for again.
            if error == .absent { forget([target, incoming]) }
            throw error == .absent
                ? .failed("a directory vanished on \(files.session.server.name)")
                : try meaning(of: error, byteCount: bytes.byteCount, files)
        }
    }

    private func forget(_ directories: [String]) {
        known.withLock { $0.subtract(directories) }
    }

    // MARK: Directories

    /// What the remote's own directory allows others.
    func access(_ files: SFTPFiles) throws(RemoteError) -> SFTPAccess {
        guard let status = try files.attributes(try files.send(.status(of: files.path("")))) else {
            throw .unreachable("there is no directory \(root) on \(files.session.server.name)")
        }
        return SFTPAccess(of: status)
    }

    /// Makes a directory and those above it that are missing, and syncs their names to disk, as their maker may
    /// not have come to it; makes nothing of a vault that is not there, except for its format object.
    private func makeDirectories(
        _ path: String, for name: RemoteName, _ files: SFTPFiles
    ) throws(RemoteError) {
        let access = try access(files)
        var directory = ""
        for segment in path.split(separator: "/") {
            let parent = directory
            directory += directory.isEmpty ? "\(segment)" : "/\(segment)"
            if isKnown(directory) { continue }
            var status = try files.linkStatus(directory)
            if status?.kind ?? .directory != .directory, directory.split(separator: "/").count > 2 {
                try moveAside(directory, name.vaultFormat, files)
                status = nil
            }
            if status == nil {
                // The disk of the server may have gone since the last look.
                try checkVault(name.vaultFormat, besides: name, again: true, files)
                status = try make(directory, files)
            }
            guard let status, status.kind ?? .directory == .directory else {
                throw .refused("\(files.path(directory)) is in the way on \(files.session.server.name)")
            }
            access.apply(toDirectory: directory, status, files)
            try files.syncDirectory(parent)
            know(directory)
        }
    }

    private func make(_ directory: String, _ files: SFTPFiles) throws(RemoteError) -> SFTPAttributes? {
        do throws(RemoteError) {
            try files.perform(.makeDirectory(files.path(directory)))
        } catch {
            // Another client may have made it in this moment.
            if let status = try files.linkStatus(directory) { return status }
            throw try meaning(of: error, files)
        }
        return try files.linkStatus(directory)
    }

    /// Moves what is no directory out of a directory's place, within the vault, where nobody deletes it.
    private func moveAside(
        _ path: String, _ format: RemoteName?, _ files: SFTPFiles
    ) throws(RemoteError) {
        guard let format else { return }
        let incoming = "\(format.parent.text)\(FolderTemporary.directoryName)"
        let number = String(UInt64.random(in: 0 ... .max), radix: 16)
        let isIncoming = path == incoming || !isKnown(incoming)
        let aside = "\(Self.asidePrefix)\(number)"
        try files.rename(path, to: isIncoming ? "\(format.parent.text).\(aside)" : "\(incoming)/\(aside)")
    }

    /// As in a folder.
    static var asidePrefix: String { FolderTree.asidePrefix }

    // MARK: Cleaning

    /// The time between two cleanups, in nanoseconds: an hour.
    private static var cleaningInterval: Int64 { 3600 * 1_000_000_000 }

    /// Removes abandoned files, at most once an hour.
    private func cleanNowAndThen(_ put: SFTPPut, _ files: SFTPFiles) {
        let isDue = lastCleaning.withLock { last in
            let now = Clock.monotonic
            if let last, now - last < Self.cleaningInterval { return false }
            last = now
            return true
        }
        guard isDue, let now = put.time else { return }
        // If this fails, the next cleanup tries again.
        try? Self.clean(put.incoming, at: now, olderThan: FolderTemporary.age / 1_000_000_000, files)
    }

    /// Removes the temporary names of puts that were killed, by the server's clock, in seconds.
    static func clean(
        _ incoming: String, at now: Int64, olderThan age: Int64, _ files: SFTPFiles
    ) throws(RemoteError) {
        var old: [SFTPEntry] = []
        _ = try files.forEachEntry(in: incoming) { entry in
            guard !entry.name.contains("/"), SFTPClaim.isTemporary(entry.name),
                let modified = entry.attributes.modified, now - modified > age
            else { return true }
            old.append(entry)
            return old.count < 1000
        }
        for entry in old {
            let path = "\(incoming)/\(entry.name)"
            // Another user's file is for that user, or the server's owner, to remove.
            if entry.attributes.kind == .directory {
                SFTPClaim.removeDirectory(path, files)
            } else {
                try? files.remove(path)
            }
        }
    }
}

/// The access that the remote's own directory grants, which what is in it grants as well (`FolderAccess`).
///
/// An access control list cannot be seen over SFTP.
struct SFTPAccess {
    private let root: SFTPAttributes
    private var permissions: UInt32 { (root.mode ?? 0) & 0o7777 }
    /// Whether everything gets the group of the root.
    private var sharesGroup: Bool { permissions & 0o2020 != 0 }

    init(of root: SFTPAttributes) { self.root = root }

    func apply(toDirectory name: String, _ status: SFTPAttributes, _ files: SFTPFiles) {
        apply(permissions & 0o1077 | (sharesGroup ? 0o2000 : 0), name, status, files)
    }

    /// Files are never changed, only renamed.
    func apply(toFile name: String, _ status: SFTPAttributes, _ files: SFTPFiles) {
        apply(permissions & 0o044, name, status, files)
    }

    private func apply(_ bits: UInt32, _ name: String, _ status: SFTPAttributes, _ files: SFTPFiles) {
        guard let mode = status.mode.map({ $0 & 0o7777 }), let user = status.user else { return }
        let group = sharesGroup && root.group != status.group ? root.group : nil
        if mode & bits == bits, group == nil { return }
        // Who may not change it, or whose server has no permissions, gets the error of the call that fails.
        try? files.perform(
            .setAccess(files.path(name), owner: group.map { (user, $0) }, permissions: mode | bits))
    }
}
