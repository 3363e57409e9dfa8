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
    /// Space for a sealed extent, plus two pages.
    let sealed = AlignedBuffer(count: ExtentLayout.sealedByteCount(ExtentLayout.byteCountMax) + 8192)
    /// Space for the plaintext of one block.
    let block = AlignedBuffer(count: ExtentLayout.blockByteCount)
}

/// A pool of unused buffers.
final class BufferPool: Sendable {
    private let free = Condition([ContentBuffers]())

    /// Takes buffers, for the caller alone until it gives them back.
    func take() -> ContentBuffers {
        free.withLock { $0.popLast() } ?? ContentBuffers()
    }

    /// Returns buffers to the pool and wipes the key in them.
    func giveBack(_ buffers: ContentBuffers) {
        buffers.cipher.end()
        buffers.itemKey.forget()
        free.withLock { if $0.count < 4 { $0.append(buffers) } }
    }
}
