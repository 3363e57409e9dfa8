internal import CofferCrypto
package import CofferFormat

/// A whole remote pack, to be stored under its id.
package struct RemotePack: Sendable {
    /// Names it.
    package let id: PackID
    /// All of it.
    package let bytes: [UInt8]
}

/// Gathers sealed extents, or sealed pages, in memory, until there are enough for one remote pack.
package struct RemotePackBuilder {
    /// The fewest bytes of a pack as long as there is more.
    package static let packByteCountMin = 4 << 20

    /// Names the pack.
    package let id: PackID
    private var bytes: [UInt8]

    /// Begins a pack.
    package init(vault: VaultID, id: PackID) {
        self.id = id
        bytes = RemotePackHeader(vault: vault, pack: id).bytes
    }

    /// Whether nothing was added.
    package var isEmpty: Bool { bytes.count == RemotePackHeader.byteCount }

    /// Bytes so far, header included.
    package var byteCount: Int { bytes.count }

    /// Whether there is room for `count` bytes more.
    package func hasRoom(for count: Int) -> Bool { bytes.count <= RemotePackHeader.packByteCountMax - count }

    /// Adds sealed bytes, for which there must be room.
    ///
    /// - Returns: Where they came to lie.
    package mutating func append(_ sealed: RawSpan, hash: ContentHash) -> SealedPlace {
        precondition(hasRoom(for: sealed.byteCount))
        let place = SealedPlace(pack: id, position: UInt32(bytes.count), hash: hash)
        unsafe sealed.withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
        return place
    }

    /// Finishes the pack.
    package func finish() -> RemotePack {
        RemotePack(id: id, bytes: bytes)
    }
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
