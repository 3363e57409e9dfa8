internal import CofferCrypto
internal import CofferFormat
internal import CofferStore
package import CofferSystem

// Reading content.
extension Vault {
    /// A piece of what a read wants, with the sealed bytes if they need not be fetched from a file.
    private struct Piece {
        let row: ExtentRow
        let file: PackFile?
        let sealed: [UInt8]?
        /// Whether the page cache is to be passed by.
        let isScattered: Bool
    }

    /// Plaintext bytes up to which a read away from the last one counts as scattered, and of an extent from
    /// which on: extents of small files lie in the order in which they are likely to be read.
    private static let scatteredReadMax = 64 << 10
    private static let scatteredExtentMin: Int64 = 64 << 10

    /// Reads into `buffer`.
    ///
    /// As pread(2).
    ///
    /// - Returns: Bytes that were read: fewer than asked for only at the end of the file.
    /// - Throws: `.damaged` if a byte of them is not what was written; the problem log then names the file.
    package func read(
        _ number: Int64, at offset: Int64, count: Int, into buffer: AlignedBuffer
    ) throws(FileSystemError) -> Int {
        for attempt in 0..<3 {
            let (id, size, pieces): (ItemID, Int64, [Piece])
            do throws(FileSystemError) {
                (id, size, pieces) = try plan(number, at: offset, count: count)
            } catch {
                note(error, number, offset..<offset + Int64(count))
                throw error
            }
            guard offset >= 0, offset < size, count > 0 else { return 0 }
            let range = offset..<min(offset + Int64(count), size)
            do throws(FileSystemError) {
                try fill(buffer, with: range, id, pieces)
                return range.count
            } catch {
                // A range that was replaced meanwhile may have lost its bytes to compaction: look again.
                guard case .damaged = error else { throw error }
                let again = try plan(number, at: offset, count: count)
                if attempt < 2, again.pieces.map(\.row) != pieces.map(\.row) { continue }
                note(error, number, range)
                throw error
            }
        }
        throw .stale
    }

    /// Puts damage that a reader met into the problem log.
    private func note(_ error: FileSystemError, _ number: Int64, _ range: Range<Int64>) {
        guard case .damaged(let place) = error else { return }
        problems.add(
            "\(path(of: number)): bytes \(range.lowerBound) to \(range.upperBound - 1) cannot be read: \(place) is damaged"
        )
    }

    /// What there is to read, as of now.
    private func plan(
        _ number: Int64, at offset: Int64, count: Int
    ) throws(FileSystemError) -> (id: ItemID, size: Int64, pieces: [Piece]) {
        try reading { state throws(FileSystemError) in
            let row = try state.peek(number)
            guard FileType(mode: row.mode) == .regular else {
                throw FileType(mode: row.mode) == .directory ? .isDirectory : .invalidArgument
            }
            guard offset >= 0, offset < row.size, count > 0 else { return (row.id, row.size, []) }
            let range = offset..<min(offset + Int64(count), row.size)
            let pieces = try storing { () throws(StoreError) in
                var pieces: [Piece] = []
                let jumps = state.recentReads.note(number, range) && count <= Self.scatteredReadMax
                for extent in try state.index.extents(of: number, overlapping: range) {
                    pieces.append(try self.piece(extent, jumps, state))
                }
                return pieces
            }
            return (row.id, row.size, pieces)
        }
    }

    private func piece(
        _ row: ExtentRow, _ jumps: Bool, _ state: VaultState
    ) throws(StoreError) -> Piece {
        switch row.place {
        case .row(let number):
            guard let sealed = try state.index.content(number) else {
                throw .damaged(place: "row \(number) of the index's contents")
            }
            return Piece(row: row, file: nil, sealed: sealed, isScattered: false)
        case .pack(let pack, let position):
            let count = ExtentLayout.sealedByteCount(Int(row.total))
            if let sealed = state.packs.tailBytes(pack, at: Int(position), count: count) {
                return Piece(row: row, file: nil, sealed: sealed, isScattered: false)
            }
            return Piece(
                row: row, file: try state.packs.openFile(pack), sealed: nil,
                isScattered: jumps && row.total >= Self.scatteredExtentMin)
        }
    }

    /// Opens the pieces into the buffer; what no piece covers is zeros.
    private func fill(
        _ buffer: AlignedBuffer, with range: Range<Int64>, _ id: ItemID, _ pieces: [Piece]
    ) throws(FileSystemError) {
        let buffers = buffers.take()
        defer { self.buffers.giveBack(buffers) }
        var done = range.lowerBound
        for piece in pieces {
            let wanted = (piece.row.offset..<piece.row.end).clamped(to: range)
            zero(buffer, done - range.lowerBound, wanted.lowerBound - range.lowerBound)
            try open(piece, id, wanted, buffers, into: buffer, at: Int(wanted.lowerBound - range.lowerBound))
            done = wanted.upperBound
        }
        zero(buffer, done - range.lowerBound, range.upperBound - range.lowerBound)
    }

