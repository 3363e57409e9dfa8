internal import CofferSystem
internal import Synchronization

extension FolderTree {
    /// The maximum number of directories in `durable`.
    private static var durableCountMax: Int { 4096 }

    /// The size from which an object bypasses the page cache, in bytes: it is not read again here soon, and
    /// the disk is faster this way.
    static var directByteCountMin: Int { 1 << 20 }

    func put(_ name: RemoteName, _ bytes: RemoteBytes, ifAbsent: Bool) throws(RemoteError) {
        let root = try openRoot()
        guard let format = name.vaultFormat, name.segments.count > 2 else {
            throw .refused("names in a folder begin with vaults/ID/")
        }
        if name != format { try checkVault(name.segments, in: root) }
        let access = FolderAccess(
            of: try reading { () throws(SystemError) in try root.status() },
            hasAccessList: root.hasAccessList)
        let vault = try makeDirectories(format.parent, in: root, access)
        let target = try makeDirectories(name.parent, in: root, access)
        if ifAbsent {
            // This only saves writing in vain; publishing decides which writer is first.
            let status = try reading { () throws(SystemError) in try target.status(of: name.last) }
            if status?.kind == .regular { throw .exists }
        }
        let temporary = try FolderTemporary(in: try openIncoming(in: vault), access)
        defer { temporary.remove() }
        try write(bytes, to: temporary.file)
        cleanNowAndThen(temporary)
        let isFree = try clearPlace(name.last, in: target, aside: temporary.directory)
        if ifAbsent {
            guard isFree else { throw .exists }
            try publish(temporary, as: name.last, in: target)
        } else {
            try changing { () throws(SystemError) in
                try temporary.directory.rename(temporary.name, to: target, name.last)
            }
        }
        try sync(target)
    }

    private func write(_ bytes: RemoteBytes, to file: POSIXStorageFile) throws(RemoteError) {
        var (offset, written) = (0, 0)
        if case .buffer(let buffer, let count) = bytes, count >= Self.directByteCountMin {
            written = try changing { () throws(SystemError) in
                try file.writeDirectly(buffer, count: count)
            }
        }
        try bytes.forEachPiece { piece throws(RemoteError) in
            let rest = piece.extracting(min(piece.byteCount, max(0, written - offset))..<piece.byteCount)
            try changing { () throws(SystemError) in try file.write(rest, at: max(offset, written)) }
            offset += piece.byteCount
        }
        // Synced before it gets its name: so an object that others see, or that survives a power cut, is
        // complete.
        try changing { () throws(SystemError) in
            try file.dataSync()
            try calls.flush(file)
        }
    }

    /// Opens the directory of a prefix, makes the missing ones, and syncs their names to disk.
    private func makeDirectories(
        _ prefix: RemotePrefix, in root: OpenDirectory, _ access: FolderAccess
    ) throws(RemoteError) -> OpenDirectory {
        var directory = root
        var vault: OpenDirectory?
        for (depth, segment) in prefix.segments.enumerated() {
            let parent = directory
            directory = try makeDirectory(String(segment), in: parent, aside: vault)
            // The first two segments are "vaults" and the vault's id.
            if depth == 1 { vault = directory }
            try bringToDisk(directory, in: parent, access)
        }
        return directory
    }

    /// Syncs a directory's name and sets its access, as its maker may not have come to either.
    private func bringToDisk(
        _ directory: OpenDirectory, in parent: OpenDirectory, _ access: FolderAccess
    ) throws(RemoteError) {
        let identity = try reading { () throws(SystemError) in try directory.status() }.identity
        if durable.withLock({ $0.contains(identity) }) { return }
        // Some file systems have no permissions; a user who lacks access gets the error of the call that
        // fails.
        try? access.apply(to: directory)
        try sync(parent)
        durable.withLock { durable in
            if durable.count >= Self.durableCountMax { durable = [] }
            durable.insert(identity)
        }
    }
}
