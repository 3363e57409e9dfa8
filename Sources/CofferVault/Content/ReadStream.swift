internal import CofferFormat
internal import CofferStore
internal import CofferSystem

/// One item that is read from front to back, and what is fetched and opened ahead of its reader.
///
/// Ends with the first change of the item's content.
///
/// All that can change, here and in the classes inside, belongs to the lock of `ReadAhead`.
final class ReadStream {
    /// Plaintext bytes of a piece: sealed and open it fits the cache of a core, and it is what the kernel
    /// asks for at a time.
    static let pieceByteCount = 128 << 10

    let item: Int64
    let id: ItemID
    let size: Int64
    /// Where the reader is: the end of the furthest request.
    var next: Int64
    /// The end of what was looked up in the index, and of what was cut into pieces.
    var planned: Int64
    var laidOut: Int64
    /// What was looked up and is not cut into pieces to its end yet, in order.
    var extents: [PlannedExtent] = []
    var pieces: [Piece] = []
    var isOver = false
    /// Which read used it last.
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

    /// An extent of the stream, and the fetch that brings it if it is worth one.
    struct PlannedExtent {
        let extent: SealedExtent
        let fetch: Fetch?
    }

    /// A contiguous part of a pack that is read into memory as a whole, ahead of its use.
    ///
    /// The bytes of its slot belong to who fetches, then to who opens pieces.
    final class Fetch {
        let file: PackFile
        let position: Int
        let count: Int
        /// Plaintext bytes in it that are not opened yet.
        var rest: Int64
        /// Its part of the memory for sealed bytes, from the time it is read until its last byte is open.
        var slot: Int?
        var state = State.queued
        /// Pieces that were cut from it and are not opened yet.
        var pieces: [Piece] = []
        /// Whether no more pieces will be cut from it.
        var isAbandoned = false

        enum State: Equatable {
            case queued
            case reading
            /// Its first byte is `skew` bytes behind the beginning of the slot.
            case ready(skew: Int)
            /// To be read in another way.
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

    /// A part of the stream that is opened at once.
    ///
    /// The bytes of its slot belong to who opens it, and are then only read.
    final class Piece {
        let stream: ReadStream
        let range: Range<Int64>
        let extents: [PlannedExtent]
        /// The fetches of its extents, each once.
        let fetches: [Fetch]
        /// Its part of the memory for plaintext.
        let slot: Int
        var state = State.waiting
        /// Whether it could not be opened; each request is then answered by a read of its own.
        var failed = false
        /// Requests that wait for it to be open.
        var waiting: [Pending] = []
        /// Requests that are answered from it, now or later.
        var lent = 0
        /// Whether its end was asked for: the kernel has it from then on.
        var isConsumed = false

        enum State {
            /// For fetches.
            case waiting
            /// In line to be opened.
            case queued
            case opening
            /// Open, unless that failed.
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

    /// A request that is answered when all of its pieces are open.
    final class Pending {
        let request: any ReadRequest
        let item: Int64
        let range: Range<Int64>
        let pieces: [Piece]
        /// Pieces that are not open yet.
        var missing = 0

        init(_ request: any ReadRequest, _ item: Int64, _ range: Range<Int64>, _ pieces: [Piece]) {
            self.request = request
            self.item = item
            self.range = range
            self.pieces = pieces
        }
    }
}
