internal import CofferFormat
internal import CofferStore
internal import CofferSystem

/// The streams of `ReadAhead` and their next steps, without its threads.
struct ReadAheadState {
    typealias Piece = ReadStream.Piece
    typealias Fetch = ReadStream.Fetch
    typealias Pending = ReadStream.Pending

    /// How far ahead of a reader plaintext is decrypted, and content is fetched, in bytes.
    static let openAhead = Int64(2 << 20), fetchAhead = Int64(8 << 20)
    static let pieceSlotCount = 32, fetchSlotCount = 8
    private static let streamsMax = 4
    /// How far from its reader a stream's requests may be, as they overtake each other.
    private static let reach: Int64 = 1 << 20
    /// The number of other reads after which a stream counts as abandoned.
    static let patience = 64

    private var recent = RecentReads()
    /// The number of reads so far.
    private var readCount = 0
    /// The streams, least recently used first.
    private var streams: [ReadStream] = []
    private var toFetch: [Fetch] = []
    private var toOpen: [Piece] = []
    private(set) var freePieceSlots = Array(0..<pieceSlotCount)
    private(set) var freeFetchSlots = Array(0..<fetchSlotCount)

    /// Whether no slot is in use.
    var isAtRest: Bool {
        freePieceSlots.count == Self.pieceSlotCount && freeFetchSlots.count == Self.fetchSlotCount
    }

    /// Whether a fetch could begin.
    var canFetch: Bool { !toFetch.isEmpty && !freeFetchSlots.isEmpty }

    /// Whether there is a piece to open.
    var canOpen: Bool { !toOpen.isEmpty }

    /// Records a read and returns its relation to earlier ones.
    mutating func note(_ item: Int64, _ range: Range<Int64>) -> ReadPattern {
        readCount += 1
        return recent.note(item, range)
    }

    /// The range of an item to look up before a stream can serve `range`; nil if there is none.
    func unplanned(_ stream: ReadStream, for range: Range<Int64>) -> Range<Int64>? {
        let ahead = Self.fetchAhead / Int64(max(1, streams.count))
        // All pieces except the last are whole.
        let piece = Int64(ReadStream.pieceByteCount)
        let needed = (range.upperBound + piece - 1) / piece * piece
        guard stream.planned < min(needed + ahead / 2, stream.size) else { return nil }
        return stream.planned..<min(needed + ahead, stream.size)
    }

    // MARK: Streams

    /// The stream that a request belongs to.
    mutating func stream(of item: Int64, _ range: Range<Int64>) -> ReadStream? {
        guard
            let index = streams.lastIndex(where: {
                $0.item == item && abs(range.lowerBound - $0.next) <= Self.reach
            })
        else { return nil }
        if index != streams.count - 1 { streams.append(streams.remove(at: index)) }
        streams.last?.lastRead = readCount
        return streams.last
    }

    /// Adds a stream, and ends those that their readers abandoned.
    ///
    /// - Returns: False if there are too many: ending one that is being read would make all of them start
    ///   over again and again.
    mutating func begin(_ stream: ReadStream) -> Bool {
        while let oldest = streams.first, isLeft(oldest) { end(at: 0) }
        guard streams.count < Self.streamsMax else { return false }
        stream.lastRead = readCount
        streams.append(stream)
        return true
    }

    private func isLeft(_ stream: ReadStream) -> Bool { readCount - stream.lastRead > Self.patience }

    /// Adds the extents that were looked up, unless another thread was faster.
    mutating func add(
        _ extents: [ReadStream.PlannedExtent], for range: Range<Int64>, to stream: ReadStream
    ) {
        guard !stream.isOver, stream.planned == range.lowerBound else { return }
        stream.extents += extents
        stream.planned = range.upperBound
        for case let fetch? in extents.map(\.fetch) where toFetch.last !== fetch { toFetch.append(fetch) }
        layOut(stream)
    }

