import CofferFacts
import CofferFormat
import CofferRemote
import CofferTrust
import Testing

@testable import CofferSync

/// Which packs contents are worth moving out of.
@Suite struct PackListingTests {
    private static let mebibyte = 1 << 20
    private let layout = RemoteLayout(VaultID(low: 1, high: 2))

    private func pack(_ number: Int) -> PackID { PackID(low: UInt64(number), high: 1) }

    /// What is chosen among packs with some sizes, and with so much of each in use.
    private func sparse(
        _ packs: [(size: Int, used: Int)], past: Set<Int> = [], besides left: Set<Int> = [],
        byteCountMax: Int = 128 << 20
    ) -> PackListing.Sparse {
        var use: [PackID: RemotePackUse] = [:]
        for (number, sizes) in packs.enumerated() {
            use[pack(number), default: RemotePackUse()].add(sizes.used, isPresent: true)
            if past.contains(number) { use[pack(number)]?.add(1, isPresent: false) }
        }
        var listing = PackListing(used: Set(use.keys), layout)
        for (number, sizes) in packs.enumerated() { listing.add(layout.pack(pack(number)), sizes.size) }
        return listing.sparse(
            use, besides: Set(left.map(pack)), byteCountMax: byteCountMax, smallCountMin: 64)
    }

    @Test func aQuarterThatIsNotInUseCounts() {
        let unit = Self.mebibyte
        let found = sparse([(16 * unit, 13 * unit), (16 * unit, 12 * unit), (16 * unit, unit)])
        #expect(found.packs == [pack(1), pack(2)] && !found.hasManySmall)
        #expect(found.usedByteCount == 13 * unit && found.freeByteCount == 19 * unit)
    }

    /// What cannot move is left alone: what only the history has, and what stayed the last time.
    @Test func whatCannotMoveIsLeftAlone() {
        let unit = Self.mebibyte
        let packs = [(16 * unit, unit), (16 * unit, unit), (16 * unit, unit)]
        #expect(sparse(packs, past: [0], besides: [1]).packs == [pack(2)])
    }

    @Test func smallPacksCountOnceThereAreMany() {
        let small = [(size: 100_000, used: 99_000)]
        let few = Array(repeating: small[0], count: 63)
        #expect(sparse(few).packs.isEmpty)
        #expect(sparse(few + small).packs.count == 64 && sparse(few + small).hasManySmall)
        #expect(sparse(few + small, past: [3]).packs.isEmpty)
        #expect(sparse(few + small, besides: [3]).packs.isEmpty)
    }

    @Test func thoseWithTheLeastInUseComeFirst() {
        let unit = Self.mebibyte
        let packs = [(16 * unit, 8 * unit), (16 * unit, 2 * unit), (16 * unit, 4 * unit)]
        #expect(sparse(packs, byteCountMax: 7 * unit).packs == [pack(1), pack(2)])
    }

    /// The storage may list anything, and what is not listed is not chosen.
    @Test func onlyWhatIsListedCounts() {
        var listing = PackListing(used: [pack(1)], layout)
        listing.add(layout.pack(pack(2)), .max)
        var use: [PackID: RemotePackUse] = [:]
        use[pack(1), default: RemotePackUse()].add(1, isPresent: true)
        let found = listing.sparse(use, besides: [], byteCountMax: .max, smallCountMin: 1)
        #expect(found.packs.isEmpty && listing.unusedByteCount == RemotePackHeader.packByteCountMax)
    }
}
