internal import CofferCrypto
package import CofferFormat
package import CofferSystem

/// A whole remote pack, to be stored under its id.
package struct RemotePack: Sendable {
    /// Names it.
    package let id: PackID
    /// Begins with all of it.
    package let buffer: AlignedBuffer
    /// Bytes of it.
    package let byteCount: Int
}

/// Gathers sealed extents, or sealed pages, in memory, until there are enough for one remote pack.
///
/// Extents that lie in whole pages of a pack here do so there, too, so that they are read into the pack, and out of it,
/// past the page cache.
package struct RemotePackBuilder {
    /// The fewest bytes of a pack as long as there is more.
    package static let packByteCountMin = 4 << 20
    /// Bytes of memory for a pack: eight of the largest extents, and a page for what is before them.
    package static let bufferByteCount = 4096 + 8 * ExtentLayout.sealedByteCount(ExtentLayout.byteCountMax)
    /// Names the pack.
    package let id: PackID
    /// What is gathered in.
    package let buffer: AlignedBuffer
    /// Bytes so far, header included.
    package private(set) var byteCount = 0

    /// Begins a pack in a buffer of `bufferByteCount`.
    package init(vault: VaultID, id: PackID, in buffer: AlignedBuffer) {
        self.id = id
        self.buffer = buffer
        buffer.copy(unsafe RemotePackHeader(vault: vault, pack: id).bytes.span.bytes, to: 0)
        byteCount = RemotePackHeader.byteCount
    }

    /// Whether nothing was added.
    package var isEmpty: Bool { byteCount == RemotePackHeader.byteCount }

    /// Whether there is room for `count` bytes more.
    package func hasRoom(for count: Int) -> Bool { place(for: count).upperBound <= buffer.count }

    /// Takes room for `count` sealed bytes, which there must be, and which are to be filled in.
    ///
    /// - Returns: Where they begin in the pack.
    package mutating func reserve(_ count: Int) -> Int {
        let place = place(for: count)
        precondition(place.upperBound <= buffer.count)
        // Nothing leaves the process that was in the memory before.
        buffer.withMutableBytes(byteCount..<place.lowerBound) { $0.zero() }
        buffer.withMutableBytes(place.lowerBound + count..<place.upperBound) { $0.zero() }
        byteCount = place.upperBound
        return place.lowerBound
    }

    private func place(for count: Int) -> Range<Int> {
        guard count > PackStore.tailPieceMax else { return byteCount..<byteCount + count }
        let start = (byteCount + 4095) & ~4095
        return start..<start + (count + 4095) & ~4095
    }

    /// Adds sealed bytes, for which there must be room.
    ///
    /// - Returns: Where they came to lie.
    package mutating func append(_ sealed: RawSpan, hash: ContentHash) -> SealedPlace {
        let position = reserve(sealed.byteCount)
        buffer.copy(sealed, to: position)
        return SealedPlace(pack: id, position: UInt32(position), hash: hash)
    }

    /// Finishes the pack.
    package func finish() -> RemotePack { RemotePack(id: id, buffer: buffer, byteCount: byteCount) }
}

/// The hashes of what stands on a remote.
package enum RemoteHash {
    /// Of a sealed extent.
    package static func extent(_ sealed: RawSpan) -> ContentHash { hash(sealed, .extent) }

    /// Of a sealed page.
    package static func page(_ sealed: RawSpan) -> ContentHash { hash(sealed, .contentPage) }

    /// Of the plaintext of a page; stays on this device.
    package static func plainPage(_ bytes: RawSpan) -> ContentHash { hash(bytes, .plainPage) }

    private static func hash(_ bytes: RawSpan, _ purpose: HashPurpose) -> ContentHash {
        let hash = Blake2b.hash(bytes, for: purpose)
        return unsafe ContentHash(hash.span.bytes, at: 0)
    }
}
