internal import CofferFormat
internal import CofferStore
internal import CofferSystem

/// A sealed extent on its way into a pack.
///
/// One thread seals it without the vault's lock, and places it under the lock. At its end, it gives back the
/// buffers that the packs have not taken over.
struct OutgoingExtent: ~Copyable {
    /// The item's number, the offset of the extent in the item, and the size of its plaintext, in bytes.
    let item: Int64, base: Int64, total: Int64
    let buffers: ContentBuffers
    /// The buffer for the sealed bytes, which begin at its start.
    let target: AlignedBuffer
    private let pool: BufferPool, writer: PackWriter
    /// Whether the packs own `target` now.
    private var isHandedOver = false
    /// A buffer for the next tail, because a thread must not wait for one under the lock: the threads that
    /// have one may be waiting for the lock.
    private var spare: AlignedBuffer?

    /// Takes buffers.
    ///
    /// - Parameter large: A buffer of `writer` if the extent is larger than those of a tail; otherwise nil.
    init(
        of item: Int64, base: Int64, total: Int64, large: AlignedBuffer?, from pool: BufferPool,
        _ writer: PackWriter
    ) {
        (self.item, self.base, self.total, self.pool, self.writer) = (item, base, total, pool, writer)
        let buffers = pool.take()
        self.buffers = buffers
        // Not `self.buffers`: Swift 6.3 releases it once too often when the closure of `??` captures it here.
        target = large ?? buffers.sealed
    }

    deinit {
        if isLarge, !isHandedOver { writer.giveBack(target) }
        if let spare { writer.giveBack(spare) }
        pool.giveBack(buffers)
    }

    /// The size of the sealed extent, in bytes.
    var count: Int { ExtentLayout.sealedByteCount(Int(total)) }

    /// Whether it is written by itself, rather than as a part of a tail.
    var isLarge: Bool { Self.isLarge(total) }

    /// Whether an extent of `total` bytes of plaintext is written by itself.
    static func isLarge(_ total: Int64) -> Bool {
        ExtentLayout.sealedByteCount(Int(total)) > PackStore.tailPieceMax
    }

    /// Whether the packs could take it without waiting for a buffer.
    func fits(_ packs: PackStore) -> Bool { isLarge || spare != nil || !packs.needsBuffer(for: count) }

    /// Adds a buffer of the writer for the next tail.
    mutating func addSpare(_ buffer: AlignedBuffer) { spare = buffer }

    /// Gives it a place in a pack; call this if it `fits`.
    mutating func place(in state: inout VaultState) throws(FileSystemError) -> (pack: Int64, position: Int) {
        let count = count
        if isLarge {
            let place = try state.packs.write(
                target, count: count, plaintext: total, newPack: { state.newPack() })
            isHandedOver = true
            return place
        }
        let (item, base, total) = (item, base, total)
        return try target.withBytes(0..<count) { bytes throws(FileSystemError) in
            try state.packs.append(
                bytes, item: item, base: base, total: total, spare: &spare, newPack: { state.newPack() })
        }
    }
}
