import CofferSystem

// How tests control a simulated disk, through any of its directories; none of this counts in the statistics.
extension SimulatedStorageDirectory {
    /// Makes calls fail from now on.
    package func fail(_ fault: StorageFault) {
        disk.state.withLock { $0.faults.append(fault) }
    }

    /// Ends all failures.
    package func heal() {
        disk.state.withLock { $0.faults = [] }
    }

    /// Limits the disk to `byteCount` bytes, whatever it already holds; nil for no limit.
    package func limit(to byteCount: Int?) {
        disk.state.withLock { $0.pageLimit = byteCount.map { $0 / FileImage.pageByteCount } ?? Int.max }
    }

    /// The number of bytes that files occupy.
    package var usedByteCount: Int { disk.state.withLock { $0.usedPages * FileImage.pageByteCount } }

    /// Counts of the calls since the last `resetStatistics`.
    package var statistics: StorageStatistics { disk.state.withLock { $0.statistics } }

    package func resetStatistics() {
        disk.state.withLock { $0.statistics = StorageStatistics() }
    }

    /// Sets a closure that is called before each call, without a lock.
    package func observe(_ observer: (@Sendable (StorageCall, String) -> Void)?) {
        disk.state.withLock { $0.observer = observer }
    }

    /// The state that a power cut leaves, as another disk without faults; this one does not change.
    ///
    /// The model of faults: synced data is there. Of the writes to a file since its last
    /// dataSync, each write is kept, dropped, or torn, in which case each sector of 512 bytes is kept or
    /// not; writes reach the disk in any order, except for changes of the size by truncate. A file that grew
    /// may have its new size without the new bytes (zeros then). Each name that was made or removed since
    /// the last sync of its directory is as it was before or after any of those changes, whatever happened
    /// to others; a file without a name is gone, even if it was synced. Bytes next to written ones are
    /// never damaged.
    package func crash(seed: UInt64) -> SimulatedStorageDirectory {
        var random = SplitMix64(seed: seed)
        return disk.state.withLock { state in
            var left = SimulatedDisk.State()
            left.nextFile = state.nextFile
            left.pageLimit = state.pageLimit
            for (path, table) in state.directories.sorted(by: { $0.key < $1.key }) {
                left.directories[path] = table.crashed(&random)
            }
            for number in left.directories.values.flatMap(\.visible.values).sorted() {
                let file = state.files[number]?.crashed(&random)
                left.files[number] = file
                left.usedPages += file?.visible.pages.count ?? 0
            }
            return SimulatedStorageDirectory(SimulatedDisk(left), path: "")
        }
    }

    /// The disk as programs see it, copied to another disk on which everything is synced.
    package func copy() -> SimulatedStorageDirectory {
        disk.state.withLock { state in
            var left = state
            left.faults = []
            left.observer = nil
            for path in left.directories.keys { left.directories[path]?.sync() }
            for number in left.files.keys { left.files[number]?.sync() }
            return SimulatedStorageDirectory(SimulatedDisk(left), path: "")
        }
    }

    /// The paths of all files.
    package var paths: [String] {
        disk.state.withLock { state in
            state.directories.flatMap { path, table in
                table.visible.keys.map { path.isEmpty ? $0 : "\(path)/\($0)" }
            }.sorted()
        }
    }

    /// All bytes of a file; empty if there is none.
    package func bytes(of path: String) -> [UInt8] {
        disk.state.withLock { state in
            guard let file = state.files[Self.number(path, state)] else { return [] }
            return file.visible.read(0..<file.visible.size)
        }
    }

    /// Overwrites bytes of a file without a call.
    package func overwrite(_ path: String, at offset: Int, with bytes: [UInt8]) {
        disk.state.withLock { $0.files[Self.number(path, $0)]?.tamper(.write(bytes, at: offset)) }
    }

    /// Flips bits of one byte of a file.
    package func flip(_ path: String, at offset: Int, mask: UInt8 = 1) {
        disk.state.withLock { state in
            let number = Self.number(path, state)
            guard let byte = state.files[number]?.visible.read(offset..<offset + 1).first else { return }
            state.files[number]?.tamper(.write([byte ^ mask], at: offset))
        }
    }

    /// Truncates a file.
    package func cut(_ path: String, to size: Int) {
        disk.state.withLock { $0.files[Self.number(path, $0)]?.tamper(.resize(size)) }
    }

    /// Removes a file and its name without a call.
    package func destroy(_ path: String) {
        let parts = Self.split(path)
        disk.state.withLock { state in
            state.directories[parts.directory]?.set(parts.name, to: nil)
            state.directories[parts.directory]?.sync()
        }
    }

    private static func split(_ path: String) -> (directory: String, name: String) {
        guard let slash = path.lastIndex(of: "/") else { return ("", path) }
        return (String(path[..<slash]), String(path[path.index(after: slash)...]))
    }

    private static func number(_ path: String, _ state: SimulatedDisk.State) -> Int {
        let parts = split(path)
        return state.directories[parts.directory]?.visible[parts.name] ?? 0
    }
}
