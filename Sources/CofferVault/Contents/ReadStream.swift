internal import CofferFormat
internal import CofferStore
internal import CofferSystem

/// A sequential read of one item, and the parts that are fetched and decrypted ahead of its reader.
///
/// Ends with the first change of the item's content. The lock of `ReadAhead` protects all mutable state, here
/// and in the classes inside.
final class ReadStream {
    /// The plaintext size of a piece: its sealed and decrypted bytes fit the cache of a core, and the kernel
    /// requests as much at a time.
    static let pieceByteCount = 128 << 10

    let item: Int64
    let id: ItemID
    let size: Int64
    /// The reader's position: the end of the furthest request.
    var next: Int64
    /// The end of the range that was looked up in the index, and of the range that was cut into pieces.
    var planned: Int64
    var laidOut: Int64
    /// The extents that were looked up and not completely cut into pieces yet, in order.
    var extents: [PlannedExtent] = []
    var pieces: [Piece] = []
    var isOver = false
    /// The number of the read that used it last.
    var lastRead = 0

    init(item: Int64, id: ItemID, size: Int64, at offset: Int64) {
        self.item = item
        self.id = id
        self.size = size
        let start = offset / Int64(Self.pieceByteCount) * Int64(Self.pieceByteCount)
        next = offset
        planned = start
        laidOut = start
    }

    /// An extent of the stream, and the fetch that reads it if that is worthwhile.
    struct PlannedExtent {
        let extent: SealedExtent
        let fetch: Fetch?
    }

    /// A contiguous part of a pack that is read into memory as a whole, ahead of its use.
    ///
    /// The bytes of its slot belong first to the thread that fetches, then to those that decrypt pieces.
    final class Fetch {
        let file: PackFile
        let position: Int
        let count: Int
        /// The number of plaintext bytes in it that are not decrypted yet.
        var rest: Int64
        /// Its slot in the memory for sealed bytes, from the start of the fetch until its last byte is
        /// decrypted.
        var slot: Int?
        var state = State.queued
        /// Pieces that were cut from it and are not decrypted yet.
        var pieces: [Piece] = []
        /// Whether no more pieces will be cut from it.
        var isAbandoned = false

        enum State: Equatable {
            case queued
            case reading
            /// Its first byte is `skew` bytes after the beginning of the slot.
            case ready(skew: Int)
            /// The pieces must read it in another way.
            case skipped
        }

        init(_ file: PackFile, position: Int, count: Int, rest: Int64) {
            self.file = file
            self.position = position
            self.count = count
            self.rest = rest
        }

        /// Whether pieces need not wait for it.
        var isDone: Bool { state != .queued && state != .reading }
    }

    /// A part of the stream that is decrypted as one.
    ///
    /// The bytes of its slot belong to the thread that decrypts it; after that, they are only read.
    final class Piece {
        let stream: ReadStream
        let range: Range<Int64>
        let extents: [PlannedExtent]
        /// The fetches of its extents, without duplicates.
        let fetches: [Fetch]
        /// Its slot in the memory for plaintext.
        let slot: Int
        var state = State.waiting
        /// Whether decrypting it failed; each request for it then falls back to a read of its own.
        var failed = false
        /// Requests that wait until it is decrypted.
        var waiting: [Pending] = []
        /// The number of requests that are answered from it, now or later.
        var lent = 0
        /// Whether its end was requested, so that the kernel has it from then on.
        var isConsumed = false

        enum State {
            /// Waiting for fetches.
            case waiting
            /// Queued for decryption.
            case queued
            case opening
            /// Decrypted, unless that failed.
            case done
        }

        init(_ stream: ReadStream, _ range: Range<Int64>, _ extents: [PlannedExtent], slot: Int) {
            self.stream = stream
            self.range = range
            self.extents = extents
            self.slot = slot
            var fetches: [Fetch] = []
            for case let fetch? in extents.map(\.fetch) where fetches.last !== fetch { fetches.append(fetch) }
            self.fetches = fetches
        }
    }

    /// A request that is answered once all of its pieces are decrypted.
    final class Pending {
        let request: any ReadRequest
        let item: Int64
        let range: Range<Int64>
        let pieces: [Piece]
        /// The number of pieces that are not decrypted yet.
        var missing = 0

        init(_ request: any ReadRequest, _ item: Int64, _ range: Range<Int64>, _ pieces: [Piece]) {
            self.request = request
            self.item = item
            self.range = range
            self.pieces = pieces
        }
    }
}
