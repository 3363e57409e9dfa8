import CofferTestSupport
import Testing

import CofferStore
@testable import CofferVault

/// Read-ahead for several readers, without threads.
@Suite struct ReadAheadStateTests {
    private static let piece = Int64(ReadStream.pieceByteCount)

    /// Readers continue, jump, overtake themselves and vanish while content changes: in any order of steps
    /// no slot is lost or shared, and each request is answered once, with its range.
    @Test(arguments: Seeds.first(60))
    func anyOrderOfStepsIsRight(seed: UInt64) throws {
        let model = try ReadAheadModel(seed: seed)
        let readerCount = 1 + model.number(7)
        var readers = (0..<readerCount).map { (item: Int64($0 % 5 + 1), place: Int64(0)) }
        for _ in 0..<1500 {
            switch model.number(12) {
            case 0...2:
                let reader = model.number(readerCount)
                var (item, place) = readers[reader]
                if model.chance(40) { place = Int64(model.number(Int(model.size(of: item)))) }
                if model.chance(15) { place += Int64(model.number(900_000)) }
                let count = model.chance(3) ? Int64(1 + model.number(1 << 20)) : Self.piece
                let start = model.chance(10) ? max(0, place - 2 * Self.piece) : place
                model.read(item, start..<start + count)
                place = start + count
                if place >= model.size(of: item) { (item, place) = (Int64(1 + model.number(5)), 0) }
                readers[reader] = (item, place)
            case 3, 4: model.beginPiece()
            case 5, 6: model.finishPiece()
            case 7: model.beginFetch()
            case 8: model.finishFetch()
            case 9, 10: model.giveBack()
            default:
                if model.chance(8) { model.change(Int64(1 + model.number(5))) }
                if model.chance(60) { model.endAll() }
                if model.chance(12) { model.drain() }
            }
            if !model.failures.isEmpty { break }
        }
        model.drain()
        model.endAll()
        model.drain()
        #expect(model.failures == [], "seed \(seed)")
        #expect(model.state.isAtRest, "seed \(seed)")
        #expect(model.answerCount > 20, "seed \(seed)")
    }

    /// A reader gets read-ahead to the end of the item if the threads keep up, and everything is opened once.
    @Test func readAheadReachesTheEnd() throws {
        let model = try ReadAheadModel(seed: 4)
        let size = model.size(of: 1)
        var place: Int64 = 0
        while place + 2 * Self.piece < size {
            #expect(model.read(1, place..<place + Self.piece), "at \(place)")
            model.drain()
            place += Self.piece
        }
        while place < size {
            #expect(model.read(1, place..<place + Self.piece), "at \(place)")
            model.drain()
            place += Self.piece
        }
        let pieceCount = Int((size + Self.piece - 1) / Self.piece)
        #expect(model.answerCount == pieceCount)
        // The first request had to open its own.
        #expect(model.aheadCount == pieceCount - 1)
        #expect(model.refusedCount == 0)
        #expect(model.failures == [])
    }

    /// Readers of one item, or of as many items as allowed, do not end each other's streams.
    @Test(arguments: [1, 4])
    func concurrentReadersAllGetReadAhead(itemCount: Int) throws {
        let model = try ReadAheadModel(seed: 9)
        var places = (0..<4).map { Int64($0) * (2 << 20) }
        for item in 1...5 as ClosedRange<Int64> { #expect(model.size(of: item) > 4 << 20) }
        var answered = 0, asked = 0
        for _ in 0..<10 {
            for reader in 0..<(itemCount == 1 ? 2 : 4) {
                let item = Int64(itemCount == 1 ? 1 : reader + 1)
                if itemCount != 1, places[reader] >= 2 << 20 { places[reader] = 0 }
                asked += 1
                if model.read(item, places[reader]..<places[reader] + Self.piece) { answered += 1 }
                places[reader] += Self.piece
                model.drain()
            }
        }
        #expect(answered == asked)
        // Each stream's first request opens for itself; hardly any other does.
        #expect(model.aheadCount >= asked - 4)
        #expect(model.failures == [])
    }

    /// A fifth reader gets no read-ahead while four have it, and gets it when one of them has left.
    @Test func excessReadersAreAnsweredWithoutReadAhead() throws {
        let model = try ReadAheadModel(seed: 11)
        // The first ones had all the memory; it takes some reads until each has its share.
        for step in 0..<12 as Range<Int64> {
            for item in 1...4 as ClosedRange<Int64> {
                let isAnswered = model.read(item, step * Self.piece..<(step + 1) * Self.piece)
                #expect(isAnswered || step < 10, "item \(item), step \(step)")
                model.drain()
            }
            #expect(!model.read(5, 0..<Self.piece))
        }
        for _ in 0...ReadAheadState.patience { _ = model.state.note(9, 0..<1) }
        #expect(model.read(5, 0..<Self.piece))
        #expect(model.failures == [])
    }

    /// Pieces that the reader skipped do not fill the memory.
    @Test func aReaderThatSkipsPartsStaysInItsStream() throws {
        let model = try ReadAheadModel(seed: 14)
        let size = model.size(of: 1)
        var place: Int64 = 0, asked = 0
        while place + 4 * Self.piece < size {
            model.read(1, place..<place + 2 * Self.piece)
            model.drain()
            asked += 1
            place += 6 * Self.piece
        }
        #expect(asked > 6)
        #expect(model.refusedCount == 0)
        #expect(model.failures == [])
    }

    /// Requests that are open when the content changes are still answered.
    @Test func requestsOutliveTheirStream() throws {
        let model = try ReadAheadModel(seed: 3)
        #expect(model.read(1, 0..<1 << 20))
        model.beginFetch()
        model.beginFetch()
        #expect(model.read(1, 1 << 20..<2 << 20))
        let waiting = model.open.count
        model.change(1)
        #expect(waiting > 0 && model.answerCount == 0)
        model.drain()
        #expect(model.answerCount == 2)
        #expect(model.state.isAtRest)
        #expect(model.failures == [])
    }
}
