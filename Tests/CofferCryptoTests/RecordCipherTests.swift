import CofferCrypto
import CofferSystem
import Testing

@Suite struct RecordCipherTests {
    let secret = pattern(32, 31)
    let associated = pattern(24, 32)

    private func seal(_ plaintext: [UInt8]) -> [UInt8] {
        RecordCipher.seal(plaintext.span.bytes, key: key(secret), associated: associated.span.bytes)
    }

    private func open(
        _ sealed: [UInt8], secret: [UInt8]? = nil, associated: [UInt8]? = nil
    ) throws(CryptoError) -> [UInt8] {
        let associated = associated ?? self.associated
        return try RecordCipher.open(
            sealed.span.bytes, key: key(secret ?? self.secret), associated: associated.span.bytes)
    }

    private func openSecret(_ sealed: [UInt8]) throws(CryptoError) -> [UInt8] {
        try RecordCipher.openSecret(
            sealed.span.bytes, key: key(secret), associated: associated.span.bytes
        ).array
    }

    @Test(arguments: [0, 1, 15, 16, 17, 32, 63, 64, 65, 1000, 100_000])
    func roundTrip(length: Int) throws {
        let plaintext = pattern(length, 33)
        let sealed = seal(plaintext)
        #expect(sealed.count == length + RecordCipher.overhead)
        #expect(try open(sealed) == plaintext)
        #expect(try openSecret(sealed) == plaintext)
    }

    /// Nonce, ciphertext and tag, in that order, equal those of the reference.
    @Test func layout() {
        let plaintext = pattern(100, 34)
        let sealed = seal(plaintext)
        let nonce = Array(sealed[..<Nonce.byteCount])
        #expect(RecordCipher.overhead == 40)
        #expect(
            Array(sealed[Nonce.byteCount...])
                == ReferenceChaCha.xseal(plaintext, key: secret, nonce: nonce, associated: associated))
    }

    @Test func nonceIsFresh() {
        let nonces = Set((0..<1000).map { _ in Array(seal([1, 2, 3])[..<Nonce.byteCount]) })
        #expect(nonces.count == 1000)
    }

    @Test func shortInput() {
        let sealed = seal([])
        #expect(sealed.count == RecordCipher.overhead)
        for count in 0..<RecordCipher.overhead {
            #expect(throws: CryptoError.authenticationFailed) { try open(Array(sealed[..<count])) }
            #expect(throws: CryptoError.authenticationFailed) { try openSecret(Array(sealed[..<count])) }
        }
    }

    @Test func everyFlippedBit() {
        let sealed = seal(pattern(20, 35))
        for bit in 0..<(8 * sealed.count) {
            var forged = sealed
            forged[bit / 8] ^= 1 << (bit % 8)
            #expect(throws: CryptoError.authenticationFailed, "bit \(bit)") { try open(forged) }
            #expect(throws: CryptoError.authenticationFailed, "bit \(bit)") { try openSecret(forged) }
        }
    }

    @Test func otherLength() {
        let sealed = seal(pattern(20, 35))
        for forged in [Array(sealed.dropLast()), sealed + [0], Array(sealed.dropFirst()), [0] + sealed] {
            #expect(throws: CryptoError.authenticationFailed) { try open(forged) }
        }
    }

    @Test func wrongKeyAndAssociatedData() {
        let sealed = seal(pattern(20, 36))
        #expect(throws: CryptoError.authenticationFailed) { try open(sealed, secret: pattern(32, 37)) }
        for other in [[], associated + [0], Array(associated.dropLast()), pattern(24, 38)] {
            #expect(throws: CryptoError.authenticationFailed) { try open(sealed, associated: other) }
        }
    }

    /// A refusal zeroes the output buffer.
    @Test func refusalLeavesZeros() {
        let sealed = seal(pattern(80, 39))
        let nonce = Nonce(sealed)
        for index in [Nonce.byteCount, sealed.count - 1] {
            var forged = sealed
            forged[index] ^= 1
            let body = Array(forged[Nonce.byteCount...])
            let key: SymmetricKey<ItemRole> = key(secret)
            let opened = Opened.into(80) { (output: inout MutableRawSpan) throws(CryptoError) in
                try RecordCipher.open(
                    body.span.bytes, key: key, nonce: nonce, associated: associated.span.bytes, into: &output)
            }
            #expect(opened == .refused(80))
        }
    }
}
