package import CofferSystem

/// A directory of a simulated disk, in memory.
///
/// `crash` describes the effect of a power cut, `fail` makes calls fail, and `limit` makes the
/// disk full. Safe for several threads; each call is atomic.
package final class SimulatedStorageDirectory: StorageDirectory {
    let disk: SimulatedDisk
    let path: String

    init(_ disk: SimulatedDisk, path: String) {
        self.disk = disk
        self.path = path
    }

    /// The root directory of a new disk, of `byteCount` bytes if given.
    package convenience init(byteCount: Int? = nil) {
        self.init(SimulatedDisk(), path: "")
        if let byteCount { limit(to: byteCount) }
    }

    private func full(_ name: String) -> String { path.isEmpty ? name : "\(path)/\(name)" }

    package func open(_ name: String, create: Bool) throws(SystemError) -> any StorageFile {
        let full = full(name)
        let path = path
        let number = try disk.perform(.open, full) { state throws(SystemError) in
            if let number = state.directories[path]?.visible[name] { return number }
            guard create else { throw SystemError("open", code: ErrorNumber.noEntry, on: full) }
            let number = state.nextFile
            state.nextFile += 1
            state.files[number] = SimulatedFile()
            state.directories[path]?.set(name, to: number)
            return number
        }
        return SimulatedStorageFile(disk, full, number)
    }

    /// The same as `open`: there is no page cache to bypass.
    package func openDirect(_ name: String) throws(SystemError) -> (any StorageFile)? {
        let full = full(name)
        let path = path
        let number = try disk.perform(.openDirect, full) { state throws(SystemError) in
            guard let number = state.directories[path]?.visible[name] else {
                throw SystemError("open", code: ErrorNumber.noEntry, on: full)
            }
            return number
        }
        return SimulatedStorageFile(disk, full, number)
    }

    package func remove(_ name: String) throws(SystemError) {
        let full = full(name)
        let path = path
        try disk.perform(.remove, full) { state throws(SystemError) in
            guard let number = state.directories[path]?.visible[name] else {
                throw SystemError("unlink", code: ErrorNumber.noEntry, on: full)
            }
            state.directories[path]?.set(name, to: nil)
            // Its space is free at once, although a program may still have it open: simpler, and harmless.
            state.usedPages -= state.files[number]?.visible.pages.count ?? 0
        }
    }

    package func contains(_ name: String) throws(SystemError) -> Bool {
        let path = path
        return try disk.perform(.contains, full(name)) { state throws(SystemError) in
            state.directories[path]?.visible[name] != nil
        }
    }

    package func list() throws(SystemError) -> [String] {
        let path = path
        return try disk.perform(.list, path) { state throws(SystemError) in
            Array(state.directories[path]?.visible.keys ?? [:].keys)
        }
    }

    package func sync() throws(SystemError) {
        let path = path
        try disk.perform(.sync, path + "/") { state throws(SystemError) in
            state.directories[path]?.sync()
        }
    }

    /// A directory in it; a new one is on disk at once, as `POSIXStorageDirectory` syncs it.
    package func subdirectory(_ name: String) throws(SystemError) -> any StorageDirectory {
        let full = full(name)
        try disk.perform(.subdirectory, full) { state throws(SystemError) in
            if state.directories[full] == nil { state.directories[full] = NameTable() }
        }
        return SimulatedStorageDirectory(disk, path: full)
    }

    package func space() throws(SystemError) -> StorageSpace {
        try disk.perform(.space, path) { state throws(SystemError) in
            let total = min(state.pageLimit, 1 << 30) * FileImage.pageByteCount
            let free = max(0, total - state.usedPages * FileImage.pageByteCount)
            return StorageSpace(total: total, free: free, available: free, files: 1 << 20, freeFiles: 1 << 20)
        }
    }
}
