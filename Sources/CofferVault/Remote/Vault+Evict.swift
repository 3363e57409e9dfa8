internal import CofferStore
internal import CofferSystem

// Giving up the contents of some files, as somebody says, whatever the cache limit.
extension Vault {
    /// Why content stays on this device that was to be given up.
    package enum EvictionObstacle: String, Sendable, Codable, CaseIterable {
        /// It is not at the remote, or a change of its file is not.
        case unsent
        /// It was sent, and is not known to be at the remote any more.
        case notSeen = "not-seen"
        /// It is pinned, or in a directory that is.
        case pinned
    }

    /// What came of giving up contents.
    package struct Evicted: Sendable, Equatable {
        /// Bytes that are on the remote only from now on.
        package var byteCount: Int64 = 0
        /// Bytes that are still here, by the reason.
        package var kept: [EvictionObstacle: Int64] = [:]
    }

    /// Gives up what is on this device of files, as far as it is on the remote, too.
    ///
    /// Takes the lock for moments only. What was given up frees the disk before this returns.
    ///
    /// - Parameter progress: Told how many files are done.
    package func evict(
        _ files: some Sequence<Int64>, _ progress: (Int) -> Void = { _ in }
    ) throws(FileSystemError) -> Evicted {
        try evicting.withLock { _ throws(FileSystemError) in
            let pinned = try pinnedFiles()
            var result = Evicted()
            var seen = SeenPacks(vault: self)
            var done = 0
            for file in files {
                if !pinned.contains(file) {
                    try forEachPage(of: file) { rows throws(FileSystemError) in
                        for row in rows where row.remote != 0 && row.place != .remote {
                            if try seen.has(row) { result.byteCount += try self.evict(row) }
                        }
                    }
                }
                let (left, isUnsent) = try self.left(of: file)
                for (isSent, bytes) in left where bytes > 0 {
                    let reason: EvictionObstacle =
                        pinned.contains(file) ? .pinned : isUnsent || !isSent ? .unsent : .notSeen
                    result.kept[reason, default: 0] += bytes
                }
                done += 1
                progress(done)
            }
            try commitIndex()
            seen.tell()
            return result
        }
    }

    /// Bytes of a file that are on this device, by whether they were sent; and whether a change of it was not.
    private func left(
        of file: Int64
    ) throws(FileSystemError) -> (bytes: [Bool: Int64], isUnsent: Bool) {
        var bytes: [Bool: Int64] = [:]
        try forEachPage(of: file) { rows in
            for row in rows where row.place != .remote { bytes[row.remote != 0, default: 0] += row.length }
        }
        let row = try reading { state throws(FileSystemError) in try state.row(file) }
        return (bytes, row.map { !$0.unsent.isDisjoint(with: [.content, .existence]) } ?? false)
    }
}
