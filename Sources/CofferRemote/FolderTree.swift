internal import CofferSystem
internal import Synchronization

/// The calls that a folder's backend makes; they block.
///
/// The folder is opened for each call anew: it may be mounted, unmounted and replaced at any time, and a descriptor
/// that is kept would hold a mount. All steps of a call happen in the folder that it opened.
final class FolderTree: Sendable {
    let path: String
    let publishing: [FolderPublishing]
    let calls: FolderCalls
    /// Directories whose names this process has seen to be on disk, up to some number.
    let durable = Mutex<Set<FileIdentity>>([])
    /// When what others left behind was looked for last, by the monotonic clock.
    let lastCleaning = Mutex<Int64?>(nil)

    init(path: String, publishing: [FolderPublishing], calls: FolderCalls = FolderCalls()) {
        self.path = path
        self.calls = calls
        self.publishing = publishing
    }

    /// Opens the folder.
    ///
    /// - Throws: `.unreachable` where it is missing.
    func openRoot() throws(RemoteError) -> OpenDirectory {
        do throws(SystemError) {
            return try OpenDirectory.open(path)
        } catch {
            let reading = RemoteError(error)
            guard reading == .absent || error.isNotDirectory else { throw reading }
            throw .unreachable("there is no folder \(path)")
        }
    }

    /// Opens the directory that a name is in; nil if it is missing.
    func openParent(_ name: RemoteName, in root: OpenDirectory) throws(RemoteError) -> OpenDirectory? {
        try open(name.parent, in: root)
    }

    /// Opens the directory of a prefix; nil if it is missing, or something else is there.
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

    /// Checks that the vault of a name is in this folder, so that what is not found is absent, and not unmounted.
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
        // Whole pages, which hold it.
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

    /// Opens an object, and says which part of a range, and how many bytes in all, it has.
    private func open(
        _ name: RemoteName, _ range: Range<Int>
    ) throws(RemoteError) -> (POSIXStorageFile, Range<Int>, byteCount: Int) {
        let root = try openRoot()
        do throws(RemoteError) {
            guard let directory = try openParent(name, in: root) else { throw .absent }
            let file = try reading { () throws(SystemError) in
                do throws(SystemError) { return try directory.openFile(name.last) } catch {
                    // What is no object is no obstacle, and nothing is read through it.
                    throw error.isNoFile ? .missing(name.last) : error
                }
            }
            let status = try reading { () throws(SystemError) in try file.status() }
            guard status.kind == .regular else { throw .absent }
            return (file, range.clamped(to: 0..<status.byteCount), status.byteCount)
        } catch {
            // That a vault's first object is absent says that the vault is.
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

    /// Brings names to disk where the file system can be asked to.
    func sync(_ directory: OpenDirectory) throws(RemoteError) {
        do throws(SystemError) {
            try directory.sync()
        } catch {
            // Some file systems have no fsync for directories, and say so with EINVAL, EBADF or ENOSYS.
            if !error.isNotSupported { throw RemoteError(changing: error) }
        }
    }
}
