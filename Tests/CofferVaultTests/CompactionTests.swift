import CofferSystem
import CofferTestSupport
import Testing

import CofferStore
@testable import CofferVault

@Suite struct CompactionTests {
    private let test: TestVault
    private let vault: Vault

    init() throws {
        test = try TestVault.create()
        vault = try test.open()
    }

    private func ranges(of number: Int64) throws -> [ExtentRow] {
        try vault.state.withLock { try $0.index.extents(of: number, overlapping: 0..<Int64.max) }
    }

    /// Makes a file look as if it had not been written to for long.
    private func rest(_ number: Int64) throws {
        var changes = AttributeChanges()
        changes.modified = .at(1)
        _ = try vault.setAttributes(of: number, changes)
    }

    /// A file of many small ranges, some of them in rows, some in packs.
    private func makeFragments(_ name: String, count: Int, seed: UInt64) throws -> (
        number: Int64, content: [UInt8]
    ) {
        let number = try vault.makeFile(name)
        let content = Pattern.make(count * 4000, seed: seed)
        for piece in 0..<count {
            try vault.put(Array(content[piece * 4000..<(piece + 1) * 4000]), to: number, at: piece * 4000)
            if piece % 7 == 6 { try vault.commit() }
        }
        try rest(number)
        return (number, content)
    }

    @Test func smallRangesAreUnited() throws {
        let (number, content) = try makeFragments("a", count: 600, seed: 1)
        #expect(try ranges(of: number).count == 600)
        #expect(try vault.repacking.compact() == false)
        #expect(try ranges(of: number).count <= 10)
        #expect(try vault.content(of: number) == content)
        try vault.commit()
        #expect(try vault.damage() == [])
        let again = try test.on(test.directory.crash(seed: 1)).open()
        #expect(try again.content(of: number) == content)
        #expect(try again.damage() == [])
    }

    @Test func aRecentlyWrittenFileIsLeftAlone() throws {
        let (number, _) = try makeFragments("a", count: 200, seed: 1)
        try vault.put([1], to: number, at: 100)
        #expect(try vault.repacking.compact())
        #expect(try ranges(of: number).count >= 200)
    }

    @Test func holesStayHoles() throws {
        let number = try vault.makeFile("a")
        for piece in 0..<200 {
            try vault.put(Pattern.make(1000), to: number, at: piece * 8192 + (piece < 100 ? 1 : 0))
        }
        let before = (try vault.content(of: number), try vault.attributes(of: number).allocated)
        try rest(number)
        _ = try vault.repacking.compact()
        #expect(try vault.content(of: number) == before.0)
        #expect(try vault.attributes(of: number).allocated == before.1)
        #expect(try vault.damage() == [])
    }

    /// Two files written in turn; one is removed, and the packs that it filled go with it.
    private func makeSparsePacks() throws -> (number: Int64, content: [UInt8]) {
        let (kept, gone) = (try vault.makeFile("kept"), try vault.makeFile("gone"))
        let content = Pattern.make(10 << 20, seed: 3)
        for piece in 0..<10 {
            let part = Array(content[piece << 20..<(piece + 1) << 20])
            try vault.put(part, to: kept, at: piece << 20)
            for copy in 0..<4 { try vault.put(part, to: gone, at: (piece * 4 + copy) << 20) }
        }
        try vault.commit()
        try vault.remove("gone")
        try vault.commit()
        return (kept, content)
    }

    /// The number of wasted bytes of all packs, and of live ones.
    private func wasted() throws -> (waste: Int, live: Int) {
        try vault.state.withLock { state in
            let rows = state.packs.rows.filter { $0.live > 0 }
            return (
                try rows.reduce(0) { $0 + (try state.packs.wastedByteCount(of: $1.number)) },
                Int(rows.reduce(0) { $0 + $1.live })
            )
        }
    }

    /// No pack is mostly dead, but together they waste too much.
    @Test func atMostAFifthIsWasted() throws {
        let number = try vault.makeFile("a")
        var content = Pattern.make(40 << 20, seed: 5)
        for piece in 0..<40 {
            try vault.put(Array(content[piece << 20..<(piece + 1) << 20]), to: number, at: piece << 20)
        }
        try vault.commit()
        let other = Pattern.make(1 << 20, seed: 6)
        for piece in stride(from: 0, to: 40, by: 3) {
            try vault.put(other, to: number, at: piece << 20)
            content.replaceSubrange(piece << 20..<(piece + 1) << 20, with: other)
        }
        try vault.commit()
        let before = try wasted()
        #expect(before.waste > before.live / 100 * Compaction.wastePercentMax)
        _ = try vault.repacking.compact()
        try vault.commit()
        let after = try wasted()
        #expect(after.waste <= after.live / 100 * Compaction.wastePercentMax)
        let isSame = try haveSameBytes(vault.content(of: number), content)
        #expect(isSame)
        #expect(try vault.damage() == [])
        // Nothing more changes.
        let packs = vault.state.withLock { Set($0.packs.rows.map(\.number)) }
        _ = try vault.repacking.compact()
        #expect(vault.state.withLock { Set($0.packs.rows.map(\.number)) } == packs)
    }

    // MARK: Space that comes back without compaction

    /// Overwrites a part of each MiB, and returns the content.
    private func overwrite(_ part: Range<Int>, of number: Int64, _ content: [UInt8]) throws -> [UInt8] {
        var content = content
        let other = Pattern.make(part.count, seed: 8)
        for start in stride(from: 0, to: content.count, by: 1 << 20) {
            try vault.put(other, to: number, at: start + part.lowerBound)
            content.replaceSubrange(start + part.lowerBound..<start + part.upperBound, with: other)
        }
        return content
    }

