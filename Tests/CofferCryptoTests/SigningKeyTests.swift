import CofferCrypto
import Testing

@Suite struct SigningKeyTests {
    private func pair(_ seed: [UInt8]) -> SigningKey {
        SigningKey(seed: SecretBytes(copying: seed.span.bytes))
    }

    private func verify(_ signature: [UInt8], _ message: [UInt8], _ key: [UInt8]) throws(CryptoError) {
        try SigningKey.verify(signature, of: message.span.bytes, by: key)
    }

    private func accepts(_ signature: [UInt8], _ message: [UInt8], _ key: [UInt8]) -> Bool {
        do {
            try verify(signature, message, key)
            return true
        } catch {
            return false
        }
    }

    @Test func rfc8032() throws {
        for vector in try VectorFile.read("rfc8032") {
            let (message, signature) = (try vector.bytes("message"), try vector.bytes("signature"))
            let (publicKey, seed) = (try vector.bytes("public"), try vector.bytes("seed"))
            #expect(pair(seed).publicKey == publicKey, vector.place)
            #expect(pair(seed).sign(message.span.bytes) == signature, vector.place)
            #expect(throws: Never.self, vector.place) { try verify(signature, message, publicKey) }
        }
    }

    /// Keys of small order are refused; those of mixed order are left to libsodium (1.0.18 takes them).
    @Test func wycheproof() throws {
        for vector in try VectorFile.read("wycheproof-ed25519") {
            let accepted = accepts(
                try vector.bytes("signature"), try vector.bytes("message"), try vector.bytes("public"))
            let (result, flags) = (try vector.text("result"), try vector.text("flags"))
            if result == "acceptable" && flags == "MixedOrderPublicKey" { continue }
            #expect(accepted == (result == "valid"), vector.place)
        }
    }

    @Test func everyFlippedBit() throws {
        let key = pair(pattern(32, 91))
        let message = pattern(20, 92)
        let (signature, publicKey) = (key.sign(message.span.bytes), key.publicKey)
        try verify(signature, message, publicKey)
        for bit in 0..<512 {
            #expect(throws: CryptoError.badSignature, "bit \(bit)") {
                try verify(flipped(signature, bit), message, publicKey)
            }
        }
        for bit in 0..<160 {
            #expect(throws: CryptoError.badSignature, "bit \(bit)") {
                try verify(signature, flipped(message, bit), publicKey)
            }
        }
        for bit in 0..<256 {
            #expect(throws: CryptoError.badSignature, "bit \(bit)") {
                try verify(signature, message, flipped(publicKey, bit))
            }
        }
    }

    private func flipped(_ bytes: [UInt8], _ bit: Int) -> [UInt8] {
        var bytes = bytes
        bytes[bit / 8] ^= 1 << (bit % 8)
        return bytes
    }

    @Test func otherMessages() {
        let key = pair(pattern(32, 93))
        let message = pattern(20, 94)
        let (signature, publicKey) = (key.sign(message.span.bytes), key.publicKey)
        for other in [[], message + [0], Array(message.dropLast()), [0] + message] {
            #expect(throws: CryptoError.badSignature) { try verify(signature, other, publicKey) }
        }
    }

    @Test(arguments: [0, 1, 31, 32, 33, 63, 65, 128])
    func wrongLengths(count: Int) {
        let key = pair(pattern(32, 95))
        let message = pattern(20, 96)
        let (signature, publicKey) = (key.sign(message.span.bytes), key.publicKey)
        let long = signature + [UInt8](repeating: 0, count: 64)
        #expect(throws: CryptoError.badSignature) { try verify(Array(long[..<count]), message, publicKey) }
        let longKey = publicKey + [UInt8](repeating: 0, count: 96)
        guard count != SigningKey.publicByteCount else { return }
        #expect(throws: CryptoError.badSignature) { try verify(signature, message, Array(longKey[..<count])) }
    }

    @Test func randomKeysDiffer() throws {
        let first = SigningKey.random()
        let second = SigningKey.random()
        let (firstPublic, secondPublic) = (first.publicKey, second.publicKey)
        #expect(firstPublic != secondPublic)
        let message = pattern(3)
        let signature = first.sign(message.span.bytes)
        try verify(signature, message, firstPublic)
        #expect(throws: CryptoError.badSignature) { try verify(signature, message, secondPublic) }
    }

    @Test func keepsTheSeed() {
        #expect(pair(pattern(32, 97)).seed.array == pattern(32, 97))
    }
}
