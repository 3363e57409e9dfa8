internal import CofferCrypto
package import CofferFormat
package import CofferSystem

/// A complete remote pack, to be stored under its id.
package struct RemotePack: Sendable {
    /// The id of the pack.
    package let id: PackID
    /// The buffer that begins with the pack.
    package let buffer: AlignedBuffer
    /// The size of the pack in bytes.
    package let byteCount: Int
}

/// Gathers sealed extents, or sealed pages, in memory, until there are enough for one remote pack.
///
/// Extents that begin at a page in a local pack do so in the remote pack, too, so that they can be read into
/// it, and out of it, past the page cache.
package struct RemotePackBuilder {
    /// The smallest size of a pack that is followed by another, in bytes.
    package static let packByteCountMin = 4 << 20
    /// The memory for a pack, in bytes: eight of the largest extents, each with a page for the hashes of its
    /// leaves, and a page for the header.
    package static let bufferByteCount =
        4096 + 8 * (4096 + ExtentLayout.sealedByteCount(ExtentLayout.byteCountMax))
    /// The id of the pack.
    package let id: PackID
    /// The buffer that the pack is gathered in.
    package let buffer: AlignedBuffer
    /// The number of bytes so far, including the header.
    package private(set) var byteCount = 0

    /// Begins a pack in a buffer of `bufferByteCount` bytes.
    package init(vault: VaultID, id: PackID, in buffer: AlignedBuffer) {
        self.id = id
        self.buffer = buffer
        buffer.copy(unsafe RemotePackHeader(vault: vault, pack: id).bytes.span.bytes, to: 0)
        byteCount = RemotePackHeader.byteCount
    }

    /// Whether nothing has been added.
    package var isEmpty: Bool { byteCount == RemotePackHeader.byteCount }

    /// Whether `count` more bytes fit.
    package func hasRoom(for count: Int) -> Bool { place(for: count).upperBound <= buffer.count }

    /// Reserves space for `count` sealed bytes, which must fit, and which the caller fills in.
    ///
    /// - Returns: Their position in the pack.
    package mutating func reserve(_ count: Int) -> Int {
        let place = place(for: count)
        precondition(place.upperBound <= buffer.count)
        // Earlier contents of the memory must not leave the process.
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

    /// Appends sealed bytes, which must fit.
    ///
    /// - Returns: Their place.
    package mutating func append(_ sealed: RawSpan, hash: ContentHash) -> SealedPlace {
        let position = reserve(sealed.byteCount)
        buffer.copy(sealed, to: position)
        return SealedPlace(pack: id, position: UInt32(position), hash: hash)
    }

    /// Finishes the pack.
    package func finish() -> RemotePack { RemotePack(id: id, buffer: buffer, byteCount: byteCount) }
}

/// The hashes of objects in remote packs.
package enum RemoteHash {
    /// The hash of a sealed extent: the root of the tree over its leaves.
    package static func extent(_ sealed: RawSpan) -> ContentHash { LeafHashes(of: sealed).root }

    /// The hash of a sealed page.
    package static func page(_ sealed: RawSpan) -> ContentHash { hash(sealed, .contentPage) }

    /// The hash of a page's plaintext; it stays on this device.
    package static func plainPage(_ bytes: RawSpan) -> ContentHash { hash(bytes, .plainPage) }

    private static func hash(_ bytes: RawSpan, _ purpose: HashPurpose) -> ContentHash {
        let hash = Blake2b.hash(bytes, for: purpose)
        return unsafe ContentHash(hash.span.bytes, at: 0)
    }
}
