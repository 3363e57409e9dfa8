import CofferFormat
import CofferSystem
import CofferTestSupport
import Testing

@testable import CofferStore
@testable import CofferVault

/// A check reports damage with the path and the lost bytes of the file.
@Suite struct CheckTests {
    private let test: TestVault
    private let content = Pattern.make(200_000)

    /// A vault with a file of 200,000 bytes in a pack, and one of 100 in a row of the index.
    init() throws {
        test = try TestVault.create()
        let vault = try test.open()
        _ = try vault.makeFile("large", in: try vault.makeDirectory("folder"), content)
        try vault.commit()
        _ = try vault.makeFile("small", Pattern.make(100))
        try vault.commit()
        try vault.close()
    }

    private var pack: String {
        get throws { try #require(test.directory.paths.first { $0.hasPrefix("packs/") }) }
    }

    private func open(_ problems: ProblemLog = ProblemLog()) throws -> Vault {
        try test.open(problems: problems)
    }

    private func number(_ vault: Vault) throws -> Int64 {
        try vault.number(of: "large", in: try vault.number(of: "folder"))
    }

    @Test func aCheckOfASoundVaultReadsEverything() throws {
        let vault = try open()
        let progress = Condition([Int]())
        let result = try vault.check { done, total in progress.withLock { $0 += [done, total] } }
        #expect(result.damage == [])
        #expect(result.items == 4)
        #expect(result.bytes == 200_100)
        #expect(result.blocks == ExtentLayout.blockCount(200_000) + 1)
        #expect(progress.withLock { $0.last } == 200_100)
    }

    @Test(arguments: [0, 1, 5, 48])
    func aFlippedByteOfAPackIsNamed(block: Int) throws {
        let place = 4096 + ExtentLayout.sealedOffset(ofBlock: block) + 77
        test.directory.flip(try pack, at: place)
        let problems = ProblemLog()
        let vault = try open(problems)
        let damage = try vault.damage()
        let start = Int64(block * ExtentLayout.blockByteCount)
        let end = min(200_000, start + Int64(ExtentLayout.blockByteCount))
        #expect(damage.map(\.path) == ["folder/large"])
        #expect(damage.map(\.range) == [start..<end])
        #expect(fails("damaged") { _ = try vault.get(try number(vault), at: Int(start), count: 1) })
        #expect(problems.all.contains { $0.text.contains("folder/large") })
        let rest = block == 0 ? Int(end) : 0
        #expect(try vault.get(try number(vault), at: rest, count: 10) == Array(content[rest..<rest + 10]))
    }

    /// Content that was overwritten or deleted is read like the rest, and named by the path that it had.
    @Test func damageThatOnlyTheHistoryHasIsNamed() throws {
        var vault = try open()
        try vault.history.set(.forever)
        let (large, folder) = (try number(vault), try vault.number(of: "folder"))
        try vault.put(Pattern.make(4_096), to: large, at: 40_960)
        try vault.commit()
        try vault.history.keepPresent()
        try vault.rename(Array("large".utf8), in: folder, to: Array("other".utf8), in: folder, .replace)
        try vault.commit()
        try vault.close()
        let old = try pack
        vault = try open()
        let sound = try vault.check { _, _ in }
        #expect(sound.damage == [] && sound.bytes == 200_100 + 4_096)
        try vault.close()
        test.directory.flip(old, at: 4096 + ExtentLayout.sealedOffset(ofBlock: 10) + 77)
        vault = try open()
        let damage = try vault.damage()
        #expect(damage.map(\.path) == ["folder/large"])
        #expect(damage.map(\.range) == [40_960..<45_056])
        #expect(damage[0].text.hasPrefix("Only the history has this content, as of 2"), "\(damage[0].text)")
        // What is there now is not affected.
        let other = try vault.number(of: "other", in: folder)
        #expect(try vault.get(other, at: 40_960, count: 4_096) == Pattern.make(4_096))
        try vault.unlink(Array("other".utf8), in: folder)
        vault.release(other)
        try vault.commit()
        let all = try vault.damage()
        #expect(all.map(\.path) == ["folder/large"] && all.map(\.range) == [40_960..<45_056])
        try vault.history.set(.none)
        try vault.commit()
        #expect(try vault.damage() == [])
        try vault.close()
    }

    @Test func damageInOneRunIsOneRange() throws {
        for block in [3, 4, 7] {
            test.directory.flip(try pack, at: 4096 + ExtentLayout.sealedOffset(ofBlock: block) + 5)
        }
        let expected: [Range<Int64>?] = [3 * 4_096..<5 * 4_096, 7 * 4_096..<8 * 4_096]
        #expect(try open().damage().map(\.range) == expected)
    }

    @Test func aTruncatedPackIsReportedFromTheCutOn() throws {
        test.directory.cut(try pack, to: 4096 + ExtentLayout.sealedOffset(ofBlock: 6) + 1)
        let damage = try open().damage()
        #expect(damage.map(\.path) == ["folder/large"])
        #expect(damage.map(\.range) == [6 * 4_096..<200_000])
    }

    @Test func aMissingPackIsNamed() throws {
        let name = try pack
        test.directory.destroy(name)
        let damage = try open().damage()
        #expect(damage.map(\.path) == ["folder/large"])
        #expect(damage.map(\.range) == [0..<200_000])
        #expect(damage.first?.text.contains("missing") == true)
        #expect(damage.first?.text.contains(name.dropFirst("packs/".count)) == true)
    }

    @Test func swappedBlocksAreNamed() throws {
        let bytes = test.directory.bytes(of: try pack)
        let (one, two) = (
            4096 + ExtentLayout.sealedOffset(ofBlock: 1), 4096 + ExtentLayout.sealedOffset(ofBlock: 2)
        )
        let count = ExtentLayout.sealedBlockByteCount
        test.directory.overwrite(try pack, at: one, with: Array(bytes[two..<two + count]))
        test.directory.overwrite(try pack, at: two, with: Array(bytes[one..<one + count]))
        #expect(try open().damage().map(\.range) == [4_096..<3 * 4_096])
    }

    @Test func aFlippedByteOfARowIsNamed() throws {
        let vault = try open()
        let number = try vault.number(of: "small")
        try vault.state.withLock { state in
            let row = try #require(try state.index.extents(of: number, overlapping: 0..<100).first)
            guard case .row(let content) = row.place else { throw NotInARow() }
            var sealed = try #require(try state.index.content(content))
            sealed[50] ^= 1
            let statement = try state.index.database.prepare(
                "UPDATE contents SET sealed = ? WHERE number = ?")
            try statement.run {
                $0.bind(1, sealed)
                $0.bind(2, content)
            }
        }
        let damage = try vault.damage()
        #expect(damage.map(\.path) == ["small"])
        #expect(damage.map(\.range) == [0..<100])
    }

    private struct NotInARow: Error {}

    @Test func anIndexThatDoesNotAddUpIsReported() throws {
        let vault = try open()
        try vault.state.withLock { state in
            try state.index.database.execute(
                "UPDATE items SET links = 7 WHERE links = 1; COMMIT; BEGIN IMMEDIATE")
        }
        let damage = try vault.damage()
        #expect(damage.contains { $0.path == nil && $0.text.contains("number of names") })
        #expect(damage.contains { $0.path == nil && $0.text.contains("items") })
    }
}
