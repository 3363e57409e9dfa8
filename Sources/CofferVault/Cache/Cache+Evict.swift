package import CofferFormat
internal import CofferStore
internal import CofferSystem

// Eviction of the contents of given files, whatever the cache limit.
extension Cache {
    /// Why content that was to be evicted stays on this device.
    package enum EvictionObstacle: String, Sendable, Codable, CaseIterable {
        /// It is not on the remote, or a change of its file is not.
        case unsent
        /// It was sent, but the remote was not seen to have it now.
        case notSeen = "not-seen"
        /// It is pinned, or in a pinned directory.
        case pinned
    }

    /// The result of evicting the contents of given files.
    package struct Evicted: Sendable, Equatable {
        /// The number of bytes that are only on the remote from now on.
        package var byteCount: Int64 = 0
        /// The number of bytes that are still on this device, by reason.
        package var kept: [EvictionObstacle: Int64] = [:]
    }

    /// Evicts the contents of files, as far as they are also on the remote.
    ///
    /// Takes the lock only briefly. The disk space is free when this returns.
    ///
    /// - Parameter progress: Called with the number of files done.
    package func evict(
        _ files: some Sequence<Int64>, _ progress: (Int) -> Void = { _ in }
    ) throws(FileSystemError) -> Evicted {
        try vault.evicting.withLock { _ throws(FileSystemError) in
            let pinned = try pinnedFiles()
            var result = Evicted()
            var seen = SeenPacks(vault: vault)
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
            try vault.commitIndex()
            seen.tell()
            DebugLog.log(
                .info, .space, "vault \(id: vault.id.high): \(result.byteCount) bytes evicted on request")
            return result
        }
    }

    /// The number of a file's bytes on this device, by whether they were sent; and whether the file has an
    /// unsent change.
    private func left(
        of file: Int64
    ) throws(FileSystemError) -> (bytes: [Bool: Int64], isUnsent: Bool) {
        var bytes: [Bool: Int64] = [:]
        try forEachPage(of: file) { rows in
            for row in rows where row.place != .remote { bytes[row.remote != 0, default: 0] += row.length }
        }
        let row = try vault.reading { state throws(FileSystemError) in try state.tree.row(file) }
        return (bytes, row.map { !$0.unsent.isDisjoint(with: [.content, .existence]) } ?? false)
    }
}
