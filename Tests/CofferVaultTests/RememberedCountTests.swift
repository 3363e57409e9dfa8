import Testing

@testable import CofferVault

/// Counts that take long are not repeated for each query.
@Suite struct RememberedCountTests {
    private static let second: Int64 = 1_000_000_000

    private func counted(_ value: Int, asOf change: Int64, for seconds: Int64) -> RememberedCount<Int> {
        var count = RememberedCount<Int>()
        count.note(value, asOf: change, from: 100, to: 100 + seconds * Self.second, generation: 0)
        return count
    }

    @Test func nothingIsCountedTwiceForOneChange() {
        var count = RememberedCount<Int>()
        #expect(count.value(asOf: 7, at: 0) == nil)
        count.note(42, asOf: 7, from: 0, to: 10, generation: 0)
        #expect(count.value(asOf: 7, at: .max) == 42)
    }

    @Test func cheapCountsFollowEachChange() {
        let count = counted(42, asOf: 7, for: 1)
        #expect(count.value(asOf: 8, at: 100 + Self.second) == nil)
    }

    @Test func expensiveCountsAreCached() {
        let count = counted(42, asOf: 7, for: 3)
        let end = 100 + 3 * Self.second
        #expect(count.value(asOf: 8, at: end + 30 * Self.second - 1) == 42)
        #expect(count.value(asOf: 8, at: end + 30 * Self.second) == nil)
    }

    @Test func forgottenReadersDoNotCount() {
        var count = counted(42, asOf: 7, for: 3)
        let generation = count.generation
        count.forget()
        #expect(count.value(asOf: 7, at: 0) == nil)
        count.note(41, asOf: 7, from: 0, to: 1, generation: generation)
        #expect(count.value(asOf: 7, at: 0) == nil)
        count.note(40, asOf: 7, from: 0, to: 1, generation: count.generation)
        #expect(count.value(asOf: 7, at: 0) == 40)
    }
}
