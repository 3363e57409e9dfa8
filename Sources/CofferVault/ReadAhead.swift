internal import CofferFormat
internal import CofferStore
internal import CofferSystem

/// Works ahead of whoever reads an item from front to back: fetches whole extents past the page cache, and
/// opens them piece by piece before they are asked for.
///
/// A request never waits in the thread that brought it: if a piece is not open yet, it is answered by
/// whoever opens its last piece. Threads and memory come with the first stream, and go when nothing was
/// read in streams for some seconds.
final class ReadAhead: Sendable {
    /// The most bytes that a fetch brings: a sealed extent.
    static let fetchByteCountMax = ExtentLayout.sealedByteCount(ExtentLayout.byteCountMax)
    /// A fetch, and what reading whole pages adds on both sides.
    private static let fetchSlotByteCount = (fetchByteCountMax + 3 * 4096 - 1) / 4096 * 4096

    /// What pieces are opened into, and what is fetched into.
    final class Memory: Sendable {
        let pieces = AlignedBuffer(count: ReadStream.pieceByteCount * ReadAheadState.pieceSlotCount)
        let fetches = AlignedBuffer(count: fetchSlotByteCount * ReadAheadState.fetchSlotCount)
    }

    private struct Shared {
        var streams = ReadAheadState()
        var memory: Memory?
        var isStopped = false
    }

    private let shared = Condition(Shared())
    private let fetchers = Workers("coffer-fetch", max: 2), openers = Workers("coffer-open", max: 1)

    // MARK: Streams

    /// Notes a read, and says how it relates to those before it.
    func note(_ item: Int64, _ range: Range<Int64>) -> ReadPattern {
        shared.withLock { $0.streams.note(item, range) }
    }

    /// The stream that a request belongs to, and what is to be looked up for it.
    func stream(of item: Int64, _ range: Range<Int64>) -> (ReadStream, unplanned: Range<Int64>?)? {
        shared.withLock { shared in
            guard let stream = shared.streams.stream(of: item, range) else { return nil }
            return (stream, shared.streams.unplanned(stream, for: range))
        }
    }

    /// Takes in a stream that begins.
    ///
    /// The caller holds the vault's lock, so that no change of the content comes between.
    ///
    /// - Returns: What is to be looked up for it; nil if there cannot be streams any more.
    func begin(_ stream: ReadStream, for range: Range<Int64>) -> Range<Int64>? {
        shared.withLock { shared in
            if shared.isStopped { return nil }
            if shared.memory == nil { shared.memory = Memory() }
            shared.streams.begin(stream)
            return shared.streams.unplanned(stream, for: range)
        }
    }

    /// Adds what was looked up; the caller holds the vault's lock since it looked.
    func add(_ extents: [ReadStream.PlannedExtent], upTo end: Int64, to stream: ReadStream) {
        shared.withLock { $0.streams.add(extents, upTo: end, to: stream) }
    }

    /// Ends the streams of an item whose content changes; the caller holds the vault's lock.
    func end(_ item: Int64) {
        shared.withLock { $0.streams.end(item) }
    }

    // MARK: Requests

    /// Answers a request from its stream, now or later; false if it is to be answered in another way.
    func answer(
        _ item: Int64, _ range: Range<Int64>, in vault: Vault, _ request: () -> any ReadRequest
    ) -> Bool {
        guard let (mine, answer) = shared.withLock({ $0.streams.attach(item, range, request) }) else {
            return false
        }
        callWorkers(for: vault)
        for piece in mine { open(piece, in: vault) }
        if let answer { self.answer(answer, in: vault) }
        return true
    }

    private func open(_ piece: ReadStream.Piece, in vault: Vault) {
        guard
            let (memory, extents) = shared.withLock({ shared in
                shared.memory.map { ($0, Self.extents(of: piece, $0)) }
            })
        else { return }
        var failure: FileSystemError?
        do throws(FileSystemError) {
            try vault.open(
                extents, of: piece.stream, piece.range, into: memory.pieces,
                at: piece.slot * ReadStream.pieceByteCount)
        } catch {
            failure = error
        }
        let complete = shared.withLock { $0.streams.finish(piece, failure) }
        for pending in complete { answer(pending, in: vault) }
    }

    /// The extents of a piece, with what was fetched of them.
    private static func extents(of piece: ReadStream.Piece, _ memory: Memory) -> [SealedExtent] {
        piece.extents.map { planned in
            guard let fetch = planned.fetch, case .ready(let skew) = fetch.state, let slot = fetch.slot,
                case .pack(_, let position) = planned.extent.row.place
            else { return planned.extent }
            let from = max(0, fetch.position - Int(position))
            return SealedExtent(
                row: planned.extent.row,
                source: .buffer(
                    memory.fetches,
                    place: slot * fetchSlotByteCount + skew + Int(position) + from - fetch.position,
                    from: from))
        }
    }

    private func answer(_ pending: ReadStream.Pending, in vault: Vault) {
        if let error = pending.pieces.lazy.compactMap(\.error).first {
            pending.request.fail(error)
        } else if let memory = shared.withLock(\.memory) {
            pending.request.answer(
                pending.pieces.map { piece in
                    let part = piece.range.clamped(to: pending.range)
                    let start = piece.slot * ReadStream.pieceByteCount - Int(piece.range.lowerBound)
                    return ReadPart(
                        buffer: memory.pieces,
                        range: start + Int(part.lowerBound)..<start + Int(part.upperBound))
                })
        }
        shared.withLock { $0.streams.giveBack(pending) }
        callWorkers(for: vault)
    }

    // MARK: Threads

    /// Ends all streams and waits for the threads.
    func stop() {
        shared.withLock { shared in
            shared.isStopped = true
            shared.streams.endAll()
        }
        fetchers.stop()
        openers.stop()
    }

    private func callWorkers(for vault: Vault) {
        let (fetches, opens) = shared.withLock { ($0.streams.canFetch, $0.streams.canOpen) }
        let rest: @Sendable () -> Void = { self.rest() }
        if fetches { fetchers.call({ self.fetchNext(for: vault) }, leaving: rest) }
        if opens { openers.call({ self.openNext(in: vault) }, leaving: rest) }
    }

    private func openNext(in vault: Vault) -> Bool {
        guard let piece = shared.withLock({ $0.streams.nextPiece() }) else { return false }
        open(piece, in: vault)
        return true
    }

    private func fetchNext(for vault: Vault) -> Bool {
        let next = shared.withLock { shared in
            shared.memory.flatMap { memory in shared.streams.nextFetch().map { (memory, $0) } }
        }
        guard let (memory, (fetch, slot)) = next else { return false }
        // What cannot be fetched is read, and complained of, when its turn comes.
        let skew = try? fetch.file.fetch(
            into: memory.fetches, at: slot * Self.fetchSlotByteCount, from: fetch.position, count: fetch.count
        )
        shared.withLock { $0.streams.finish(fetch, skew: skew ?? nil) }
        callWorkers(for: vault)
        return true
    }

    /// Forgets streams that nobody has gone on with, and gives the memory back.
    private func rest() {
        shared.withLock { shared in
            shared.streams.endAll()
            if shared.streams.isAtRest { shared.memory = nil }
        }
    }
}
