internal import CofferFormat
internal import CofferStore
internal import CofferSystem

/// A small read away from others, of which the disk fetches the sealed bytes while its thread does something
/// else.
///
/// The extent was looked up when the read began. Its bytes cannot change: packs are only appended to, and a
/// pack that is removed exists as long as it is open. If the extent was moved and its space freed, the bytes
/// do not open, and the range is looked up again.
final class ScatteredRead: StartedRead {
    /// The largest number of sealed bytes: the blocks that a scattered read touches.
    static let sealedByteCountMax =
        (RecentReads.scatteredByteCountMax / ExtentLayout.blockByteCount + 1)
        * ExtentLayout.sealedBlockByteCount

    private let vault: Vault
    private let item: Int64, range: Range<Int64>
    private let id: ItemID
    private let extent: SealedExtent
    private let blocks: Range<Int>
    private let buffers: ContentBuffers
    /// The buffer for the plaintext, which belongs to the thread that calls `end`.
    private let target: AlignedBuffer
    private let request: any ReadRequest
    /// When the read began, by the monotonic clock.
    private let began = Clock.monotonic
    /// The offset of the sealed bytes in their buffer.
    private var skew = 0

    init(
        _ vault: Vault, _ item: Int64, _ range: Range<Int64>, of id: ItemID, from extent: SealedExtent,
        _ blocks: Range<Int>, into target: AlignedBuffer, for request: any ReadRequest
    ) {
        (self.vault, self.item, self.range, self.id) = (vault, item, range, id)
        (self.extent, self.blocks, self.target, self.request) = (extent, blocks, target, request)
        buffers = vault.scatteredBuffers.take()
    }

    deinit {
        vault.scatteredBuffers.giveBack(buffers)
    }

    /// Starts the read; without a way to start it, a thread that may wait performs it.
    func start(_ file: PackFile, from position: Int, in flights: ReadsInFlight) {
        let sealed = ExtentLayout.sealedRange(of: blocks, total: Int(extent.row.total))
        guard
            let skew = file.start(
                self, in: flights, into: buffers.sealed, from: position + sealed.lowerBound,
                count: sealed.count)
        else { return readAnew() }
        self.skew = skew
        vault.contents.begin(extent, id, buffers)
    }

    func end(_ result: Int) {
        vault.pace.note(since: began)
        let sealed = ExtentLayout.sealedRange(of: blocks, total: Int(extent.row.total))
        guard result >= skew + sealed.count else {
            if case .file(let file, _) = extent.source { file.noteResult(result) }
            return readAnew()
        }
        do throws(FileSystemError) {
            try vault.contents.open(
                blocks, of: extent, id, range, buffers, from: (buffers.sealed, skew), into: target, at: 0)
            request.answer([ReadPart(buffer: target, range: 0..<range.count)])
        } catch {
            readAnew()
        }
    }

    /// Leaves the request to a thread that may wait: it looks the range up again, and finds out whether it is
    /// damaged.
    private func readAnew() {
        vault.waitingReads.answer(item, range, request, in: vault)
    }
}

extension Contents {
    /// Starts a read if it needs nothing but a few blocks of one extent, from the disk.
    ///
    /// - Parameter request: Creates the request, if it will be answered from `flights`.
    /// - Returns: Whether it was started.
    func start(
        _ range: Range<Int64>, of number: Int64, _ id: ItemID, from extents: [SealedExtent],
        in flights: ReadsInFlight, into buffer: AlignedBuffer, for request: () -> (any ReadRequest)?
    ) -> Bool {
        guard flights.hasRoom, extents.count == 1, let extent = extents.first,
            extent.row.offset <= range.lowerBound, range.upperBound <= extent.row.end,
            case .file(let file, isScattered: true) = extent.source,
            case .pack(_, let position) = extent.row.place,
            let blocks = try? blocks(of: extent, range), vault.keys.has(extent.row.epoch),
            file.isDirect, let request = request()
        else { return false }
        ScatteredRead(vault, number, range, of: id, from: extent, blocks, into: buffer, for: request)
            .start(file, from: Int(position), in: flights)
        return true
    }

    /// Leaves a read to a thread that may wait, if the disk is slow and the page cache lacks some of it.
    ///
    /// - Parameter request: Creates the request, if it will be answered from there.
    /// - Returns: Whether it was left.
    func leave(
        _ range: Range<Int64>, of number: Int64, from extents: [SealedExtent],
        for request: () -> (any ReadRequest)?
    ) -> Bool {
        guard vault.pace.isSlow, extents.contains(where: { !isAtHand($0, range) }), let request = request()
        else {
            return false
        }
        vault.waitingReads.answer(number, range, request, in: vault)
        return true
    }

    private func isAtHand(_ extent: SealedExtent, _ range: Range<Int64>) -> Bool {
        let wanted = (extent.row.offset..<extent.row.end).clamped(to: range)
        guard case .file(let file, _) = extent.source, case .pack(_, let position) = extent.row.place,
            let blocks = try? blocks(of: extent, wanted)
        else { return true }
        let sealed = ExtentLayout.sealedRange(of: blocks, total: Int(extent.row.total))
        let buffers = vault.buffers.take()
        defer { vault.buffers.giveBack(buffers) }
        return file.isAtHand(
            buffers.sealed, from: Int(position) + sealed.lowerBound, count: sealed.count)
    }
}