    /// Ends the streams of an item whose content changes; waiting requests are still answered.
    mutating func end(_ item: Int64) {
        while let index = streams.firstIndex(where: { $0.item == item }) { end(at: index) }
    }

    /// Ends all streams.
    mutating func endAll() {
        while !streams.isEmpty { end(at: 0) }
    }

    private mutating func end(at index: Int) {
        let stream = streams.remove(at: index)
        stream.isOver = true
        var fetches = stream.extents.compactMap(\.fetch)
        stream.extents = []
        for piece in stream.pieces {
            fetches += piece.fetches
            close(piece)
        }
        for fetch in fetches {
            fetch.isAbandoned = true
            release(fetch)
        }
    }

    // MARK: Pieces

    /// Cuts a stream into pieces, as far as it will be decrypted ahead.
    private mutating func layOut(_ stream: ReadStream) {
        let target = min(stream.next + Self.openAhead / Int64(max(1, streams.count)), stream.size)
        while !stream.isOver, stream.laidOut < target {
            let end = min(stream.laidOut + Int64(ReadStream.pieceByteCount), stream.size)
            guard end <= stream.planned, let slot = freePieceSlots.popLast() else { return }
            let extents = stream.extents.filter { $0.extent.row.offset < end }
            let piece = Piece(stream, stream.laidOut..<end, extents, slot: slot)
            for fetch in piece.fetches { fetch.pieces.append(piece) }
            stream.pieces.append(piece)
            stream.laidOut = end
            stream.extents.removeAll { $0.extent.row.end <= end }
            queueIfReady(piece)
        }
    }

    private mutating func queueIfReady(_ piece: Piece) {
        guard case .waiting = piece.state, piece.fetches.allSatisfy(\.isDone) else { return }
        piece.state = .queued
        toOpen.append(piece)
    }

    /// Adds a request to its stream.
    ///
    /// - Returns: Pieces that the caller must decrypt, and the request if it can be answered at once; nil if
    ///   it must be answered in another way.
    mutating func attach(
        _ item: Int64, _ range: Range<Int64>, _ request: () -> any ReadRequest
    ) -> (mine: [Piece], answer: Pending?)? {
        guard let stream = stream(of: item, range), range.lowerBound < stream.size else { return nil }
        let range = range.clamped(to: 0..<stream.size)
        stream.next = max(stream.next, range.upperBound)
        leaveBehind(stream)
        layOut(stream)
        // An abandoned stream must not deprive an active one of memory.
        while stream.laidOut < range.upperBound, freePieceSlots.isEmpty, endOneThatWasLeft() {
            layOut(stream)
        }
        let pieces = stream.pieces.filter { $0.range.overlaps(range) }
        guard let first = pieces.first, let last = pieces.last, first.range.lowerBound <= range.lowerBound,
            last.range.upperBound >= range.upperBound,
            zip(pieces, pieces.dropFirst()).allSatisfy({ $0.range.upperBound == $1.range.lowerBound })
        else { return nil }
        let pending = Pending(request(), item, range, pieces)
        var mine: [Piece] = []
        for piece in pieces {
            piece.lent += 1
            piece.isConsumed = piece.isConsumed || range.upperBound >= piece.range.upperBound
            skipUnstarted(piece)
            if case .done = piece.state { continue }
            piece.waiting.append(pending)
            pending.missing += 1
            guard case .queued = piece.state else { continue }
            toOpen.removeAll { $0 === piece }
            piece.state = .opening
            mine.append(piece)
        }
        return (mine, pending.missing == 0 ? pending : nil)
    }

    /// Drops pieces that the reader skipped.
    private mutating func leaveBehind(_ stream: ReadStream) {
        for piece in stream.pieces where piece.range.upperBound <= stream.next - Self.reach {
            piece.isConsumed = true
            close(piece)
        }
    }