    @Test(arguments: [0..<600_000, 100_000..<700_000, 400_000..<1 << 20, 4096..<20_480 + 8192])
    func overwrittenPartsOfExtentsAreFreed(part: Range<Int>) throws {
        let number = try vault.makeFile("a", Pattern.make(12 << 20, seed: 7))
        try vault.commit()
        let before = test.directory.usedByteCount
        let content = try overwrite(part, of: number, Pattern.make(12 << 20, seed: 7))
        try vault.commit()
        // At each end of a part, a block shares its pages with one that is in use.
        #expect(test.directory.usedByteCount - before < 12 * 20_000 + 200_000)
        #expect(try vault.damage() == [])
        let again = try test.on(test.directory.crash(seed: 1)).open()
        let isSame = try haveSameBytes(again.content(of: number), content)
        #expect(isSame)
        #expect(try again.damage() == [])
    }

    /// A crash before the commit still finds the overwritten bytes.
    @Test func overwrittenPartsStayUntilTheCommit() throws {
        let number = try vault.makeFile("a", Pattern.make(12 << 20, seed: 7))
        try vault.commit()
        _ = try overwrite(100_000..<700_000, of: number, Pattern.make(12 << 20, seed: 7))
        for seed in UInt64(0)..<4 {
            let again = try test.on(test.directory.crash(seed: seed)).open()
            #expect(try again.damage() == [])
            #expect(try again.attributes(of: number).size == 12 << 20)
        }
    }

    /// Steady rewriting needs half as much space again at most.
    @Test func rewritingNeedsLittleSpace() throws {
        let number = try vault.makeFile("a", Pattern.make(96 << 20, seed: 9))
        try vault.commit()
        let pieces = (0..<4).map { Pattern.make(256 << 10, seed: 10 + $0) }
        var random = SplitMix64(seed: 11)
        var (written, most) = (0, 0)
        while written < 200 << 20 {
            let piece = pieces[random.below(4)].prefix(4096 << random.below(7))
            try vault.put(Array(piece), to: number, at: random.below((96 << 20) / 4096 - 64) * 4096)
            written += piece.count
            guard vault.state.withLock({ $0.isCommitUrgent }) else { continue }
            most = max(most, test.directory.usedByteCount)
            try vault.commitIndex()
            _ = try vault.repacking.compact()
            most = max(most, test.directory.usedByteCount)
        }
        #expect(most > 96 << 20)
        #expect(most < (96 << 20) / 2 * 3)
        #expect(try vault.damage() == [])
    }

    // MARK: Packs that are emptied

    @Test func sparsePacksAreEmptiedAndRemoved() throws {
        let (number, content) = try makeSparsePacks()
        let before = test.directory.paths.filter { $0.hasPrefix("packs/") }
        _ = try vault.repacking.compact()
        try vault.commit()
        _ = try vault.makeFile("another", [1])
        try vault.commit()
        let after = test.directory.paths.filter { $0.hasPrefix("packs/") }
        #expect(Set(before).subtracting(after).count >= 2)
        #expect(test.directory.usedByteCount < 30 << 20)
        #expect(try vault.content(of: number) == content)
        #expect(try vault.damage() == [])
        let again = try test.on(test.directory.crash(seed: 1)).open()
        #expect(try again.content(of: number) == content)
        #expect(try again.damage() == [])
    }

    /// Whatever call fails meanwhile, no byte is lost, and the accounting is right.
    @Test(arguments: [ErrorNumber.noSpace, ErrorNumber.inputOutput], [0, 1, 3, 6])
    func failedCompactionDamagesNothing(code: Int32, skip: Int) throws {
        let (number, content) = try makeSparsePacks()
        test.directory.fail(StorageFault([.write], path: "packs/", skip: skip, code: code))
        var hasFailed = false
        do {
            _ = try vault.repacking.compact()
            try vault.commit()
        } catch {
            hasFailed = true
        }
        // Without space, a write is retried, which suffices here.
        #expect(hasFailed == (code == ErrorNumber.inputOutput))
        #expect((vault.stoppedReason != nil) == hasFailed)
        test.directory.heal()
        #expect(try vault.content(of: number) == content)
        if vault.stoppedReason == nil {
            #expect(try vault.damage() == [])
            _ = try vault.repacking.compact()
            try vault.commit()
        }
        let again = try test.on(test.directory.crash(seed: 1)).open()
        #expect(try again.content(of: number) == content)
        #expect(try again.damage() == [])
    }

    /// One thread compacts and commits all the time while another writes; no write is lost.
    @Test func compactionRunsBesideWrites() throws {
        let number = try makeFragments("a", count: 300, seed: 5).number
        let isDone = Condition(false)
        let failures = Condition([String]())
        let thread = try Thread.start("compaction") { [vault] in
            while !isDone.withLock({ $0 }) {
                do {
                    vault.state.withLock { state in _ = state.fragmented.insert(number) }
                    _ = try vault.repacking.compact()
                    try vault.commit()
                } catch {
                    failures.withLock { $0.append("\(error)") }
                }
            }
        }
        var content = try vault.content(of: number)
        var random = SplitMix64(seed: 6)
        for _ in 0..<400 {
            let offset = random.below(content.count - 6000)
            let bytes = random.bytes(1 + random.below(6000))
            try vault.put(bytes, to: number, at: offset)
            content.replaceSubrange(offset..<offset + bytes.count, with: bytes)
            try rest(number)
            let start = random.below(content.count - 20_000)
            #expect(try vault.get(number, at: start, count: 20_000) == Array(content[start..<start + 20_000]))
        }
        isDone.update { $0 = true }
        thread.join()
        #expect(failures.withLock { $0 } == [])
        #expect(try vault.content(of: number) == content)
        #expect(try vault.damage() == [])
    }
}
