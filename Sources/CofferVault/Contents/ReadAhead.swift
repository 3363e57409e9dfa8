internal import CofferFormat
internal import CofferStore
internal import CofferSystem

/// Reads ahead of sequential readers: fetches whole extents past the page cache, and decrypts them piece by
/// piece before they are requested.
///
/// The receiving thread never waits: if pieces of a request are not decrypted yet, the thread that finishes
/// the last one answers it. Threads and memory are created with the first stream, and released after some
/// seconds without sequential reads.
final class ReadAhead: Sendable {
    /// The maximum size of a fetch, in bytes: a sealed extent.
    static let fetchByteCountMax = ExtentLayout.sealedByteCount(ExtentLayout.byteCountMax)
    /// The size of a fetch, plus the bytes that reading whole pages adds on both sides.
    private static let fetchSlotByteCount = (fetchByteCountMax + 3 * 4096 - 1) / 4096 * 4096

    /// Memory for decrypted pieces and for fetched bytes.
    final class Memory: Sendable {
        let pieces = AlignedBuffer(count: ReadStream.pieceByteCount * ReadAheadState.pieceSlotCount)
        let fetches = AlignedBuffer(count: fetchSlotByteCount * ReadAheadState.fetchSlotCount)
    }

    private struct Shared {
        var streams = ReadAheadState()
        var memory: Memory?
        var isStopped = false
    }

    private let shared = RankedMutex(Shared(), rank: .readAhead)
    private let fetchers = Workers("coffer-fetch", max: 2), openers = Workers("coffer-open", max: 1)

    // MARK: Streams

    /// Records a read and returns its relation to earlier ones.
    func note(_ item: Int64, _ range: Range<Int64>) -> ReadPattern {
        shared.withLock { $0.streams.note(item, range) }
    }

    /// The stream that a request belongs to, and the range to look up for it.
    func stream(of item: Int64, _ range: Range<Int64>) -> (ReadStream, unplanned: Range<Int64>?)? {
        shared.withLock { shared in
            guard let stream = shared.streams.stream(of: item, range) else { return nil }
            return (stream, shared.streams.unplanned(stream, for: range))
        }
    }

    /// Adds a new stream.
    ///
    /// The caller holds the vault's lock, so that the content cannot change in between.
    ///
    /// - Returns: The range to look up for it; nil if there cannot be another stream, or nothing is to be
    ///   looked up.
    func begin(_ stream: ReadStream, for range: Range<Int64>) -> Range<Int64>? {
        shared.withLock { shared in
            if shared.isStopped { return nil }
            guard shared.streams.begin(stream) else { return nil }
            if shared.memory == nil { shared.memory = Memory() }
            return shared.streams.unplanned(stream, for: range)
        }
    }

    /// Adds the extents that were looked up; the caller has held the vault's lock since the lookup.
    func add(_ extents: [ReadStream.PlannedExtent], for range: Range<Int64>, to stream: ReadStream) {
        shared.withLock { $0.streams.add(extents, for: range, to: stream) }
    }

    /// Ends the streams of an item whose content changes; the caller holds the vault's lock.
    func end(_ item: Int64) {
        shared.withLock { $0.streams.end(item) }
    }

    /// Ends all streams after a rollback of the index to its last commit; the caller holds the vault's lock.
    func endAll() {
        shared.withLock { $0.streams.endAll() }
    }

    // MARK: Requests

    /// Answers a request from its stream, now or later; false if it must be answered in another way.
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
            try vault.contents.fill(
                memory.pieces, at: piece.slot * ReadStream.pieceByteCount, with: piece.range,
                of: piece.stream.id, from: extents)
        } catch {
            // Perhaps no program requests the damaged range; a request for it reports the error.
            failed = true
        }
        let complete = shared.withLock { $0.streams.finish(piece, failed: failed) }
        for pending in complete { answer(pending, in: vault) }
    }

    /// The extents of a piece, with their fetched bytes.
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

    /// Answers a request with the result of a plain read, as one of its pieces could not be decrypted: its
    /// extents have changed or are damaged.
    private func readAnew(_ pending: ReadStream.Pending, in vault: Vault) {
        let buffer = AlignedBuffer(count: pending.range.count)
        do throws(FileSystemError) {
            let count = try vault.contents.read(
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

    /// - Returns: Whether a thread will do it.
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
        // If the fetch fails, the extents are read when they are needed, and errors are reported then.
        let skew = try? fetch.file.fetch(
            into: memory.fetches, at: slot * Self.fetchSlotByteCount, from: fetch.position, count: fetch.count
        )
        let opens = shared.withLock { shared in
            shared.streams.finish(fetch, skew: skew ?? nil)
            return shared.streams.canOpen
        }
        // Requests may be waiting for the fetched bytes.
        if opens, !callOpener(for: vault) { while openNext(in: vault) {} }
        return true
    }

    /// Drops streams that no reader has continued, and frees the memory.
    private func rest() {
        // The memory is wiped without the lock.
        let memory = shared.withLock { shared -> Memory? in
            shared.streams.endAll()
            guard shared.streams.isAtRest else { return nil }
            defer { shared.memory = nil }
            return shared.memory
        }
        withExtendedLifetime(memory) {}
    }
}
