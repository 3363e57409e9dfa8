import CofferCrypto
import CofferFormat
import CofferSystem
import CofferTestSupport
import Testing

@testable import CofferStore
@testable import CofferVault

/// Drives a `ReadAheadState` as threads would, in any order, and checks it after each step.
///
/// Memory is modelled by the last writer of each slot, which reveals a slot that was reused too early.
final class ReadAheadModel {
    private final class Request: ReadRequest {
        func answer(_ parts: [ReadPart]) {}
        func fail(_ error: FileSystemError) {}
    }

    var state = ReadAheadState()
    private(set) var random: SplitMix64
    private let file: PackFile
    private var contents: [Int64: (size: Int64, extents: [SealedExtent])] = [:]
    private var streams: [ReadStream] = []
    private var fetches: [ReadStream.Fetch] = []
    private(set) var opening: [ReadStream.Piece] = []
    private(set) var fetching: [(ReadStream.Fetch, slot: Int)] = []
    private(set) var answered: [ReadStream.Pending] = []
    /// Requests that wait for their pieces.
    private(set) var open: [ObjectIdentifier: ReadStream.Pending] = [:]
    private(set) var answerCount = 0, refusedCount = 0, aheadCount = 0
    private var pieceSlots: [Int: ObjectIdentifier] = [:]
    private var fetchSlots: [Int: ObjectIdentifier] = [:]
    /// Keeps every object, because comparisons are by identity.
    private var kept: [AnyObject] = []
    private(set) var failures: [String] = []

    init(seed: UInt64) throws {
        random = SplitMix64(seed: seed)
        let directory = SimulatedStorageDirectory()
        file = PackFile(try directory.open("pack", create: true), named: "pack", in: directory)
    }

    private func expect(_ isTrue: Bool, _ text: @autoclosure () -> String) {
        if !isTrue, failures.count < 10 { failures.append(text()) }
    }

    func chance(_ count: Int) -> Bool { random.oneIn(count) }
    func number(_ bound: Int) -> Int { random.below(bound) }

    // MARK: Items

    /// The size of an item with extents of all kinds, and holes.
    func size(of item: Int64) -> Int64 { content(of: item).size }

    private func content(of item: Int64) -> (size: Int64, extents: [SealedExtent]) {
        if let content = contents[item] { return content }
        var extents: [SealedExtent] = []
        var (offset, position) = (Int64(0), Int64(4096))
        for _ in 0..<12 + random.below(20) {
            let length = Int64(random.oneIn(3) ? 1 << 20 : 1 + random.below(400_000))
            if random.oneIn(5) { offset += Int64(random.below(700_000)) }
            let row = ExtentRow(
                item: item, offset: offset, length: length, place: .pack(item, position: position),
                prefix: NoncePrefix(low: 1, high: 2), epoch: .first)
            extents.append(
                SealedExtent(
                    row: row, source: random.oneIn(8) ? .bytes([]) : .file(file, isScattered: false)))
            offset += length
            position += Int64(ExtentLayout.sealedByteCount(Int(length)))
        }
        let content = (offset + Int64(random.below(300_000)), extents)
        contents[item] = content
        return content
    }

    /// The content of an item changes.
    func change(_ item: Int64) {
        state.end(item)
        contents[item] = nil
        check()
    }

    // MARK: Steps

    /// Requests a range, as a handler does; true if the stream answers it.
    @discardableResult
    func read(_ item: Int64, _ range: Range<Int64>) -> Bool {
        _ = state.note(item, range)
        defer { check() }
        let content = content(of: item)
        if let stream = state.stream(of: item, range) {
            plan(stream, content, range)
        } else {
            guard content.size - range.upperBound >= ReadStream.pieceByteCount else { return false }
            let stream = ReadStream(
                item: item, id: ItemID(low: 0, high: UInt64(item)), size: content.size, at: range.lowerBound)
            guard state.begin(stream) else { return false }
            streams.append(stream)
            kept.append(stream)
            plan(stream, content, range)
        }
        guard let (mine, answer) = state.attach(item, range, { Request() }) else {
            refusedCount += 1
            return false
        }
        for piece in mine { begin(piece) }
        if let answer { take(answer, range.clamped(to: 0..<content.size)) }
        for case let pending? in mine.flatMap(\.waiting) as [ReadStream.Pending?] {
            open[ObjectIdentifier(pending)] = pending
        }
        for pending in streams.flatMap({ $0.pieces.flatMap(\.waiting) }) {
            open[ObjectIdentifier(pending)] = pending
        }
        return true
    }

