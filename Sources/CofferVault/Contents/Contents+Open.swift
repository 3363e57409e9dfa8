internal import CofferCrypto
internal import CofferFormat
internal import CofferStore
internal import CofferSystem

// Opening sealed content.
extension Contents {
    /// Decrypts a range of an item into a buffer; parts that no extent covers become zeros.
    ///
    /// Takes the vault's lock only for an error message. Waits for the remote if extents are only there.
    ///
    /// - Parameters:
    ///   - isForAll: Whether to use only keys that the other members also have.
    ///   - demand: What to fetch of extents that are only on the remote.
    /// - Throws: `.damaged` if a block cannot be decrypted, `.keyMissing`, `.stale` if an extent was fetched
    ///   to this device or replaced after it was looked up, `.unreachable`, `.timedOut`.
    func fill(
        _ buffer: AlignedBuffer, at place: Int, with range: Range<Int64>, of id: ItemID,
        from extents: [SealedExtent], isForAll: Bool = false, demand: FetchDemand = .bytes
    ) throws(FileSystemError) {
        var fetched = FetchedExtents(demand)
        let buffers = vault.buffers.take()
        defer { vault.buffers.giveBack(buffers) }
        let start = Int64(place) - range.lowerBound
        var done = range.lowerBound
        for (index, extent) in extents.enumerated() {
            var extent = extent
            let wanted = (extent.row.offset..<extent.row.end).clamped(to: range)
            if extent.remotePlace != nil {
                extent.source = try fetched.source(of: extent, wanted, before: extents[index...], in: vault)
            }
            Self.zero(buffer, start + done, start + wanted.lowerBound)
            let target = Int(start + wanted.lowerBound)
            do throws(FileSystemError) {
                try open(extent, id, wanted, buffers, into: buffer, at: target)
            } catch {
                guard case .damaged = error, !isForAll, vault.keys.count(of: extent.row.epoch) > 1 else {
                    throw error
                }
                try openOtherwise(extent, id, wanted, buffers, into: buffer, at: target)
            }
            done = wanted.upperBound
        }
        Self.zero(buffer, start + done, start + range.upperBound)
    }

    private static func zero(_ buffer: AlignedBuffer, _ start: Int64, _ end: Int64) {
        if start < end { buffer.withMutableBytes(Int(start)..<Int(end)) { $0.zero() } }
    }

    /// Decrypts an extent with the other keys of its epoch, which exist after a fork of the members.
    private func openOtherwise(
        _ extent: SealedExtent, _ id: ItemID, _ wanted: Range<Int64>, _ buffers: ContentBuffers,
        into buffer: AlignedBuffer, at place: Int
    ) throws(FileSystemError) {
        for choice in 1..<vault.keys.count(of: extent.row.epoch) {
            do throws(FileSystemError) {
                return try open(extent, id, wanted, buffers, into: buffer, at: place, choice: choice)
            } catch {
                guard case .damaged = error else { throw error }
            }
        }
        throw .damaged(place: describe(extent))
    }

    /// Decrypts the blocks of an extent that `wanted` (offsets in the item) touches.
    private func open(
        _ extent: SealedExtent, _ id: ItemID, _ wanted: Range<Int64>, _ buffers: ContentBuffers,
        into buffer: AlignedBuffer, at place: Int, choice: Int = 0
    ) throws(FileSystemError) {
        let blocks = try blocks(of: extent, wanted)
        guard vault.keys.has(extent.row.epoch) else { throw .keyMissing(extent.row.epoch) }
        let sealed = try bring(extent, blocks, buffers) { begin(extent, id, buffers, choice: choice) }
        try open(blocks, of: extent, id, wanted, buffers, from: sealed, into: buffer, at: place)
    }

    /// The blocks of an extent that `wanted` (offsets in the item) touches.
    func blocks(of extent: SealedExtent, _ wanted: Range<Int64>) throws(FileSystemError) -> Range<Int> {
        let row = extent.row
        guard row.total > 0, row.total <= ExtentLayout.byteCountMax, row.base <= row.offset,
            row.end - row.base <= row.total
        else { throw .damaged(place: "the reference to an extent") }
        let end = ExtentLayout.blockCount(Int(wanted.upperBound - row.base))
        return Int(wanted.lowerBound - row.base) / ExtentLayout.blockByteCount..<end
    }

    /// Gives the cipher of `buffers` the key of an extent.
    func begin(_ extent: SealedExtent, _ id: ItemID, _ buffers: ContentBuffers, choice: Int = 0) {
        _ = vault.keys.derive(&buffers.itemKey, for: id, extent.row.epoch, choice: choice)
        buffers.cipher.begin(buffers.itemKey, extent.row.prefix)
    }

