import CofferCrypto
import CofferSystem
import Testing

@Suite struct NonceTests {
    /// Prefix first, then the number, all little-endian, at any offset.
    @Test(arguments: [0, 1, 7, 8])
    func layout(offset: Int) {
        let nonce = Nonce(
            prefix: NoncePrefix(low: 0x0706_0504_0302_0100, high: 0x0F0E_0D0C_0B0A_0908),
            number: 0x1716_1514_1312_1110)
        var bytes = [UInt8](repeating: 0xA5, count: 40)
        bytes.withMutableRawSpan { nonce.store(into: &$0, at: offset) }
        #expect(Array(bytes[offset..<offset + 24]) == Array(0..<24))
        #expect(bytes[..<offset].allSatisfy { $0 == 0xA5 })
        #expect(bytes[(offset + 24)...].allSatisfy { $0 == 0xA5 })
        #expect(Nonce(bytes.span.bytes, at: offset) == nonce)
        #expect(NoncePrefix(bytes.span.bytes, at: offset) == nonce.prefix)
    }

    @Test func sizes() {
        #expect(Nonce.byteCount == 24)
        #expect(NoncePrefix.byteCount == 16)
        #expect(Seal.tagByteCount == 16)
    }

    @Test func randomDiffers() {
        let nonces = (0..<1000).map { _ in Nonce.random() }
        #expect(Set(nonces.map(\.prefix.low)).count == 1000)
        #expect(Set(nonces.map(\.prefix.high)).count == 1000)
        #expect(Set(nonces.map(\.number)).count == 1000)
        #expect(Set((0..<1000).map { _ in NoncePrefix.random() }).count == 1000)
    }

    @Test func randomBytes() {
        for count in [0, 1, 16, 1000] { #expect(Random.bytes(count).count == count) }
        #expect(Set((0..<1000).map { _ in Random.bytes(16) }).count == 1000)
        #expect(Set((0..<1000).map { _ in Random.number() }).count == 1000)
        var seen: Set<UInt8> = []
        for byte in Random.bytes(10_000) { seen.insert(byte) }
        #expect(seen.count == 256)
    }
}
