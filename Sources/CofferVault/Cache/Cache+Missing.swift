package import CofferFacts
package import CofferFormat
internal import CofferStore
internal import CofferSystem

// What would be lost with the remote.
extension Cache {
    /// Files with content that is on the remote only, and the bytes of it.
    package func missingContent() throws(FileSystemError) -> (items: Int, bytes: Int64) {
        if !vault.isReadOnly, vault.stoppedReason == nil { try vault.commitIndex() }
        let (items, bytes) = try vault.state.withLock { state throws(FileSystemError) in
            try state.index.makeReader()
        }.missing()
        return (Int(items), bytes)
    }

    /// The packs at the remote that contents refer to, including those of files without a name.
    package func remotePacks() throws(FileSystemError) -> ContentPacks {
        if !vault.isReadOnly, vault.stoppedReason == nil { try vault.commitIndex() }
        let (reader, isComplete) = try vault.reading { state throws(FileSystemError) in
            var owed: [KeptRow] = []
            if state.tree.isTracking {
                owed = try state.index.keptRows(.owed ... .owed, after: nil, limit: 1)
                owed += try state.index.keptRows(.places ... .lacking, after: nil, limit: 1)
            }
            return (try state.index.makeReader(), owed.isEmpty)
        }
        var packs = Set(try reader.remotePacks().filter { $0 != .nowhere })
        // What the next commits state is at the remote already.
        vault.moves.withLock { for move in $0 { packs.formUnion(move.packs) } }
        return ContentPacks(packs, isComplete: isComplete)
    }

    /// What contents refer to in packs at the remote.
    package func remotePackUse() throws(FileSystemError) -> [PackID: RemotePackUse] {
        if !vault.isReadOnly, vault.stoppedReason == nil { try vault.commitIndex() }
        let reader = try vault.reading { state throws(FileSystemError) in try state.index.makeReader() }
        return try reader.remotePackUse()
    }

    /// Fetches all content that is on the remote only, as if it was read.
    ///
    /// Waits for the remote, and takes the lock for moments only. Without a cache limit it stays here.
    ///
    /// - Parameter progress: Told how many bytes are done, and of how many.
    /// - Throws: `.unreachable`, `.timedOut`, `.notArrived`, `.damaged`, `.keyMissing` for content that cannot be
    ///   fetched; `.noSpace` where it can, and cannot be kept.
    package func fetchMissing(_ progress: (Int, Int) -> Void) throws(FileSystemError) {
        let buffer = AlignedBuffer(count: ExtentLayout.byteCountMax)
        let total = try missingContent().bytes
        var left = total
        while left > 0 {
            var place: (item: Int64, offset: Int64) = (0, -1)
            var done = total - left
            while true {
                let page = try missingRanges(behind: place.item, place.offset)
                for (item, range) in page {
                    place = (item, range.lowerBound)
                    try fetch(range, of: item, into: buffer)
                    done = min(total, done + Int64(range.count))
                    progress(Int(done), Int(total))
                }
                if page.isEmpty { break }
            }
            vault.remoteReads.waitUntilStored()
            // What two files share is stored for the one that it was fetched for; the other one comes for it anew.
            vault.remoteReads.letGo()
            let rest = try missingContent().bytes
            guard rest < left else { throw .noSpace }
            left = rest
        }
    }

    private func missingRanges(
        behind item: Int64, _ offset: Int64
    ) throws(FileSystemError) -> [(item: Int64, range: Range<Int64>)] {
        try vault.state.withLock { state throws(FileSystemError) in try state.index.makeReader() }
            .missingRanges(behind: item, offset, limit: 256)
    }

    func fetch(
        _ range: Range<Int64>, of item: Int64, into buffer: AlignedBuffer
    ) throws(FileSystemError) {
        var offset = range.lowerBound
        while offset < range.upperBound {
            let count = Int(min(Int64(ExtentLayout.byteCountMax), range.upperBound - offset))
            do throws(FileSystemError) {
                _ = try vault.contents.read(item, at: offset, count: count, into: buffer, demand: .extents)
            } catch {
                // What was removed or cut off meanwhile is not missing.
                guard case .stale = error else { throw error }
                return
            }
            offset += Int64(count)
        }
    }
}
