internal import CofferCrypto
internal import CofferFormat
internal import CofferStore
internal import CofferSystem

// Changing content.
extension Vault {
    /// Writes bytes at an offset.
    ///
    /// As pwrite(2).
    ///
    /// - Parameters:
    ///   - touches: Whether the times of the item change (not for pages that the kernel had cached).
    ///   - dropsPrivileges: Whether set-user-id and set-group-id are to go.
    package func write(
        _ bytes: RawSpan, to number: Int64, at offset: Int64, touches: Bool, dropsPrivileges: Bool
    ) throws(FileSystemError) {
        guard offset >= 0, offset <= Self.fileByteCountMax - Int64(bytes.byteCount) else {
            throw .fileTooLarge
        }
        if isReadOnly { throw .readOnly }
        let id = try reading { state throws(FileSystemError) in
            try state.ensureWritable()
            let item = try state.item(number)
            guard item.type == .regular else { throw .invalidArgument }
            return item.row.id
        }
        var done = 0
        while done < bytes.byteCount {
            let count = min(ExtentLayout.byteCountMax, bytes.byteCount - done)
            try writeExtent(bytes.extracting(done..<done + count), id, number, at: offset + Int64(done))
            done += count
        }
        try changing { state throws(FileSystemError) in
            let item = try state.item(number)
            if touches {
                item.row.modified = Clock.realTime
                item.row.changed = item.row.modified
            }
            if dropsPrivileges { try self.dropPrivileges(of: item, all: false, state) }
            try self.dropCapability(of: item, state)
            state.touch(item, touches ? [.content, .times] : .content)
        }
    }

    /// Seals one extent, without the lock, and puts it in the place of what was there.
    private func writeExtent(
        _ bytes: RawSpan, _ id: ItemID, _ number: Int64, at offset: Int64
    ) throws(FileSystemError) {
        let buffers = buffers.take()
        defer { self.buffers.giveBack(buffers) }
        let prefix = NoncePrefix.random()
        let count = try seal(bytes, of: id, at: Int(offset), prefix, buffers)
        try store(
            sealed: buffers.sealed, count: count, of: number, at: offset, length: Int64(bytes.byteCount),
            prefix: prefix)
    }

    /// Seals an extent block by block into `buffers.sealed`.
    ///
    /// - Returns: Bytes of the sealed extent.
    func seal(
        _ bytes: RawSpan, of id: ItemID, at base: Int, _ prefix: NoncePrefix, _ buffers: ContentBuffers
    ) throws(FileSystemError) -> Int {
        guard keys.derive(&buffers.itemKey, for: id, keys.current) else {
            throw .damaged(place: "the keyring")
        }
        let total = bytes.byteCount
        var associated = BlockAssociatedData(vault: self.id, item: id, base: base)
        buffers.cipher.begin(buffers.itemKey, prefix)
        let blocks = ExtentLayout.blockCount(total)
        for block in 0..<blocks {
            associated.select(block: block, isLast: block == blocks - 1)
            let start = block * ExtentLayout.blockByteCount
            let count = ExtentLayout.byteCount(ofBlock: block, total: total)
            let place = ExtentLayout.sealedOffset(ofBlock: block)
            let plaintext = bytes.extracting(start..<start + count)
            let data = associated.bytes
            buffers.sealed.withMutableBytes(place..<place + count + ExtentLayout.tagByteCount) { target in
                unsafe buffers.cipher.seal(
                    plaintext, number: UInt64(block), associated: data.span.bytes, into: &target)
            }
        }
        return ExtentLayout.sealedByteCount(total)
    }

