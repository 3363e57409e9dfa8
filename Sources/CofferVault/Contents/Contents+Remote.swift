internal import CofferFormat
internal import CofferStore
internal import CofferSystem

// Contents that are not on this device.
extension Contents {
    /// Sets the source of contents that are not on this device; nil for none.
    package func attach(_ source: (any ContentSource)?) {
        vault.remoteReads.attach(source)
    }

    /// Whether a range of an item is still only on the remote.
    func isMissing(_ row: ExtentRow) throws(FileSystemError) -> Bool {
        try vault.reading { state throws(FileSystemError) in
            try state.rows(ofExtent: row).contains { $0.place == .remote && $0.remote == row.remote }
        }
    }

    /// The extents of a file's range that are only on the remote.
    func missingExtents(
        of number: Int64, _ range: Range<Int64>
    ) throws(FileSystemError) -> [SealedExtent] {
        try vault.reading { state throws(FileSystemError) in
            var extents: [SealedExtent] = []
            for row in try state.index.extents(of: number, overlapping: range)
            where row.place == .remote && row.remote != extents.last?.row.remote {
                extents.append(
                    SealedExtent(
                        row: row, source: .remote(try state.index.remoteExtent(row.remote).place)))
            }
            return extents
        }
    }

    /// The parts of a file's range that are only on the remote, in order.
    func missingRanges(
        of number: Int64, _ range: Range<Int64>
    ) throws(FileSystemError) -> [Range<Int64>] {
        try vault.reading { state throws(FileSystemError) in
            try state.index.extents(of: number, overlapping: range).filter { $0.place == .remote }.map {
                ($0.offset..<$0.end).clamped(to: range)
            }
        }
    }

    /// Stores the fetched bytes of an extent that was only on the remote, as far as its item still refers to
    /// it.
    ///
    /// If there is no room, or if the vault is read-only, the extent stays only on the remote.
    func storeFetched(_ sealed: BufferPart, _ row: ExtentRow) {
        do throws(FileSystemError) {
            try store(row, inPlaceOf: .remote) { target in sealed.withBytes { target.copy($0, to: 0) } }
            vault.cache.noteCached(row.total, of: row.item)
        } catch {
            switch error {
            case .noSpace, .readOnly, .stale: return
            default:
                vault.problems.add(
                    "\(vault.path(of: row.item)): fetched contents could not be stored: \(error.summary)")
            }
        }
    }

    /// Puts the sealed bytes of an extent into a pack, and makes the item's ranges that refer to an old place
    /// refer to the new one.
    ///
    /// - Parameter fill: Puts the bytes at the beginning of a buffer.
    func store(
        _ row: ExtentRow, inPlaceOf place: ExtentRow.Place, _ fill: (AlignedBuffer) -> Void
    ) throws(FileSystemError) {
        if vault.isReadOnly { throw .readOnly }
        func rows(_ state: inout VaultState) throws(FileSystemError) -> [ExtentRow] {
            guard try state.tree.row(row.item) != nil else { return [] }
            return try state.rows(ofExtent: row).filter {
                $0.place == place && $0.remote == row.remote
            }
        }
        var extent = try makeExtent(of: row.item, base: row.base, total: row.total)
        fill(extent.target)
        try self.place(&extent) { state throws(FileSystemError) in
            try !rows(&state).isEmpty
        } use: { new, state throws(FileSystemError) in
            guard case .pack(let pack, let position) = new else { return }
            // Extents that were fetched ahead must not be the first to be evicted.
            state.packs.noteUse(of: pack)
            let old = try rows(&state)
            let live = old.reduce(0) { $0 + $1.length }
            for row in old {
                var kept = row
                kept.place = new
                try state.index.remove(row)
                try state.index.insert(kept)
            }
            for row in old { try state.dropLocal(row, row.length) }
            if live == row.total { return }
            state.packs.drop(pack, at: Int(position), row.total - live)
            var moved = row
            moved.place = new
            let dead = RangeSet(row.base..<row.base + row.total)
                .subtracting(RangeSet(old.map { $0.offset..<$0.end }))
            for range in dead.ranges
            where range.count < Compaction.discardedByteCountMin || !state.discard(moved, range) {
                state.packs.noteDeadFromStart(Int64(range.count), in: pack)
            }
        }
    }

    /// Moves an extent that is also on the remote to another pack, without sealing it again.
    func move(_ row: ExtentRow) throws(FileSystemError) {
        guard case .pack(let pack, let position) = row.place else { return }
        do throws(FileSystemError) {
            var sealed = [UInt8](repeating: 0, count: ExtentLayout.sealedByteCount(Int(row.total)))
            var count = sealed.count
            if let bytes = vault.state.withLock({
                $0.packs.unwrittenBytes(pack, at: Int(position), count: count)
            }) {
                sealed = bytes
            } else {
                let file = try vault.state.withLock { state throws(FileSystemError) in
                    try state.packs.openFile(pack)
                }
                count = try sealed.withMutableRawSpan { bytes throws(FileSystemError) in
                    try file.read(into: &bytes, at: Int(position))
                }
            }
            let (rows, hash, origin) = try vault.reading { state throws(FileSystemError) in
                let rows = try state.rows(ofExtent: row).filter {
                    $0.place == row.place && $0.remote == row.remote
                }
                // It may have been overwritten and forgotten in the meantime.
                if rows.isEmpty { throw .stale }
                let place = try state.index.remoteExtent(row.remote).place
                return (rows, place.hash, try state.tree.peek(row.item).origin)
            }
            guard count == sealed.count else { return }
            if unsafe RemoteHash.extent(sealed.span.bytes) != hash {
                // Parts without references may be gone.
                let scratch = vault.buffers.take()
                defer { vault.buffers.giveBack(scratch) }
                for row in rows {
                    try fill(
                        scratch.sealed, at: 0, with: row.offset..<row.end, of: origin,
                        from: [SealedExtent(row: row, source: .bytes(sealed))])
                }
            }
            try store(row, inPlaceOf: row.place) { unsafe $0.copy(sealed.span.bytes, to: 0) }
        } catch {
            // A damaged or changed extent stays as it is.
            guard case .noSpace = error else { return }
            throw error
        }
        vault.upkeep.pause()
    }
}
