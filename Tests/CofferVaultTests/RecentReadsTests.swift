import Testing

@testable import CofferVault

/// Streams and scattered reads are distinguished.
@Suite struct RecentReadsTests {
    private static let piece: Int64 = 128 << 10

    @Test func aSequentialReaderIsRecognizedAfterSomeReads() {
        var recent = RecentReads()
        #expect(recent.note(1, 0..<65_536) == .plain)
        #expect(recent.note(1, 65_536..<131_072) == .plain)
        #expect(recent.note(1, 131_072..<196_608) == .sequential)
    }

    @Test func smallReadsFarAwayAreScattered() {
        var recent = RecentReads()
        #expect(recent.note(1, 0..<4096) == .plain)
        #expect(recent.note(1, 50 << 20..<(50 << 20) + 4096) == .scattered)
        #expect(recent.note(1, 500_000..<504_096) == .scattered)
        // A jump within reach breaks the run of a reader of small pieces.
        #expect(recent.note(2, 0..<Self.piece) == .plain)
        #expect(recent.note(2, Self.piece..<2 * Self.piece) == .sequential)
        #expect(recent.note(2, 3 * Self.piece..<3 * Self.piece + 4096) == .scattered)
        #expect(recent.note(2, 3 * Self.piece + 4096..<3 * Self.piece + 8192) == .plain)
    }

    /// Requests of the kernel overtake each other.
    @Test func largeReadsThatOvertakeEachOtherAreOneRun() {
        var recent = RecentReads()
        var patterns: [ReadPattern] = []
        for number in [0, 1, 3, 2, 5, 4, 6] as [Int64] {
            patterns.append(recent.note(1, number * Self.piece..<(number + 1) * Self.piece))
        }
        #expect(
            patterns == [
                .plain, .sequential, .sequential, .sequential, .sequential, .sequential, .sequential,
            ])
    }

    @Test func readersOfDifferentItemsAreDistinguished() {
        var recent = RecentReads()
        for step in 0..<8 as Range<Int64> {
            for reader in 0..<4 as Range<Int64> {
                let start = reader * (100 << 20) + step * Self.piece
                let item = reader / 2 + 1
                let pattern = recent.note(item, start..<start + Self.piece)
                #expect(pattern == (step == 0 ? .plain : .sequential), "reader \(reader), step \(step)")
            }
        }
    }

    @Test func theOldestOfManyIsForgotten() {
        var recent = RecentReads()
        for item in 1...17 as ClosedRange<Int64> { _ = recent.note(item, 0..<Self.piece) }
        #expect(recent.note(17, Self.piece..<2 * Self.piece) == .sequential)
        #expect(recent.note(1, Self.piece..<2 * Self.piece) == .plain)
    }
}
