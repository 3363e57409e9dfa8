internal import CofferFormat
internal import CofferStore
internal import CofferSystem

/// A range of an item's content, and where its sealed bytes are to be had.
struct SealedExtent: Sendable {
    let row: ExtentRow
    var source: Source

    enum Source: Sendable {
        /// In memory, from the sealed extent's first byte on.
        case bytes([UInt8])
        /// In a pack's file; scattered reads go past the page cache.
        case file(PackFile, isScattered: Bool)
        /// On a remote only.
        case remote(SealedPlace)
        /// In memory, all of it: it came from a remote.
        case held(BufferPart)
        /// In a buffer that has the sealed extent's byte `from` at `place`.
        case buffer(AlignedBuffer, place: Int, from: Int)
    }

    /// Whether there is nothing to be read from the disk ahead of a reader.
    var isHeld: Bool { if case .held = source { true } else { false } }

    /// Where it is to be had, if that is a remote.
    var remotePlace: SealedPlace? {
        if case .remote(let place) = source { place } else { nil }
    }
}

/// How a read relates to those before it.
enum ReadPattern {
    /// In none of the other ways.
    case plain
    /// Small, and away from where the item was read last.
    case scattered
    /// Goes on where others ended.
    case sequential
}
