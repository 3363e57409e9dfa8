import CofferFormat
import CofferTestSupport
import Testing

@Suite struct LayoutTests {
    private let vault = VaultID(low: 0x0706_0504_0302_0100, high: 0x0F0E_0D0C_0B0A_0908)
    private let item = ItemID(low: 0x1716_1514_1312_1110, high: 0x1F1E_1D1C_1B1A_1918)

    @Test func sizesAreThoseOfTheFormat() {
        #expect(ExtentLayout.blockByteCount == 4_096)
        #expect(ExtentLayout.byteCountMax == 1_048_576)
        #expect(ExtentLayout.sealedBlockByteCount == 4_112)
        #expect(IndexPageLayout.usableByteCount == 4056)
        #expect(IndexPageLayout.frameByteCount == 4120)
    }

    @Test(arguments: [
        (1, 1, 17), (4_095, 1, 4_111), (4_096, 1, 4_112), (4_097, 2, 4_129), (8_192, 2, 8_224),
        (1_048_575, 256, 1_052_671), (1_048_576, 256, 1_052_672),
    ])
    func extentsHaveAsManyBlocksAsTheyNeed(plain: Int, blocks: Int, sealed: Int) {
        #expect(ExtentLayout.blockCount(plain) == blocks)
        #expect(ExtentLayout.sealedByteCount(plain) == sealed)
    }

    @Test(arguments: [UInt64(1), 2, 3])
    func blocksCoverAnExtentWithoutGaps(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        for _ in 0..<500 {
            let total = 1 + random.below(ExtentLayout.byteCountMax)
            var plain = 0
            var sealed = 0
            for block in 0..<ExtentLayout.blockCount(total) {
                #expect(ExtentLayout.sealedOffset(ofBlock: block) == sealed)
                let count = ExtentLayout.byteCount(ofBlock: block, total: total)
                #expect(count > 0)
                plain += count
                sealed += count + ExtentLayout.tagByteCount
            }
            #expect(plain == total)
            #expect(sealed == ExtentLayout.sealedByteCount(total))
        }
    }

    /// Only blocks whose bytes all lie in a range are counted; the last one may be short.
    @Test(arguments: [
        (0..<6000, 6000, 0..<6032), (0..<4096, 6000, 0..<4112), (1..<4096, 6000, 4112..<4112),
        (0..<5999, 6000, 0..<4112), (4096..<6000, 6000, 4112..<6032), (4097..<6000, 6000, 6032..<6032),
        (4000..<12_000, 20_000, 4112..<8224), (100..<200, 20_000, 0..<0),
    ])
    func blocksInARangeAreWhole(range: Range<Int>, total: Int, sealed: Range<Int>) {
        let found = ExtentLayout.sealedRange(ofBlocksIn: range, total: total)
        #expect(found == sealed || found.isEmpty && sealed.isEmpty)
    }

    @Test func associatedDataOfABlockIsThatOfTheFormat() {
        var data = BlockAssociatedData(vault: vault, item: item, base: 0x0102_0304_0506_0708)
        let ids = "01" + "000102030405060708090a0b0c0d0e0f" + "101112131415161718191a1b1c1d1e1f"
        #expect(hexadecimal(data.bytes) == ids + "0807060504030201" + "0000000000000000" + "00")
        data.select(block: 0x3F, isLast: true)
        #expect(hexadecimal(data.bytes) == ids + "0807060504030201" + "3f00000000000000" + "01")
        data.select(block: 0x0102_0304_0506_0708, isLast: false)
        #expect(hexadecimal(data.bytes) == ids + "0807060504030201" + "0807060504030201" + "00")
        #expect(data.bytes.count == 50)
    }

    @Test func associatedDataOfAPageIsThatOfTheFormat() {
        let page = IndexPageLayout.associatedData(.database, vault: vault, offset: 4096)
        #expect(hexadecimal(page) == "0100" + "000102030405060708090a0b0c0d0e0f" + "0010000000000000")
        let frame = IndexPageLayout.associatedData(.log, vault: vault, offset: 32)
        #expect(hexadecimal(frame) == "0101" + "000102030405060708090a0b0c0d0e0f" + "2000000000000000")
    }

    /// No two places share their associated data.
    @Test func everyPlaceHasItsOwnAssociatedData() {
        var seen: Set<[UInt8]> = []
        for vault in [vault, VaultID(low: 0, high: 0)] {
            for file in [IndexPageLayout.File.database, .log] {
                for offset in stride(from: 0, to: 100 * 4096, by: 4096) {
                    seen.insert(IndexPageLayout.associatedData(file, vault: vault, offset: offset))
                }
            }
        }
        #expect(seen.count == 400)
    }
}
