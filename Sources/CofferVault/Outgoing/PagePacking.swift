internal import CofferFormat
internal import CofferStore
internal import CofferSystem

/// Seals pages into remote packs of their own: they lie next to each other, so that a few fetches read a whole tree.
struct PagePacking {
    private var builder: RemotePackBuilder?

    /// Seals a page, and adds it to the pack that is being built.
    ///
    /// - Parameters:
    ///   - next: Begins a pack.
    ///   - deliver: Receives the pack that has no more room.
    /// - Returns: Where the page will be.
    mutating func add(
        _ page: ContentPage, _ node: ContentNode, of origin: ItemID, with keys: ContentKeys,
        next: () -> RemotePackBuilder, deliver: (RemotePack) throws(FileSystemError) -> Void
    ) throws(FileSystemError) -> PageReference {
        guard let sealed = keys.seal(page: page, node, of: origin) else {
            throw .damaged(place: "the keyring")
        }
        if builder?.hasRoom(for: sealed.count) == false, let full = finish() { try deliver(full) }
        var pack = builder ?? next()
        let bytes = unsafe sealed.span.bytes
        let place = pack.append(bytes, hash: RemoteHash.page(bytes))
        builder = pack
        return PageReference(place: place, length: UInt32(sealed.count), epoch: keys.current)
    }

    /// Ends the pack that is being built; nil if there is none.
    mutating func finish() -> RemotePack? {
        defer { builder = nil }
        return builder?.finish()
    }
}

extension RemotePackBuilder {
    /// Begins a pack of a vault, in a buffer of an earlier one or in a new one.
    init(of vault: Vault, in buffer: AlignedBuffer? = nil) {
        self.init(
            vault: vault.id, id: .random(), in: buffer ?? AlignedBuffer(forSealed: Self.bufferByteCount))
    }
}
