internal import CofferCrypto
internal import CofferFormat
internal import CofferSystem

/// The cipher and buffers that one thread needs to seal or open content; borrowed from a pool, and reused.
final class ContentBuffers {
    let cipher = LibcryptoBlockCipher()
    /// The key of the current item.
    var itemKey = SymmetricKey<ItemRole>.zero()
    /// How scattered reads wait for the disk.
    let reads = PolledReads()
    /// Space for sealed bytes, plus two pages.
    let sealed: AlignedBuffer
    /// Space for the plaintext of one block.
    let block = AlignedBuffer(count: ExtentLayout.blockByteCount)

    /// Allocates space for `sealedByteCount` sealed bytes, plus two pages.
    init(_ sealedByteCount: Int) {
        sealed = AlignedBuffer(count: sealedByteCount + 8192)
    }
}

/// A pool of unused buffers.
final class BufferPool: Sendable {
    private let free = RankedMutex([ContentBuffers](), rank: .leaf)
    private let sealedByteCount: Int
    private let countMax: Int

    /// Begins without buffers.
    ///
    /// - Parameters:
    ///   - sealedByteCount: The number of sealed bytes that fit into each, besides two pages.
    ///   - countMax: The largest number of unused buffers to keep.
    init(sealedByteCount: Int, keeping countMax: Int) {
        self.sealedByteCount = sealedByteCount
        self.countMax = countMax
    }

    /// Takes buffers, for the caller alone until it gives them back.
    func take() -> ContentBuffers {
        free.withLock { $0.popLast() } ?? ContentBuffers(sealedByteCount)
    }

    /// Returns buffers to the pool and wipes the key in them.
    func giveBack(_ buffers: ContentBuffers) {
        buffers.cipher.end()
        buffers.itemKey.forget()
        free.withLock { if $0.count < countMax { $0.append(buffers) } }
    }
}
