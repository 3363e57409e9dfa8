package import CofferFormat
internal import CofferStore
internal import CofferSystem

/// Sealing what is of older epochs under the newest, so that who was removed can read less and less.
///
/// In steps that each leave a whole vault. Nothing is noted of how far it got: what is left are ranges of older
/// epochs, and a step goes on where the one before ended, or begins anew after a mount.
package enum Reencryption {
    /// What became of a step.
    package struct Progress: Equatable, Sendable {
        /// Bytes that were sealed anew.
        package var byteCount: Int64 = 0
        /// Bytes that stay as they are for now: damaged, on a remote that cannot be reached, changed meanwhile.
        package var skippedByteCount: Int64 = 0
        /// Whether it came to the end of the vault; the next step begins with the first file.
        package var isAtEnd = false
    }

    /// Where the next step goes on.
    struct Place {
        var epoch = Epoch.first
        var item: Int64 = 0
        var offset: Int64 = -1
    }

    /// Ranges that are looked at while the lock is held.
    static let batchCount = 256

    /// Whether it falls to this device to seal anew what is of older epochs.
    ///
    /// One device of a vault is to do it: contents that two devices put in the place of the same one are
    /// concurrent, and a conflict copy would be made of bytes that nobody changed. It is the device with the lowest
    /// log among those of whoever began the epoch; if none of them takes part any more, the lowest of all who
    /// may write. Devices that know different commits may disagree for a while.
    ///
    /// - Parameters:
    ///   - own: This device's log.
    ///   - beginners: Logs of the member who began the newest epoch, of devices that still take part.
    ///   - writers: Logs of all members who may write, of devices that still take part.
    package static func falls(to own: LogID, beginners: [LogID], writers: [LogID]) -> Bool {
        (beginners.min() ?? writers.min()) == own
    }
}

extension Vault {
    /// Seals ranges of older epochs anew under the newest, as many as come to about `byteCountMax` bytes.
    ///
    /// What programs see stays as it is, times included. The content of each file that is touched counts as
    /// unsent, and cannot be given up until it was sent; who calls has it sent, before there is too much of it
    /// for the disk. What is on a remote only is fetched. Takes the lock for moments, and lets others have the
    /// disk in between; not from a thread that must not wait for the remote.
    ///
    /// - Throws: `.noSpace`, `.readOnly`; what cannot be read is left out, and told by reading it.
    package func reencrypt(byteCountMax: Int64) throws(FileSystemError) -> Reencryption.Progress {
        if isReadOnly { throw .readOnly }
        var progress = Reencryption.Progress()
        let epoch = epoch
        var place = resealing.withLock { $0 }
        if place.epoch != epoch { place = Reencryption.Place(epoch: epoch) }
        defer { resealing.withLock { $0 = place } }
        while progress.byteCount + progress.skippedByteCount < byteCountMax, !upkeep.isStopped {
            let rows = try reading { state throws(FileSystemError) in
                try storing { () throws(StoreError) in
                    try state.index.extents(
                        after: place.item, place.offset, limit: Reencryption.batchCount)
                }
            }
            for run in Self.runs(of: rows, before: epoch) {
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

    /// Ranges of older epochs, in groups of adjacent ones that make one extent.
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

    /// Bytes of content by the epoch that they are sealed under, as of the last commit; holes do not count.
    ///
    /// Reads all of the index's table of ranges, without keeping others from it.
    package func epochUsage() throws(FileSystemError) -> [Epoch: Int64] {
        try storing { () throws(StoreError) in
            let reader = try state.withLock { state throws(StoreError) in try state.index.makeContentReader()
            }
            return try reader.byteCountsByEpoch()
        }
    }
}
