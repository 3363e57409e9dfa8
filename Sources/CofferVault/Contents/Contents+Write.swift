internal import CofferCrypto
package import CofferFormat
internal import CofferStore
internal import CofferSystem

// Changing content.
extension Contents {
    /// Writes bytes at an offset.
    ///
    /// Behaves like pwrite(2).
    ///
    /// - Parameters:
    ///   - touches: Whether to change the item's times; false if the kernel keeps them.
    ///   - dropsPrivileges: Whether to remove set-user-id and set-group-id.
    package func write(
        _ bytes: RawSpan, to number: Int64, at offset: Int64, touches: Bool, dropsPrivileges: Bool
    ) throws(FileSystemError) {
        guard offset >= 0, offset <= Vault.fileByteCountMax - Int64(bytes.byteCount) else {
            throw .fileTooLarge
        }
        try vault.ensureChangeable()
        var origin = try origin(ofWritable: number)
        var done = 0
        while done < bytes.byteCount {
            let count = min(ExtentLayout.byteCountMax, bytes.byteCount - done)
            let isLast = done + count == bytes.byteCount
            let isStored = try store(
                bytes.extracting(done..<done + count), of: origin, number, at: offset + Int64(done),
                isWanted: { state throws(FileSystemError) in
                    if state.index.failsForAbsentPages {
                        let start = offset + Int64(done)
                        try state.prepareRemoval(of: number, start..<start + Int64(count))
                    }
                    return try state.tree.item(number).row.origin == origin && !state.mustWaitToDivide(number)
                }
            ) { row, state throws(FileSystemError) in
                try state.keepIfOutdated(try state.tree.item(number))
                let size = try state.tree.item(number).row.size
                let changes = state.index.changes
                try state.refer(to: row)
                state.noteIntent(of: row, changes: state.index.changes - changes)
                guard isLast else { return }
                let item = try state.tree.item(number)
                if touches {
                    item.row.modified = Clock.fileTime
                    item.row.changed = item.row.modified
                }
                item.written = Clock.realTime
                // A file that was emptied, and has been written anew, may grow again.
                if item.row.size > size { item.endMoved = size > 0 ? item.written : 0 }
                if dropsPrivileges { try state.tree.dropPrivileges(of: item, all: false) }
                try state.tree.dropCapability(of: item)
                state.tree.touch(item, touches ? [.content, .times] : .content)
            }
            // If content of another origin has replaced the item's, the bytes must be sealed for that and
            // written again.
            if isStored {
                done += count
            } else {
                vault.state.wait { $0.mustWaitToDivide(number) ? nil : () }
                origin = try self.origin(ofWritable: number)
            }
        }
    }

    /// The id under which new content of an item is sealed.
    private func origin(ofWritable number: Int64) throws(FileSystemError) -> ItemID {
        try vault.looking { state throws(FileSystemError) in
            try state.ensureWritable()
            let item = try state.tree.item(number)
            guard item.type == .regular else { throw .invalidArgument }
            return item.row.origin
        }
    }

    /// Seals an extent without the lock; then, with it, places the extent and makes `refer` use it.
    ///
    /// - Parameter isWanted: Whether the extent is still to be stored.
    /// - Returns: Whether it was stored.
    @discardableResult
    func store(
        _ bytes: RawSpan, of id: ItemID, _ number: Int64, at offset: Int64,
        isWanted: (inout VaultState) throws(FileSystemError) -> Bool = { _ in true },
        refer: (ExtentRow, inout VaultState) throws(FileSystemError) -> Void
    ) throws(FileSystemError) -> Bool {
        var extent = try makeExtent(of: number, base: offset, total: Int64(bytes.byteCount))
        let prefix = NoncePrefix.random()
        // Read once, as an epoch may begin at any moment.
        let keys = vault.keys
        try seal(bytes, of: id, at: Int(offset), prefix, keys, extent.buffers, into: extent.target)
        return try place(&extent, isWanted: isWanted) { place, state throws(FileSystemError) in
            try refer(
                ExtentRow(
                    item: number, offset: offset, length: Int64(bytes.byteCount), place: place,
                    prefix: prefix, epoch: keys.current),
                &state)
        }
    }

    /// An extent to seal, with its buffers; waits for the disk while all those for large extents are in use.
    func makeExtent(
        of number: Int64, base: Int64, total: Int64
    ) throws(FileSystemError) -> OutgoingExtent {
        OutgoingExtent(
            of: number, base: base, total: total,
            large: OutgoingExtent.isLarge(total) ? try takeWriteBuffer() : nil, from: vault.buffers,
            vault.writer)
    }

    /// Places a sealed extent in a pack under the lock, and makes `use` refer to it.
    ///
    /// - Parameter isWanted: Whether the extent is still to be stored.
    /// - Returns: Whether it was placed.
    @discardableResult
    func place(
        _ extent: inout OutgoingExtent,
        isWanted: (inout VaultState) throws(FileSystemError) -> Bool,
        use: (ExtentRow.Place, inout VaultState) throws(FileSystemError) -> Void
    ) throws(FileSystemError) -> Bool {
        while true {
            let isPlaced = try vault.bringingPages { fails throws(FileSystemError) in
                try vault.changing(failsForAbsentPages: fails) { state throws(FileSystemError) -> Bool? in
                    guard try isWanted(&state) else { return false }
                    state.index.failsForAbsentPages = false
                    guard extent.fits(state.packs) else { return nil }
                    try state.space.ensure(for: extent.count)
                    let place = try extent.place(in: &state)
                    let changes = state.index.changes
                    do throws(FileSystemError) {
                        try use(.pack(place.pack, position: Int64(place.position)), &state)
                    } catch {
                        if state.index.changes == changes {
                            state.packs.drop(place.pack, at: place.position, extent.total)
                        }
                        throw error
                    }
                    return true
                }
            }
            if let isPlaced { return isPlaced }
            extent.addSpare(try takeWriteBuffer())
        }
    }

    private func takeWriteBuffer() throws(FileSystemError) -> AlignedBuffer {
        do throws(FileSystemError) {
            return try vault.writer.takeBuffer()
        } catch {
            if case .noSpace = error { throw error }
            // An extent that rows refer to could not be written, so no commit may follow.
            vault.stop(error.summary)
            throw error
        }
    }

    /// Seals an extent block by block.
    func seal(
        _ bytes: RawSpan, of id: ItemID, at base: Int, _ prefix: NoncePrefix, _ keys: ContentKeys,
        _ buffers: ContentBuffers, into target: AlignedBuffer
    ) throws(FileSystemError) {
        guard keys.derive(&buffers.itemKey, for: id, keys.current) else {
            throw .damaged(place: "the keyring")
        }
        let total = bytes.byteCount
        var associated = BlockAssociatedData(vault: vault.id, item: id, base: base)
        buffers.cipher.begin(buffers.itemKey, prefix)
        let blocks = ExtentLayout.blockCount(total)
        for block in 0..<blocks {
            associated.select(block: block, isLast: block == blocks - 1)
            let start = block * ExtentLayout.blockByteCount
            let count = ExtentLayout.byteCount(ofBlock: block, total: total)
            let place = ExtentLayout.sealedOffset(ofBlock: block)
            let plaintext = bytes.extracting(start..<start + count)
            let data = associated.bytes
            target.withMutableBytes(place..<place + count + ExtentLayout.tagByteCount) { sealed in
                unsafe buffers.cipher.seal(
                    plaintext, number: UInt64(block), associated: data.span.bytes, into: &sealed)
            }
        }
    }
}
