import CofferCrypto
import CofferSystem
import Testing

@Suite struct PurposeTests {
    @Test func aSignatureHasOnePurpose() throws {
        let key = SigningKey(seed: SecretBytes(copying: pattern(32).span.bytes))
        let message = pattern(40, 2)
        let publicKey = key.publicKey
        let signature = key.sign(message, for: .wrapSet)
        try SigningKey.verify(signature, of: message, by: publicKey, for: .wrapSet)
        #expect(throws: CryptoError.badSignature) {
            try SigningKey.verify(signature, of: message, by: publicKey, for: .link)
        }
        // The signed bytes are those of docs/trust.md.
        let whole = Array("coffer/1/wrap set\0".utf8) + message
        try SigningKey.verify(signature, of: whole.span.bytes, by: publicKey)
    }

    @Test func aHashHasOnePurpose() {
        let bytes = pattern(40)
        let whole = Array("coffer/1/fingerprint\0".utf8) + bytes
        #expect(Blake2b.hash(bytes, for: .fingerprint) == Blake2b.hash(whole.span.bytes, byteCount: 32))
        #expect(Blake2b.hash(bytes, for: .fingerprint) != Blake2b.hash(bytes, for: .link))
        for bytes in [bytes, [], pattern(5000)] {
            #expect(Blake2b.hash(bytes.span.bytes, for: .commit) == Blake2b.hash(bytes, for: .commit))
        }
    }

    @Test func anAgreedKeyIsThePlainHashOfBothSecrets() {
        let (first, second, context) = (pattern(32, 1), pattern(32, 2), pattern(148, 3))
        let agreed = SymmetricKey.agreed(
            SecretBytes(copying: first.span.bytes), SecretBytes(copying: second.span.bytes),
            context: context)
        let whole = Array("coffer/1/wrap 1\0".utf8) + first + second + context
        let expected = Blake2b.hash(whole.span.bytes, byteCount: 32)
        #expect(agreed.bytes.array == expected)
    }

    @Test func onlyKeysOfLowOrderAreWeak() {
        #expect(AgreementKey.isWeak([UInt8](repeating: 0, count: 32)))
        #expect(AgreementKey.isWeak([1] + [UInt8](repeating: 0, count: 31)))
        #expect(AgreementKey.isWeak([]))
        for seed in 1...20 as ClosedRange<UInt64> {
            let key = AgreementKey(secretKey: SecretBytes(copying: pattern(32, seed).span.bytes))
            let publicKey = key.publicKey
            #expect(!AgreementKey.isWeak(publicKey))
        }
    }
}