    private func plan(
        _ stream: ReadStream, _ content: (size: Int64, extents: [SealedExtent]), _ range: Range<Int64>
    ) {
        guard let unplanned = state.unplanned(stream, for: range) else { return }
        let wanted = unplanned.clamped(to: unplanned.lowerBound..<unplanned.lowerBound + (4 << 20))
        let extents = content.extents.filter {
            $0.row.offset < wanted.upperBound && $0.row.end > wanted.lowerBound
        }
        let end = max(wanted.upperBound, min(extents.last?.row.end ?? 0, stream.size))
        let planned = ReadStream.plan(extents, from: wanted.lowerBound)
        for case let fetch? in planned.map(\.fetch) where fetches.last !== fetch { fetches.append(fetch) }
        state.add(planned, for: wanted.lowerBound..<end, to: stream)
        if chance(4) {
            // Another thread was equally fast, and comes too late.
            state.add(
                ReadStream.plan(extents, from: wanted.lowerBound), for: wanted.lowerBound..<end, to: stream)
        }
    }

    private func begin(_ piece: ReadStream.Piece) {
        kept.append(piece)
        pieceSlots[piece.slot] = ObjectIdentifier(piece)
        opening.append(piece)
    }

    func beginPiece() {
        guard let piece = state.nextPiece() else { return }
        aheadCount += 1
        begin(piece)
        check()
    }

    func finishPiece() {
        guard !opening.isEmpty else { return }
        let piece = opening.remove(at: random.below(opening.count))
        expect(pieceSlots[piece.slot] == ObjectIdentifier(piece), "a slot was given away while it was filled")
        for planned in piece.extents {
            guard let fetch = planned.fetch, case .ready = fetch.state else { continue }
            guard let slot = fetch.slot else {
                expect(false, "fetched bytes are gone while they are opened")
                continue
            }
            expect(fetchSlots[slot] == ObjectIdentifier(fetch), "fetched bytes were overwritten")
        }
        for pending in state.finish(piece, failed: random.oneIn(12)) { take(pending, nil) }
        check()
    }

    private func take(_ pending: ReadStream.Pending, _ range: Range<Int64>?) {
        kept.append(pending)
        open[ObjectIdentifier(pending)] = nil
        answerCount += 1
        expect(!answered.contains { $0 === pending }, "a request is answered twice")
        if let range { expect(pending.range == range, "\(range) was asked for, \(pending.range) is told") }
        var covered = pending.range.lowerBound
        for piece in pending.pieces {
            expect(piece.range.contains(covered), "pieces do not follow each other")
            covered = min(piece.range.upperBound, pending.range.upperBound)
            if case .done = piece.state {} else { expect(false, "a piece is not open") }
            expect(pieceSlots[piece.slot] == ObjectIdentifier(piece), "a piece is not in memory any more")
        }
        expect(covered == pending.range.upperBound, "an answer is too short")
        answered.append(pending)
    }

    /// The bytes of an answer were sent.
    func giveBack() {
        guard !answered.isEmpty else { return }
        let pending = answered.remove(at: random.below(answered.count))
        for piece in pending.pieces {
            expect(pieceSlots[piece.slot] == ObjectIdentifier(piece), "a piece went while it was sent")
        }
        state.giveBack(pending)
        check()
    }

    func beginFetch() {
        guard let (fetch, slot) = state.nextFetch() else { return }
        kept.append(fetch)
        fetchSlots[slot] = ObjectIdentifier(fetch)
        fetching.append((fetch, slot))
        check()
    }

    func finishFetch() {
        guard !fetching.isEmpty else { return }
        let (fetch, slot) = fetching.remove(at: random.below(fetching.count))
        expect(fetchSlots[slot] == ObjectIdentifier(fetch), "a slot was given away while it was read into")
        state.finish(fetch, skew: random.oneIn(8) ? nil : random.below(4096))
        check()
    }

    /// No more requests come, and all threads finish their work.
    func drain() {
        while state.canOpen || state.canFetch || !opening.isEmpty || !fetching.isEmpty || !answered.isEmpty {
            beginPiece()
            beginFetch()
            finishPiece()
            finishFetch()
            giveBack()
            if !failures.isEmpty { return }
        }
        expect(open.isEmpty, "\(open.count) requests are not answered")
    }

    func endAll() {
        state.endAll()
        check()
    }

    /// Each slot is free, or belongs to one piece or fetch.
    private func check() {
        streams.removeAll { $0.isOver && $0.pieces.isEmpty }
        fetches.removeAll { $0.slot == nil && $0.state == .skipped }
        let pieces = streams.flatMap(\.pieces).map(\.slot) + state.freePieceSlots
        expect(
            pieces.sorted() == Array(0..<ReadAheadState.pieceSlotCount), "slots of pieces: \(pieces.sorted())"
        )
        let held = fetches.compactMap(\.slot) + state.freeFetchSlots
        expect(
            held.sorted() == Array(0..<ReadAheadState.fetchSlotCount), "slots of fetches: \(held.sorted())")
        expect(
            fetching.allSatisfy { fetch, slot in fetch.slot == slot }, "a fetch lost its slot while reading")
    }
}