    /// Decrypts blocks with the key that the cipher of `buffers` has.
    ///
    /// - Parameter sealed: A buffer, and the position of the sealed blocks in it.
    func open(
        _ blocks: Range<Int>, of extent: SealedExtent, _ id: ItemID, _ wanted: Range<Int64>,
        _ buffers: ContentBuffers, from sealed: (buffer: AlignedBuffer, start: Int),
        into buffer: AlignedBuffer, at place: Int
    ) throws(FileSystemError) {
        let row = extent.row
        let total = Int(row.total)
        let inside = Int(wanted.lowerBound - row.base)..<Int(wanted.upperBound - row.base)
        var associated = BlockAssociatedData(vault: vault.id, item: id, base: Int(row.base))
        let last = ExtentLayout.blockCount(total) - 1
        for block in blocks {
            associated.select(block: block, isLast: block == last)
            let start = block * ExtentLayout.blockByteCount
            let whole = start..<start + ExtentLayout.byteCount(ofBlock: block, total: total)
            let part = whole.clamped(to: inside)
            let target = place + part.lowerBound - inside.lowerBound
            let from = sealed.start + (block - blocks.lowerBound) * ExtentLayout.sealedBlockByteCount
            let opened = sealed.buffer.withBytes(from..<from + whole.count + ExtentLayout.tagByteCount) {
                bytes in
                if part == whole {
                    return buffer.withMutableBytes(target..<target + whole.count) {
                        Self.openBlock(block, bytes, associated.bytes, buffers.cipher, into: &$0)
                    }
                }
                let opened = buffers.block.withMutableBytes(0..<whole.count) {
                    Self.openBlock(block, bytes, associated.bytes, buffers.cipher, into: &$0)
                }
                let from = part.lowerBound - whole.lowerBound
                if opened {
                    buffers.block.withBytes(from..<from + part.count) { buffer.copy($0, to: target) }
                }
                return opened
            }
            guard opened else { throw .damaged(place: describe(extent)) }
        }
    }

    private static func openBlock(
        _ block: Int, _ sealed: RawSpan, _ associated: [UInt8], _ cipher: LibcryptoBlockCipher,
        into target: inout MutableRawSpan
    ) -> Bool {
        do throws(CryptoError) {
            try unsafe cipher.open(
                sealed, number: UInt64(block), associated: associated.span.bytes, into: &target)
            return true
        } catch {
            return false
        }
    }

    /// Brings the sealed bytes of some blocks into memory.
    ///
    /// - Parameter meanwhile: Runs once; while the disk works, if there is time.
    /// - Returns: The buffer that contains them, and their position in it.
    private func bring(
        _ extent: SealedExtent, _ blocks: Range<Int>, _ buffers: ContentBuffers, meanwhile: () -> Void
    ) throws(FileSystemError) -> (buffer: AlignedBuffer, start: Int) {
        let range = ExtentLayout.sealedRange(of: blocks, total: Int(extent.row.total))
        let (start, end) = (range.lowerBound, range.upperBound)
        switch extent.source {
        case .buffer(let buffer, let place, let from):
            meanwhile()
            return (buffer, place + start - from)
        case .held(let sealed):
            meanwhile()
            guard sealed.count >= end else { throw .damaged(place: describe(extent)) }
            return (sealed.buffer, sealed.range.lowerBound + start)
        case .remote: throw .damaged(place: describe(extent))
        case .bytes(let sealed):
            meanwhile()
            guard sealed.count >= end else { throw .damaged(place: describe(extent)) }
            unsafe buffers.sealed.copy(sealed.span.bytes.extracting(start..<end), to: 0)
            return (buffers.sealed, 0)
        case .file(let file, let isScattered):
            guard case .pack(_, let position) = extent.row.place else {
                throw .damaged(place: describe(extent))
            }
            if isScattered {
                let skew = try file.readScattered(
                    into: buffers.sealed, from: Int(position) + start, count: end - start,
                    polling: buffers.reads, meanwhile: meanwhile)
                if let skew { return (buffers.sealed, skew) }
            } else {
                meanwhile()
            }
            let count = try buffers.sealed.withMutableBytes(0..<end - start) {
                bytes throws(FileSystemError) in
                try file.read(into: &bytes, at: Int(position) + start)
            }
            guard count == end - start else { throw .damaged(place: describe(extent)) }
            return (buffers.sealed, 0)
        }
    }

    private func describe(_ extent: SealedExtent) -> String {
        switch extent.row.place {
        case .row(let number): "row \(number) of the index's contents"
        case .remote: "extent \(extent.row.remote) on the remote"
        case .pack(let pack, let position):
            """
            byte \(position) of pack \
            \(vault.state.withLock { $0.packs.id(of: pack)?.description } ?? String(pack))
            """
        }
    }
}
