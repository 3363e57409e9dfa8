internal import CofferSystem
internal import Synchronization

/// The blocking calls of the folder backend.
///
/// Each call opens the folder again: it may be mounted, unmounted, or replaced at any time, and a descriptor
/// that stays open would keep a mount busy. All steps of a call happen in the folder that it opened.
final class FolderTree: Sendable {
    let path: String
    let publishing: [FolderPublishing]
    let calls: FolderCalls
    /// Directories whose names are known to be on disk, up to a limit.
    let durable = Mutex<Set<FileIdentity>>([])
    /// The time of the last cleanup of abandoned files, by the monotonic clock.
    let lastCleaning = Mutex<Int64?>(nil)

    init(path: String, publishing: [FolderPublishing], calls: FolderCalls = FolderCalls()) {
        self.path = path
        self.calls = calls
        self.publishing = publishing
    }

    /// Opens the folder.
    ///
    /// - Throws: `.unreachable` if it is missing.
    func openRoot() throws(RemoteError) -> OpenDirectory {
        do throws(SystemError) {
            return try OpenDirectory.open(path)
        } catch {
            let reading = RemoteError(error)
            guard reading == .absent || error.isNotDirectory else { throw reading }
            throw .unreachable("there is no folder \(path)")
        }
    }

    /// Opens the directory that contains a name; nil if it is missing.
    func openParent(_ name: RemoteName, in root: OpenDirectory) throws(RemoteError) -> OpenDirectory? {
        try open(name.parent, in: root)
    }

    /// Opens the directory of a prefix; nil if it is missing or is not a directory.
    func open(_ prefix: RemotePrefix, in root: OpenDirectory) throws(RemoteError) -> OpenDirectory? {
        do throws(SystemError) {
            var directory = root
            for segment in prefix.segments { directory = try directory.subdirectory(String(segment)) }
            return directory
        } catch {
            if error.isMissing || error.isNotDirectory { return nil }
            throw RemoteError(error)
        }
    }

    /// Checks that the folder contains the vault of a name, so that a missing object is absent rather than
    /// unmounted.
    ///
    /// - Throws: `.unreachable`; `.refused` for names that belong to no vault.
    func checkVault(_ segments: [Substring], in root: OpenDirectory) throws(RemoteError) {
        guard let format = RemoteName.vaultFormat(segments) else {
            throw .refused("names in a folder begin with vaults/ID/")
        }
        let directory = try openParent(format, in: root)
        let status = try reading { () throws(SystemError) in try directory?.status(of: format.last) }
        guard status?.kind == .regular else {
            throw .unreachable("\(path) does not have \(format); perhaps it is not mounted")
        }
    }

    // MARK: Reading

    func get(_ name: RemoteName, _ range: Range<Int>) throws(RemoteError) -> RemoteContent {
        let (file, wanted, byteCount) = try open(name, range)
        guard !wanted.isEmpty else { return RemoteContent(bytes: [], objectByteCount: byteCount) }
        var bytes = [UInt8](repeating: 0, count: wanted.count)
        let got = try reading { () throws(SystemError) in
            try bytes.withMutableRawSpan { span throws(SystemError) in
                try file.read(into: &span, at: wanted.lowerBound)
            }
        }
        guard got == wanted.count else { throw .short(expected: wanted.count, got: got) }
        return RemoteContent(bytes: bytes, objectByteCount: byteCount)
    }

    func getBuffer(_ name: RemoteName, _ range: Range<Int>) throws(RemoteError) -> BufferPart {
        let (file, wanted, _) = try open(name, range)
        // Room for the whole pages that contain the range.
        let buffer = AlignedBuffer(forSealed: wanted.count + 8192)
        if wanted.isEmpty { return BufferPart(buffer, 0..<0) }
        let got = try reading { () throws(SystemError) in
            if wanted.count >= Self.directByteCountMin { return try file.readDirectly(wanted, into: buffer) }
            let count = try buffer.withMutableBytes(0..<wanted.count) { bytes throws(SystemError) in
                try file.read(into: &bytes, at: wanted.lowerBound)
            }
            return 0..<count
        }
        guard got.count == wanted.count else { throw .short(expected: wanted.count, got: got.count) }
        return BufferPart(buffer, got)
    }

    /// Opens an object; returns the part of the range that it has, and its size.
    private func open(
        _ name: RemoteName, _ range: Range<Int>
    ) throws(RemoteError) -> (POSIXStorageFile, Range<Int>, byteCount: Int) {
        let root = try openRoot()
        do throws(RemoteError) {
            guard let directory = try openParent(name, in: root) else { throw .absent }
            let file = try reading { () throws(SystemError) in
                do throws(SystemError) { return try directory.openFile(name.last) } catch {
                    // Anything that is not an object counts as absent, and is not read.
                    throw error.isNoFile ? .missing(name.last) : error
                }
            }
            let status = try reading { () throws(SystemError) in try file.status() }
            guard status.kind == .regular else { throw .absent }
            return (file, range.clamped(to: 0..<status.byteCount), status.byteCount)
        } catch {
            // An absent format object means that the vault is absent, so there is nothing to check.
            if error == .absent, name != name.vaultFormat { try checkVault(name.segments, in: root) }
            throw error
        }
    }

    // MARK: Deleting

    func delete(_ name: RemoteName) throws(RemoteError) {
        let root = try openRoot()
        guard let directory = try openParent(name, in: root) else {
            return try checkVault(name.segments, in: root)
        }
        let isRemoved = try changing { () throws(SystemError) in
            do throws(SystemError) { return try directory.removeFile(name.last) } catch {
                guard error.isNoFile else { throw error }
                return false
            }
        }
        if isRemoved { return try sync(directory) }
        if name != name.vaultFormat { try checkVault(name.segments, in: root) }
    }

    /// Syncs a directory's names to disk, where the file system supports that.
    func sync(_ directory: OpenDirectory) throws(RemoteError) {
        do throws(SystemError) {
            try directory.sync()
        } catch {
            // File systems that cannot fsync a directory answer EINVAL, EBADF, or ENOSYS.
            if !error.isNotSupported { throw RemoteError(changing: error) }
        }
    }
}
