import CofferFormat
import CofferTestSupport
import Testing

@Suite struct IdentifierTests {
    private let text = "000102030405060708090a0b0c0d0e0f"

    @Test func bytesAndDigitsHaveTheSameOrder() throws {
        let id = try #require(VaultID(bytes: counting(16)))
        #expect(id == VaultID(low: 0x0706_0504_0302_0100, high: 0x0F0E_0D0C_0B0A_0908))
        #expect(id.bytes == counting(16))
        #expect(id.description == text)
        #expect(VaultID(hexadecimal: text) == id)
    }

    @Test(arguments: [UInt64(1), 2, 3, 4])
    func randomOnesReadAsWritten(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        for _ in 0..<200 {
            let id = ItemID(low: random.next(), high: random.next())
            #expect(ItemID(bytes: id.bytes) == id)
            #expect(ItemID(hexadecimal: id.description) == id)
        }
    }

    @Test(arguments: [0, 1, 15, 17, 32])
    func otherCountsOfBytesAreRefused(count: Int) {
        #expect(VaultID(bytes: counting(count)) == nil)
    }

    /// Each identifier has one spelling.
    @Test(arguments: [
        "", "00", "000102030405060708090a0b0c0d0e0", "000102030405060708090a0b0c0d0e0f0",
        "000102030405060708090A0B0C0D0E0F", " 00102030405060708090a0b0c0d0e0f",
        "0x0102030405060708090a0b0c0d0e0f",
        "g00102030405060708090a0b0c0d0e0f", "0001020304050607-8090a0b0c0d0e0f",
        "ä00102030405060708090a0b0c0d0e0",
        "000102030405060708090a0b0c0d0e0\u{0}",
    ])
    func otherSpellingsAreRefused(text: String) {
        #expect(VaultID(hexadecimal: text) == nil)
    }

    @Test func ordersByHighThenLow() {
        let ids = [(0, 0), (1, 0), (0, 1), (1, 1)].map { PackID(low: $0.0, high: $0.1) }
        #expect(ids.shuffled().sorted() == ids)
    }

    @Test func epochsOrderByNumber() {
        #expect(Epoch(1) < Epoch(2))
        #expect(Epoch.first == Epoch(1))
    }
}
