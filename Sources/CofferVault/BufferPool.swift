internal import CofferCrypto
internal import CofferFormat
internal import CofferSystem

/// What one thread needs to seal or open content; borrowed from a pool, and kept between operations.
final class ContentBuffers {
    let cipher = LibcryptoBlockCipher()
    /// Of the item at hand.
    var itemKey = SymmetricKey<ItemRole>.zero()
    /// How scattered reads wait for the disk.
    let reads = PolledReads()
    /// Room for a sealed extent, with a page to spare.
    let sealed = AlignedBuffer(count: ExtentLayout.sealedByteCount(ExtentLayout.byteCountMax) + 8192)
    /// Room for one block in the clear.
    let block = AlignedBuffer(count: ExtentLayout.blockByteCount)
}

/// Buffers that are not in use.
final class BufferPool: Sendable {
    private let free = Condition([ContentBuffers]())

    /// Buffers for the caller alone, until they are given back.
    func take() -> ContentBuffers {
        free.withLock { $0.popLast() } ?? ContentBuffers()
    }

    /// Takes buffers back and forgets the key that was in them.
    func giveBack(_ buffers: ContentBuffers) {
        buffers.cipher.end()
        buffers.itemKey.forget()
        free.withLock { if $0.count < 4 { $0.append(buffers) } }
    }
}
