internal import CofferSystem
internal import Synchronization

/// The blocking calls of the SFTP backend.
///
/// Names are laid out as in a folder, so that a directory can be used either way.
final class SFTPTree: Sendable {
    /// The maximum number of directories in `known`.
    private static let knownCountMax = 4096
    /// How often an object is read that changes meanwhile.
    private static let readCountMax = 20

    let connector: SFTPConnector
    let root: String
    let presence = VaultPresence()
    /// Directories that were there, and whose names are on the server's disk.
    let known = Mutex<Set<String>>([])
    /// The time of the last cleanup of abandoned files, by the monotonic clock.
    let lastCleaning = Mutex<Int64?>(nil)
    /// How names are kept from being replaced; nil until that was tried.
    let exclusion = Mutex<SFTPExclusion?>(nil)

    init(_ server: SFTPServer, root: String) {
        connector = SFTPConnector(server)
        self.root = root
    }

    /// The files, over a connection that may still be in the making.
    func files(_ call: SFTPCall) throws(RemoteError) -> SFTPFiles {
        SFTPFiles(session: try connector.session(), call: call, root: root)
    }

    // MARK: The vault

    /// Checks that the vault of a name, or of a prefix, is there.
    ///
    /// - Parameter again: Whether an earlier look does not count.
    /// - Throws: `.unreachable`.
    func checkVault(
        _ format: RemoteName?, besides name: RemoteName? = nil, again: Bool = false, _ files: SFTPFiles
    ) throws(RemoteError) {
        guard let format, format != name, again || !presence.wasSeen(format) else { return }
        let kind = try files.linkStatus(format.text).map { $0.kind ?? .file }
        try presence.saw(format, kind == .file)
    }

    func isKnown(_ directory: String) -> Bool { known.withLock { $0.contains(directory) } }

    func know(_ directory: String) {
        known.withLock { known in
            if known.count >= Self.knownCountMax { known = [] }
            known.insert(directory)
        }
    }

    // MARK: Reading

    func get(_ name: RemoteName, _ range: Range<Int>, _ call: SFTPCall) throws(RemoteError) -> RemoteContent {
        let files = try files(call)
        do throws(RemoteError) {
            for _ in 1..<Self.readCountMax {
                do throws(RemoteError) { return try read(name, range, files) } catch {
                    // It was replaced meanwhile.
                    guard case .short = error else { throw error }
                }
            }
            return try read(name, range, files)
        } catch {
            // An absent format object means that the vault is absent, so there is nothing to check.
            if error == .absent { try checkVault(name.vaultFormat, besides: name, files) }
            throw error
        }
    }

    private func read(
        _ name: RemoteName, _ range: Range<Int>, _ files: SFTPFiles
    ) throws(RemoteError) -> RemoteContent {
        // Both at once: what is no object is not read, even though it is opened.
        let path = files.path(name.text)
        let looked = try files.send(.linkStatus(of: path))
        let opened = try files.send(.open(path, .read))
        let status: SFTPAttributes?
        do throws(RemoteError) { status = try files.attributes(looked) } catch {
            files.session.abandon(opened)
            throw error
        }
        guard let status, status.kind ?? .file == .file else {
            files.session.abandon(opened)
            throw .absent
        }
        let handle = try files.handle(opened)
        defer { files.discard(handle) }
        let content = try SFTPReading(files, handle).content(of: range, expected: status.byteCount)
        // A part of an object that changes is no more than a part.
        let isWhole = content.bytes.count == content.objectByteCount && !content.bytes.isEmpty
        if isWhole, !files.session.server.readsOneVersion, try files.linkStatus(name.text) != status {
            throw .short(expected: content.objectByteCount, got: 0)
        }
        return content
    }

    // MARK: Deleting

    func delete(_ name: RemoteName, _ call: SFTPCall) throws(RemoteError) {
        let files = try files(call)
        do throws(RemoteError) {
            try files.remove(name.text)
        } catch {
            guard error != .absent else { return try checkVault(name.vaultFormat, besides: name, files) }
            // A directory is no object.
            guard case .failed = error else { throw error }
            let status = try files.linkStatus(name.text)
            if status == nil || status?.kind == .directory { return }
            throw try meaning(of: error, files)
        }
        presence.forget(name)
        try files.syncDirectory(String(name.parent.text.dropLast()))
    }

    /// Removes the empty directories below a prefix, then its own directory and its empty parents, up to the root.
    func tidy(_ prefix: RemotePrefix, _ call: SFTPCall) throws(RemoteError) {
        let files = try files(call)
        known.withLock { $0 = [] }
        var path = String(prefix.text.dropLast())
        var count = 0
        guard try removeEmpty(path, &count, files) else { return }
        while let slash = path.lastIndex(of: "/") {
            path = String(path[..<slash])
            guard try remove(path, files) else { return }
        }
    }

    /// Removes a directory, and those in it, as far as they are empty; returns whether it is gone.
    private func removeEmpty(
        _ path: String, _ count: inout Int, _ files: SFTPFiles
    ) throws(RemoteError) -> Bool {
        count += 1
        // No name is deeper, and no vault has more, whatever the server says.
        let depth = path.split(separator: "/").count
        guard count <= 10_000, depth <= RemoteName.segmentCountMax else { return false }
        var inner: [String] = []
        let isThere = try files.forEachEntry(in: path) { entry in
            let isOwn = RemoteName.isSegment(entry.name) || entry.name == FolderTemporary.directoryName
            if isOwn, entry.attributes.kind == .directory { inner.append(entry.name) }
            return inner.count < 10_000
        }
        guard isThere else { return true }
        for name in inner { _ = try removeEmpty("\(path)/\(name)", &count, files) }
        return path.isEmpty ? false : try remove(path, files)
    }

    private func remove(_ path: String, _ files: SFTPFiles) throws(RemoteError) -> Bool {
        do throws(RemoteError) { try files.perform(.removeDirectory(files.path(path))) } catch {
            switch error {
            case .absent: return true
            case .failed, .refused: return false
            default: throw error
            }
        }
        return true
    }

    // MARK: Failures

    /// What a failure means for a change: OpenSSH has one code for a full disk, a read-only one, and a broken one.
    func meaning(
        of error: RemoteError, byteCount: Int = 0, _ files: SFTPFiles
    ) throws(RemoteError) -> RemoteError {
        guard case .failed = error, let space = try files.uncancelled.space(at: "") else { return error }
        if space.isReadOnly { return .readOnly }
        return space.free < max(64 << 10, UInt64(byteCount)) ? .full : error
    }
}