    /// Gives a sealed extent its place and makes the item refer to it.
    private func store(
        sealed: AlignedBuffer, count: Int, of number: Int64, at offset: Int64, length: Int64,
        prefix: NoncePrefix
    ) throws(FileSystemError) {
        if count > PackStore.tailPieceMax {
            let place = try changing { state throws(FileSystemError) in
                try self.ensureSpace(for: count, state)
                return try storing { () throws(StoreError) in
                    try state.packs.allocate(count, plaintext: length, newPack: state.newPack)
                }
            }
            do throws(StoreError) {
                try sealed.withBytes(0..<count) { bytes throws(StoreError) in
                    try place.file.write(bytes, at: place.position)
                }
            } catch {
                state.withLock { $0.packs.abandon(plaintext: length, in: place.pack) }
                throw FileSystemError(error)
            }
            return try changing { state throws(FileSystemError) in
                state.packs.noteWritten(count, plaintext: length, to: place.pack)
                try self.refer(
                    to: .pack(place.pack, position: Int64(place.position)), number, offset, length, prefix,
                    state)
            }
        }
        try changing { state throws(FileSystemError) in
            try self.ensureSpace(for: count, state)
            let place = try sealed.withBytes(0..<count) { bytes throws(FileSystemError) in
                do throws(StoreError) {
                    return try state.packs.append(
                        bytes, item: number, base: offset, total: length, newPack: state.newPack)
                } catch {
                    throw FileSystemError(error)
                }
            }
            try self.refer(
                to: .pack(place.pack, position: Int64(place.position)), number, offset, length, prefix, state)
        }
    }

    /// Makes a range of an item refer to a new extent.
    private func refer(
        to place: ExtentRow.Place, _ number: Int64, _ offset: Int64, _ length: Int64, _ prefix: NoncePrefix,
        _ state: VaultState
    ) throws(FileSystemError) {
        let item = try state.item(number)
        readAhead.end(number)
        let row = ExtentRow(
            item: number, offset: offset, length: length, place: place, prefix: prefix, epoch: keys.current)
        if offset < item.row.size { try removeContent(of: item, offset..<row.end, state) }
        try storing { () throws(StoreError) in try state.index.insert(row) }
        item.row.allocated += length
        item.row.size = max(item.row.size, row.end)
        state.touch(item, .content)
        if length < Compaction.smallByteCount, offset > 0 { state.fragmented.insert(number) }
    }

    /// Makes a range of an item a hole; ranges that reach beyond it are shortened.
    func removeContent(
        of item: CachedItem, _ range: Range<Int64>, _ state: VaultState
    ) throws(FileSystemError) {
        guard !range.isEmpty else { return }
        let number = item.row.number
        readAhead.end(number)
        let rows = try storing { () throws(StoreError) in
            try state.index.extents(of: number, overlapping: range)
        }
        for row in rows {
            let overlap = row.offset..<row.end
            let removed = overlap.clamped(to: range)
            try storing { () throws(StoreError) in
                try state.index.remove(row)
                if overlap.lowerBound < removed.lowerBound {
                    var left = row
                    left.length = removed.lowerBound - row.offset
                    try state.index.insert(left)
                }
                if removed.upperBound < overlap.upperBound {
                    var right = row
                    right.offset = removed.upperBound
                    right.length = row.end - removed.upperBound
                    try state.index.insert(right)
                }
            }
            item.row.allocated -= Int64(removed.count)
            try drop(row, Int64(removed.count), state)
        }
    }

    /// Counts bytes of an extent as dead.
    private func drop(_ row: ExtentRow, _ count: Int64, _ state: VaultState) throws(FileSystemError) {
        switch row.place {
        case .pack(let pack, let position):
            state.packs.addLive(-count, to: pack)
            state.deadByteCount += count
            if count == row.total, count >= Compaction.smallByteCount {
                state.discards.append(
                    .init(
                        pack: pack, position: Int(position),
                        count: ExtentLayout.sealedByteCount(Int(row.total))))
            }
        case .row(let content):
            try storing { () throws(StoreError) in try state.index.addLive(-count, toContent: content) }
        }
    }

    /// Changes the size; what is behind a smaller size is gone, what a larger one adds is a hole.
    func resize(
        _ item: CachedItem, to size: Int64, _ time: Int64, _ state: VaultState
    ) throws(FileSystemError) {
        guard item.type == .regular else {
            throw item.type == .directory ? .isDirectory : .invalidArgument
        }
        guard size >= 0, size <= Self.fileByteCountMax else { throw .fileTooLarge }
        readAhead.end(item.row.number)
        if size < item.row.size { try removeContent(of: item, size..<Int64.max, state) }
        item.row.size = size
        item.row.modified = time
        try dropCapability(of: item, state)
        state.touch(item, [.content, .times])
    }
}
