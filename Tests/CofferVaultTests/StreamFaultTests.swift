import CofferFormat
import CofferSystem
import CofferTestSupport
import Testing

import CofferStore
import CofferVault

/// Streams over failing disks and damaged bytes.
@Suite struct StreamFaultTests {
    private let test: TestVault
    private let vault: Vault
    private let number: Int64
    private let bytes = Pattern.make(5_000_000, seed: 1)
    private let step = 128 << 10

    init() throws {
        test = try TestVault.create()
        vault = try test.open()
        number = try vault.makeFile("a", bytes)
        try vault.commit()
    }

    /// The result of each request of a whole reading; nil if it fails.
    private func readAll(_ error: String, step: Int = 128 << 10) throws -> [[UInt8]?] {
        let buffer = AlignedBuffer(count: step)
        var found: [[UInt8]?] = []
        for offset in stride(from: 0, to: bytes.count, by: step) {
            var piece: [UInt8]?
            let isRefused = fails(error) {
                let (atOnce, request) = try vault.ask(number, at: offset, count: step, into: buffer)
                piece = try atOnce ?? request?.wait() ?? []
                #expect((request?.answerCount ?? 1) == 1)
            }
            #expect(isRefused || piece != nil, "at \(offset)")
            found.append(piece)
        }
        return found
    }

    private func expectRight(_ found: [[UInt8]?], step: Int = 128 << 10, _ comment: Comment) {
        for (index, piece) in found.enumerated() {
            guard let piece else { continue }
            let expected = bytes[index * step..<min(bytes.count, (index + 1) * step)]
            let isSame = haveSameBytes(piece[...], expected)
            #expect(isSame, comment)
        }
    }

    /// One read of the disk fails: its request fails, or a retry succeeds; no request gets wrong bytes, and
    /// afterwards everything can be read.
    @Test(arguments: 0..<12)
    func aReadThatFails(skip: Int) throws {
        test.directory.fail(StorageFault([.read], path: "packs/", skip: skip, code: ErrorNumber.inputOutput))
        let found = try readAll("system")
        expectRight(found, "skip \(skip)")
        #expect(found.count { $0 == nil } <= 1, "skip \(skip)")
        let again = try readAll("system")
        #expect(again.allSatisfy { $0 != nil }, "skip \(skip)")
        expectRight(again, "skip \(skip)")
        #expect(vault.stoppedReason == nil)
        try vault.close()
    }

    @Test func anUnreadableDisk() throws {
        test.directory.fail(
            StorageFault([.read], path: "packs/", skip: 3, code: ErrorNumber.inputOutput, lasts: true))
        let found = try readAll("system")
        expectRight(found, "all")
        #expect(found.suffix(10).allSatisfy { $0 == nil })
        test.directory.heal()
        let again = try readAll("system")
        #expect(again.allSatisfy { $0 != nil })
        try vault.close()
    }

    /// A flipped byte fails exactly the requests that need its block, as without streams.
    @Test(arguments: [128 << 10, 32 << 10, 300_000])
    func aFlippedByteAffectsOnlyItsBlock(step: Int) throws {
        let pack = try #require(test.directory.paths.first { $0.hasPrefix("packs/") })
        test.directory.flip(pack, at: 3_000_000)
        let hurt = try vault.damage()
        #expect(hurt.count == 1)
        let range = try #require(hurt.first?.range)
        let before = vault.reported.count
        let found = try readAll("damaged", step: step)
        expectRight(found, step: step, "step \(step)")
        for (index, piece) in found.enumerated() {
            let isHurt = Range(index * step...(index + 1) * step - 1).overlaps(
                Int(range.lowerBound)..<Int(range.upperBound))
            #expect((piece == nil) == isHurt, "request \(index) of \(step)")
        }
        let told = vault.reported.dropFirst(before)
        #expect(told.count == found.count { $0 == nil }, "\(told)")
        try vault.close()
    }

    /// Damage far ahead does not affect reads before it.
    @Test func aMissingPackAffectsOnlyItsContent() throws {
        let large = Pattern.make(20 << 20, seed: 3)
        let far = try vault.makeFile("far", large)
        try vault.commit()
        let packs = test.directory.paths.filter { $0.hasPrefix("packs/") }
        #expect(packs.count == 2)
        let last = try #require(vault.newestPack)
        let again = test.on(test.directory.copy())
        again.directory.destroy(last)
        let vault = try again.open()
        let buffer = AlignedBuffer(count: step)
        var failed = 0, isHurt = false
        for offset in stride(from: 0, to: large.count, by: step) {
            var piece: [UInt8]?
            if fails(
                "damaged",
                {
                    let (atOnce, request) = try vault.ask(far, at: offset, count: step, into: buffer)
                    piece = try atOnce ?? request?.wait() ?? []
                })
            {
                failed += 1
                isHurt = true
            } else {
                let isSame = piece?[...] == large[offset..<offset + step]
                #expect(isSame && !isHurt, "at \(offset)")
            }
        }
        #expect(failed > 8 && failed < 100)
    }
}
