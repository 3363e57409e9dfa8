internal import CofferFormat
internal import CofferStore
internal import CofferSystem

/// A range of an item's content, and the location of its sealed bytes.
struct SealedExtent: Sendable {
    let row: ExtentRow
    var source: Source

    enum Source: Sendable {
        /// In memory, beginning with the sealed extent's first byte.
        case bytes([UInt8])
        /// In a pack's file; scattered reads bypass the page cache.
        case file(PackFile, isScattered: Bool)
        /// Only on a remote.
        case remote(SealedPlace)
        /// The whole extent in memory, fetched from a remote.
        case held(BufferPart)
        /// In a buffer, with the sealed extent's byte `from` at `place`.
        case buffer(AlignedBuffer, place: Int, from: Int)
    }

    /// Whether it was fetched from a remote into memory, so that reading ahead has nothing to read.
    var isHeld: Bool { if case .held = source { true } else { false } }

    /// Its place on the remote; nil if it is not only there.
    var remotePlace: SealedPlace? {
        if case .remote(let place) = source { place } else { nil }
    }
}

/// The relation of a read to earlier ones.
enum ReadPattern {
    /// None of the others.
    case plain
    /// A small read away from the last read of the item.
    case scattered
    /// A read that continues where others ended.
    case sequential
}
