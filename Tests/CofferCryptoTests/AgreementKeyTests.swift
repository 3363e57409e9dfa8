import CofferCrypto
import Testing

@Suite struct AgreementKeyTests {
    private func pair(_ secret: [UInt8]) -> AgreementKey {
        AgreementKey(secretKey: SecretBytes(copying: secret.span.bytes))
    }

    private func shared(_ secret: [UInt8], _ peer: [UInt8]) throws(CryptoError) -> [UInt8] {
        try pair(secret).sharedSecret(with: peer).array
    }

    @Test func rfc7748() throws {
        for vector in try VectorFile.read("rfc7748") {
            let output = try shared(try vector.bytes("secret"), try vector.bytes("public"))
            #expect(output == (try vector.bytes("shared")), vector.place)
        }
    }

    /// RFC 7748, 5.2: a thousand iterations.
    @Test func rfc7748Iterated() throws {
        var scalar = [9] + [UInt8](repeating: 0, count: 31)
        var point = scalar
        for _ in 0..<1000 { (scalar, point) = (try shared(scalar, point), scalar) }
        let expected = try Hex.bytes("684cf59ba83309552800ef566f2f4d3c1c3887c49360e3875f2eb94d99532c51")
        #expect(scalar == expected)
    }

    /// RFC 7748, 6.1.
    @Test func rfc7748Agreement() throws {
        for vector in try VectorFile.read("rfc7748-agreement") {
            let secret = try vector.bytes("secret")
            #expect(pair(secret).publicKey == (try vector.bytes("public")), vector.place)
            let output = try shared(secret, try vector.bytes("peer"))
            #expect(output == (try vector.bytes("shared")), vector.place)
        }
    }

    @Test func wycheproof() throws {
        var refused = 0
        for vector in try VectorFile.read("wycheproof-x25519") {
            let (secret, peer) = (try vector.bytes("secret"), try vector.bytes("public"))
            if try vector.text("flags").contains("ZeroSharedSecret") {
                refused += 1
                #expect(throws: CryptoError.weakPublicKey, vector.place) { try shared(secret, peer) }
            } else {
                #expect(try shared(secret, peer) == (try vector.bytes("shared")), vector.place)
            }
        }
        #expect(refused > 20)
    }

    /// The points of low order, and their non-canonical encodings, with any secret.
    @Test func lowOrderPoints() throws {
        let vectors = try VectorFile.read("wycheproof-x25519")
        let weak = try vectors.filter { try $0.text("flags").contains("LowOrderPublic") }
        let points = Set(try weak.map { try $0.bytes("public") })
        #expect(points.count >= 7)
        for point in points {
            var highBit = point
            highBit[31] ^= 0x80
            for seed in 0..<5 as Range<UInt64> {
                #expect(throws: CryptoError.weakPublicKey) { try shared(pattern(32, seed), point) }
                #expect(throws: CryptoError.weakPublicKey) { try shared(pattern(32, seed), highBit) }
            }
        }
    }

    @Test(arguments: [0, 1, 31, 33, 64])
    func wrongLength(count: Int) {
        #expect(throws: CryptoError.weakPublicKey) { try shared(pattern(32), pattern(count, 2)) }
    }

    @Test func bothSidesAgree() throws {
        for _ in 0..<50 {
            let alice = AgreementKey.random()
            let bob = AgreementKey.random()
            let eve = AgreementKey.random()
            let ours = try alice.sharedSecret(with: bob.publicKey).array
            let theirs = try bob.sharedSecret(with: alice.publicKey).array
            let others = try eve.sharedSecret(with: alice.publicKey).array
            #expect(ours == theirs)
            #expect(ours != others)
        }
    }

    @Test func keepsTheSecretKey() {
        let secret = pattern(32, 81)
        #expect(pair(secret).secretKey.array == secret)
        #expect(pair(secret).publicKey == pair(secret).publicKey)
        #expect(AgreementKey.byteCount == 32)
    }
}
