package import CofferFormat
internal import CofferStore
internal import CofferSystem

/// Re-encryption of data of older epochs under the newest, so that removed members can read less and less.
///
/// Runs in steps that each leave the vault consistent. Progress is not stored: the remaining work is all
/// ranges of older epochs. A step continues where the last one ended, or starts over after a mount.
package enum Reencryption {
    /// The result of a step.
    package struct Progress: Equatable, Sendable {
        /// The number of bytes that were re-encrypted.
        package var byteCount: Int64 = 0
        /// The number of bytes that were skipped for now: damaged, on an unreachable remote, or changed in
        /// the meantime.
        package var skippedByteCount: Int64 = 0
        /// Whether the step reached the end of the vault; the next one begins with the first file.
        package var isAtEnd = false
    }

    /// Where the next step continues.
    struct Place {
        var epoch = Epoch.first
        var item: Int64 = 0
        var offset: Int64 = -1
    }

    /// The number of ranges that are looked at while the lock is held.
    static let batchCount = 256

    /// Whether this device is responsible for re-encrypting data of older epochs.
    ///
    /// Only one device of a vault may do it: if two devices replaced the same content, their versions would
    /// be concurrent, and bytes that no user changed would get a conflict copy. The responsible device is the
    /// one with the lowest log among those of the member who began the epoch; if none of them takes part any
    /// more, it is the lowest of all that may write. Devices that know different commits may disagree for a
    /// while.
    ///
    /// - Parameters:
    ///   - own: This device's log.
    ///   - beginners: Logs of the member who began the newest epoch, of devices that still take part.
    ///   - writers: Logs of all members who may write, of devices that still take part.
    package static func falls(to own: LogID, beginners: [LogID], writers: [LogID]) -> Bool {
        (beginners.min() ?? writers.min()) == own
    }
}

extension Repacking {
    /// Re-encrypts ranges of older epochs under the newest, about `byteCountMax` bytes of them.
    ///
    /// Programs see no change, and times stay as they are. The content of each file touched becomes unsent,
    /// and cannot be evicted until it has been sent. The caller sends it before there is too much of it for
    /// the disk. Content that is only on a remote is fetched, so do not call this from a thread that must not
    /// wait for the remote. Takes the lock only briefly, and pauses to let other threads use the disk.
    ///
    /// - Throws: `.noSpace`, `.readOnly`. Content that cannot be read is skipped; reading it reports the
    ///   error.
    package func reencrypt(byteCountMax: Int64) throws(FileSystemError) -> Reencryption.Progress {
        if vault.isReadOnly { throw .readOnly }
        var progress = Reencryption.Progress()
        let epoch = vault.epoch
        var place = vault.resealing.withLock { $0 }
        if place.epoch != epoch { place = Reencryption.Place(epoch: epoch) }
        defer { vault.resealing.withLock { $0 = place } }
        while progress.byteCount + progress.skippedByteCount < byteCountMax, !vault.upkeep.isStopped {
            let rows = try vault.reading { state throws(FileSystemError) in
                try state.index.extents(
                    after: place.item, place.offset, limit: Reencryption.batchCount)
            }
            for run in Self.runs(of: try ofPresent(rows), before: epoch) {
                guard progress.byteCount + progress.skippedByteCount < byteCountMax else { return progress }
                let count = run.reduce(0) { $0 + $1.length }
                if try rewrite(run, marking: .content) {
                    progress.byteCount += count
                } else {
                    progress.skippedByteCount += count
                }
                if let last = run.last { (place.item, place.offset) = (last.item, last.offset) }
            }
            guard rows.count == Reencryption.batchCount, let last = rows.last else {
                place = Reencryption.Place(epoch: epoch)
                progress.isAtEnd = true
                break
            }
            (place.item, place.offset) = (last.item, last.offset)
        }
        return progress
    }

    /// Those ranges that the present contents have: what only the history has stays as it is.
    private func ofPresent(_ rows: [ExtentRow]) throws(FileSystemError) -> [ExtentRow] {
        try vault.reading { state throws(FileSystemError) in
            guard state.index.hasHistory else { return rows }
            var kept: [ExtentRow] = []
            for row in rows where try state.tree.row(row.item)?.flags.contains(.isVersion) == false {
                kept.append(row)
            }
            return kept
        }
    }

    /// Ranges of older epochs, in groups of adjacent ranges that fit one extent.
    private static func runs(of rows: [ExtentRow], before epoch: Epoch) -> [[ExtentRow]] {
        var runs: [[ExtentRow]] = []
        var length: Int64 = 0
        for row in rows where row.epoch < epoch {
            if let last = runs.last?.last, last.item == row.item, last.end == row.offset,
                length + row.length <= Int64(ExtentLayout.byteCountMax)
            {
                runs[runs.count - 1].append(row)
                length += row.length
            } else {
                runs.append([row])
                length = row.length
            }
        }
        return runs
    }

    /// The number of bytes of content sealed under each epoch, as of the last commit; holes do not count.
    ///
    /// Reads the whole table of ranges, without blocking its other users.
    package func epochUsage() throws(FileSystemError) -> [Epoch: Int64] {
        let reader = try vault.state.withLock { state throws(FileSystemError) in
            try state.index.makeContentReader()
        }
        return try reader.byteCountsByEpoch()
    }
}