    /// Ends the least recently read stream if it was abandoned.
    private mutating func endOneThatWasLeft() -> Bool {
        guard let oldest = streams.first, isLeft(oldest) else { return false }
        end(at: 0)
        return true
    }

    /// Makes a requested piece not wait for fetches that have not begun.
    private mutating func skipUnstarted(_ piece: Piece) {
        guard case .waiting = piece.state else { return }
        if freeFetchSlots.isEmpty { _ = endOneThatWasLeft() }
        for fetch in piece.fetches where fetch.state == .queued {
            fetch.state = .skipped
            toFetch.removeAll { $0 === fetch }
            for piece in fetch.pieces { queueIfReady(piece) }
        }
    }

    /// The next piece to decrypt.
    mutating func nextPiece() -> Piece? {
        guard !toOpen.isEmpty else { return nil }
        let piece = toOpen.removeFirst()
        piece.state = .opening
        return piece
    }

    /// Records that a piece was decrypted, or could not be.
    ///
    /// - Returns: Requests that can be answered now; the caller gives them back afterwards.
    mutating func finish(_ piece: Piece, failed: Bool) -> [Pending] {
        piece.state = .done
        piece.failed = failed
        leaveFetches(of: piece)
        let waiting = piece.waiting
        piece.waiting = []
        close(piece)
        return waiting.filter { pending in
            pending.missing -= 1
            return pending.missing == 0
        }
    }

    /// Records that a request was answered.
    mutating func giveBack(_ pending: Pending) {
        for piece in pending.pieces {
            piece.lent -= 1
            close(piece)
        }
        if let stream = pending.pieces.first?.stream { layOut(stream) }
    }

    /// Frees a piece that is not needed any more.
    private mutating func close(_ piece: Piece) {
        guard piece.lent == 0, piece.isConsumed || piece.stream.isOver else { return }
        switch piece.state {
        case .opening: return
        case .done: break
        case .waiting, .queued:
            toOpen.removeAll { $0 === piece }
            piece.state = .done
            leaveFetches(of: piece)
        }
        let before = piece.stream.pieces.count
        piece.stream.pieces.removeAll { $0 === piece }
        if piece.stream.pieces.count < before { freePieceSlots.append(piece.slot) }
    }

    // MARK: Fetches

    /// The next part of a pack to read, with a slot for it.
    mutating func nextFetch() -> (Fetch, slot: Int)? {
        guard canFetch else { return nil }
        let fetch = toFetch.removeFirst()
        let slot = freeFetchSlots.removeLast()
        fetch.slot = slot
        fetch.state = .reading
        return (fetch, slot)
    }

    /// Records the end of a fetch.
    ///
    /// - Parameter skew: The position of its bytes in the slot; nil if it failed.
    mutating func finish(_ fetch: Fetch, skew: Int?) {
        fetch.state = skew.map { .ready(skew: $0) } ?? .skipped
        for piece in fetch.pieces { queueIfReady(piece) }
        release(fetch)
    }

    /// Records that a piece does not need its fetches any more.
    private mutating func leaveFetches(of piece: Piece) {
        for fetch in piece.fetches {
            fetch.pieces.removeAll { $0 === piece }
            for planned in piece.extents where planned.fetch === fetch {
                let row = planned.extent.row
                fetch.rest -= Int64((row.offset..<row.end).clamped(to: piece.range).count)
            }
            release(fetch)
        }
    }

    /// Frees the slot of a fetch that is not needed any more.
    private mutating func release(_ fetch: Fetch) {
        guard fetch.rest <= 0 || fetch.state == .skipped || (fetch.isAbandoned && fetch.pieces.isEmpty)
        else { return }
        switch fetch.state {
        case .reading: return
        case .queued:
            toFetch.removeAll { $0 === fetch }
            fetch.state = .skipped
        case .ready, .skipped: break
        }
        if let slot = fetch.slot { freeFetchSlots.append(slot) }
        fetch.slot = nil
    }
}
