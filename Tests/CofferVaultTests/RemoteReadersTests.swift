import Testing

@testable import CofferVault

/// Which readers get contents ahead, and how much.
@Suite struct RemoteReadersTests {
    private func step(_ readers: inout RemoteReaders, from start: Int64, _ count: Int) -> [Int64] {
        (0..<count).map { index in
            let offset = start + Int64(index) << 17
            return readers.note(1, offset..<offset + 1 << 17, isMissing: true).ahead.reduce(0) {
                $0 + Int64($1.count)
            }
        }
    }

    @Test func theWindowGrowsWithAReader() {
        var readers = RemoteReaders()
        let ahead = step(&readers, from: 0, 400).filter { $0 > 0 }
        #expect(ahead.first == 1 << 20)
        #expect(ahead.max() ?? 0 > 4 << 20)
        #expect(ahead.max() ?? 0 <= readers.windowMax)
    }

    @Test func aSeekShrinksTheWindow() {
        var (one, other) = (RemoteReaders(), RemoteReaders())
        #expect(step(&one, from: 0, 200) == step(&other, from: 0, 200))
        for place in [1, 2, 3] as [Int64] {
            #expect(other.note(1, place << 40..<place << 40 + 4096, isMissing: true).isSeek)
        }
        let (grown, shrunk) = (step(&one, from: 200 << 17, 200), step(&other, from: 200 << 17, 200))
        #expect(grown.max() ?? 0 > shrunk.first { $0 > 0 } ?? 0)
        #expect(grown != shrunk)
    }

    @Test func readsFromTheBeginningAreNoSeeks() {
        var readers = RemoteReaders()
        #expect(!readers.note(1, 0..<4096, isMissing: true).isSeek)
        #expect(readers.note(2, 5 << 20..<5 << 20 + 4096, isMissing: true).isSeek)
        // A reader that goes on gets nothing ahead until it has read a while.
        var readings: [(ahead: [Range<Int64>], isSeek: Bool)] = []
        for index in 0..<4 as Range<Int64> {
            let start = 10 << 20 + index << 17
            readings.append(readers.note(3, start..<start + 1 << 17, isMissing: true))
        }
        #expect(readings.map(\.isSeek) == [true, true, false, false])
        #expect(readings.map(\.ahead.isEmpty) == [true, true, false, true])
    }
}
