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
    /// - Returns: What is to be looked up for it; nil if there cannot be another stream.
    func begin(_ stream: ReadStream, for range: Range<Int64>) -> Range<Int64>? {
        shared.withLock { shared in
            if shared.isStopped { return nil }
            guard shared.streams.begin(stream) else { return nil }
            if shared.memory == nil { shared.memory = Memory() }
            return shared.streams.unplanned(stream, for: range)
        }
    }

    /// Adds what was looked up; the caller holds the vault's lock since it looked.
    func add(_ extents: [ReadStream.PlannedExtent], for range: Range<Int64>, to stream: ReadStream) {
        shared.withLock { $0.streams.add(extents, for: range, to: stream) }
    }

    /// Ends the streams of an item whose content changes; the caller holds the vault's lock.
    func end(_ item: Int64) {
        shared.withLock { $0.streams.end(item) }
    }

    /// Ends all streams, as the index went back to its last commit; the caller holds the vault's lock.
    func endAll() {
        shared.withLock { $0.streams.endAll() }
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
        var failed = false
        do throws(FileSystemError) {
            try vault.fill(
                memory.pieces, at: piece.slot * ReadStream.pieceByteCount, with: piece.range,
                of: piece.stream.id, from: extents)
        } catch {
            // Nobody may have asked for what is damaged: who does will hear of it.
            failed = true
        }
        let complete = shared.withLock { $0.streams.finish(piece, failed: failed) }
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
        if let memory = shared.withLock(\.memory), !pending.pieces.contains(where: \.failed) {
            pending.request.answer(
                pending.pieces.map { piece in
                    let part = piece.range.clamped(to: pending.range)
                    let start = piece.slot * ReadStream.pieceByteCount - Int(piece.range.lowerBound)
                    return ReadPart(
                        buffer: memory.pieces,
                        range: start + Int(part.lowerBound)..<start + Int(part.upperBound))
                })
        } else {
            readAnew(pending, in: vault)
        }
        shared.withLock { $0.streams.giveBack(pending) }
        callWorkers(for: vault)
    }

    /// Answers a request of which a piece could not be opened, as its extents are not any more what they
    /// were, or are damaged: with what a read of its own finds.
    private func readAnew(_ pending: ReadStream.Pending, in vault: Vault) {
        let buffer = AlignedBuffer(count: pending.range.count)
        do throws(FileSystemError) {
            let count = try vault.read(
                pending.item, at: pending.range.lowerBound, count: pending.range.count, into: buffer,
                isScattered: false, later: { pending.request })
            guard let count else { return }
            pending.request.answer([ReadPart(buffer: buffer, range: 0..<count)])
        } catch {
            pending.request.fail(error)
        }
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
        if fetches { fetchers.call({ self.fetchNext(for: vault) }, leaving: { self.rest() }) }
        if opens { callOpener(for: vault) }
    }

    /// - Returns: Whether a thread hears it.
    @discardableResult
    private func callOpener(for vault: Vault) -> Bool {
        openers.call({ self.openNext(in: vault) }, leaving: { self.rest() })
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
        let opens = shared.withLock { shared in
            shared.streams.finish(fetch, skew: skew ?? nil)
            return shared.streams.canOpen
        }
        // Requests may wait for what this fetch brought.
        if opens, !callOpener(for: vault) { while openNext(in: vault) {} }
        return true
    }

    /// Forgets streams that nobody has gone on with, and gives the memory back.
    private func rest() {
        // Wiped without the lock.
        let memory = shared.withLock { shared -> Memory? in
            shared.streams.endAll()
            guard shared.streams.isAtRest else { return nil }
            defer { shared.memory = nil }
            return shared.memory
        }
        withExtendedLifetime(memory) {}
    }
}