    private func zero(_ buffer: AlignedBuffer, _ start: Int64, _ end: Int64) {
        if start < end { buffer.withMutableBytes(Int(start)..<Int(end)) { $0.zero() } }
    }

    /// Opens the blocks of an extent that `wanted` (offsets in the item) touches.
    private func open(
        _ piece: Piece, _ id: ItemID, _ wanted: Range<Int64>, _ buffers: ContentBuffers,
        into buffer: AlignedBuffer, at place: Int
    ) throws(FileSystemError) {
        let row = piece.row
        let total = Int(row.total)
        guard total > 0, total <= ExtentLayout.byteCountMax, row.base <= row.offset,
            row.end - row.base <= row.total, keys.derive(&buffers.itemKey, for: id, row.epoch)
        else { throw .damaged(place: "the reference to an extent") }
        let inside = Int(wanted.lowerBound - row.base)..<Int(wanted.upperBound - row.base)
        let blocks =
            inside.lowerBound / ExtentLayout.blockByteCount..<ExtentLayout.blockCount(inside.upperBound)
        let skew = try fetch(piece, blocks, total, buffers)
        buffers.cipher.begin(buffers.itemKey, row.prefix)
        var associated = BlockAssociatedData(vault: self.id, item: id, base: Int(row.base))
        let last = ExtentLayout.blockCount(total) - 1
        for block in blocks {
            associated.select(block: block, isLast: block == last)
            let start = block * ExtentLayout.blockByteCount
            let whole = start..<start + ExtentLayout.byteCount(ofBlock: block, total: total)
            let part = whole.clamped(to: inside)
            let target = place + part.lowerBound - inside.lowerBound
            let sealedStart = skew + (block - blocks.lowerBound) * ExtentLayout.sealedBlockByteCount
            let sealed = sealedStart..<sealedStart + whole.count + ExtentLayout.tagByteCount
            let opened: Bool
            if part == whole {
                opened = buffer.withMutableBytes(target..<target + whole.count) {
                    openBlock(block, sealed, associated.bytes, buffers, into: &$0)
                }
            } else {
                opened = buffers.block.withMutableBytes(0..<whole.count) {
                    openBlock(block, sealed, associated.bytes, buffers, into: &$0)
                }
                if opened {
                    let from = part.lowerBound - whole.lowerBound
                    buffers.block.withBytes(from..<from + part.count) { buffer.copy($0, to: target) }
                }
            }
            guard opened else { throw .damaged(place: describe(piece)) }
        }
    }

    private func openBlock(
        _ block: Int, _ sealed: Range<Int>, _ associated: [UInt8], _ buffers: ContentBuffers,
        into target: inout MutableRawSpan
    ) -> Bool {
        buffers.sealed.withBytes(sealed) { bytes in
            do throws(CryptoError) {
                try unsafe buffers.cipher.open(
                    bytes, number: UInt64(block), associated: associated.span.bytes, into: &target)
                return true
            } catch {
                return false
            }
        }
    }

    /// Brings the sealed bytes of some blocks into `buffers.sealed`.
    ///
    /// - Returns: Where in the buffer they begin.
    private func fetch(
        _ piece: Piece, _ blocks: Range<Int>, _ total: Int, _ buffers: ContentBuffers
    ) throws(FileSystemError) -> Int {
        let start = ExtentLayout.sealedOffset(ofBlock: blocks.lowerBound)
        let end = min(
            ExtentLayout.sealedOffset(ofBlock: blocks.upperBound), ExtentLayout.sealedByteCount(total))
        if let sealed = piece.sealed {
            guard sealed.count >= end else { throw .damaged(place: describe(piece)) }
            unsafe buffers.sealed.copy(sealed.span.bytes.extracting(start..<end), to: 0)
            return 0
        }
        guard let file = piece.file, case .pack(_, let position) = piece.row.place else {
            throw .damaged(place: describe(piece))
        }
        if piece.isScattered {
            let skew = try storing { () throws(StoreError) in
                try file.readDirectly(into: buffers.sealed, at: Int(position) + start, count: end - start)
            }
            if let skew { return skew }
        }
        let count = try buffers.sealed.withMutableBytes(0..<end - start) { target throws(FileSystemError) in
            do throws(StoreError) {
                return try file.read(into: &target, at: Int(position) + start)
            } catch {
                throw FileSystemError(error)
            }
        }
        guard count == end - start else { throw .damaged(place: describe(piece)) }
        return 0
    }

    private func describe(_ piece: Piece) -> String {
        switch piece.row.place {
        case .row(let number): "row \(number) of the index's contents"
        case .pack(let pack, let position):
            "byte \(position) of pack \(state.withLock { $0.packs.id(of: pack)?.description } ?? String(pack))"
        }
    }
}
