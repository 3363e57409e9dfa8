import CofferCrypto
import CofferFormat
import CofferTestSupport
import Testing

@testable import CofferStore
@testable import CofferVault

/// How extents are grouped into fetches.
@Suite struct ReadPlanTests {
    private let file: PackFile

    init() throws {
        let directory = SimulatedStorageDirectory()
        file = PackFile(try directory.open("pack", create: true), named: "pack", in: directory)
    }

    /// A whole extent of item 1, or of a pack that is not on disk yet.
    private func extent(
        _ offset: Int64, _ length: Int64, pack: Int64 = 1, at position: Int64, inMemory: Bool = false
    ) -> SealedExtent {
        let row = ExtentRow(
            item: 1, offset: offset, length: length, place: .pack(pack, position: position),
            prefix: NoncePrefix(low: 1, high: 2), epoch: .first)
        return SealedExtent(row: row, source: inMemory ? .bytes([]) : .file(file, isScattered: false))
    }

    @Test func neighboursInAPackAreFetchedTogether() throws {
        let sealed = Int64(ExtentLayout.sealedByteCount(200_000))
        let plan = ReadStream.plan(
            [
                extent(0, 200_000, at: 4096), extent(200_000, 200_000, at: 4096 + sealed + 16_384),
                // Too far after the previous one.
                extent(400_000, 200_000, at: 4096 + 2 * sealed + 2 * 16_384 + 1),
                extent(600_000, 200_000, pack: 2, at: 4096),
                // Before the previous one.
                extent(800_000, 200_000, pack: 2, at: 0),
            ], from: 0)
        let fetches = try plan.map { try #require($0.fetch) }
        #expect(fetches[0] === fetches[1])
        for (one, other) in [(1, 2), (2, 3), (3, 4)] { #expect(fetches[one] !== fetches[other]) }
        #expect(fetches[0].position == 4096 && fetches[0].count == Int(2 * sealed) + 16_384)
        #expect(fetches[0].rest == 400_000)
    }

    @Test func smallOrUnwrittenContentIsNotFetched() {
        let plan = ReadStream.plan(
            [
                extent(0, 1 << 20, at: 4096, inMemory: true), extent(1 << 20, 50_000, at: 4096),
                extent(2 << 20, 1 << 20, at: -1), extent(3 << 20, 1 << 20, at: .max - 5),
            ], from: 0)
        #expect(plan.map(\.extent.row.offset) == [0, 1 << 20, 2 << 20, 3 << 20])
        #expect(plan.allSatisfy { $0.fetch == nil })
    }

    /// Each extent comes once and in order, and a fetch brings all needed blocks of its extents.
    @Test(arguments: Seeds.first(200))
    func fetchesBringAllBlocksOfTheirExtents(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var extents: [SealedExtent] = []
        var (offset, position) = (Int64(0), Int64(4096))
        for _ in 0..<1 + random.below(30) {
            if random.oneIn(5) { offset += Int64(random.below(100_000)) }
            let total = Int64(1 + random.below(random.oneIn(2) ? 1 << 20 : 100_000))
            var whole = extent(offset, total, at: position, inMemory: random.oneIn(9))
            if random.oneIn(3) {
                // A part of it was overwritten.
                var row = whole.row
                let cut = Int64(random.below(Int(total)))
                row.length -= cut
                if random.oneIn(2) { row.offset += cut }
                whole = SealedExtent(row: row, source: whole.source)
            }
            extents.append(whole)
            offset = whole.row.end
            position += Int64(ExtentLayout.sealedByteCount(Int(total)))
            if random.oneIn(4) { position += Int64(random.below(40_000)) }
        }
        let first = extents[0].row
        let start = first.offset + Int64(random.below(Int(first.length)))
        let plan = ReadStream.plan(extents, from: start)
        #expect(plan.map(\.extent.row) == extents.map(\.row), "seed \(seed)")
        var rest: [ObjectIdentifier: Int64] = [:]
        for planned in plan {
            guard let fetch = planned.fetch, case .pack(_, let position) = planned.extent.row.place else {
                continue
            }
            let row = planned.extent.row
            let from = max(row.offset, start) - row.base
            let block = Int64(ExtentLayout.blockByteCount)
            let firstByte = position + from / block * Int64(ExtentLayout.sealedBlockByteCount)
            let lastBlock = (row.end - row.base - 1) / block
            let sealedEnd = min(
                position + (lastBlock + 1) * Int64(ExtentLayout.sealedBlockByteCount),
                position + Int64(ExtentLayout.sealedByteCount(Int(row.total))))
            #expect(Int64(fetch.position) <= firstByte, "seed \(seed)")
            #expect(sealedEnd <= Int64(fetch.position + fetch.count), "seed \(seed)")
            #expect(fetch.count <= ReadAhead.fetchByteCountMax, "seed \(seed)")
            rest[ObjectIdentifier(fetch), default: 0] += row.end - max(row.offset, start)
        }
        for case let fetch? in plan.map(\.fetch) {
            #expect(fetch.rest == rest[ObjectIdentifier(fetch)], "seed \(seed)")
        }
    }
}
