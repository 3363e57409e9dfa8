import CofferCrypto
import CofferSystem
import Testing

/// Published vectors of XChaCha20-Poly1305, for every type that seals with it.
@Suite struct XChaChaVectorTests {
    static let files = ["draft-irtf-cfrg-xchacha-03", "wycheproof-xchacha20-poly1305"]

    @Test(arguments: files, CipherKind.allCases)
    func blockCipher(file: String, kind: CipherKind) throws {
        let cipher = kind.make()
        for vector in try VectorFile.read(file) {
            let nonce = Nonce(try vector.bytes("nonce"))
            let block = BlockCase(
                key: try vector.bytes("key"), prefix: nonce.prefix, number: nonce.number,
                associated: try vector.bytes("associated"))
            let plaintext = try vector.bytes("plaintext")
            let sealed = try vector.bytes("sealed")
            if try vector.text("result") == "valid" {
                #expect(cipher.seal(plaintext, block) == sealed, vector.place)
                #expect(cipher.open(sealed, block) == .authentic(plaintext), vector.place)
            } else {
                #expect(cipher.seal(plaintext, block) != sealed, vector.place)
                #expect(cipher.open(sealed, block) == .refused(plaintext.count), vector.place)
            }
        }
    }

    @Test(arguments: files)
    func recordCipher(file: String) throws {
        for vector in try VectorFile.read(file) {
            let key: SymmetricKey<ItemRole> = key(try vector.bytes("key"))
            let nonce = try vector.bytes("nonce")
            let associated = try vector.bytes("associated")
            let plaintext = try vector.bytes("plaintext")
            let record = nonce + (try vector.bytes("sealed"))
            let valid = try vector.text("result") == "valid"
            var sealed = [UInt8](repeating: 0, count: plaintext.count + Seal.tagByteCount)
            sealed.withMutableRawSpan {
                RecordCipher.seal(
                    plaintext.span.bytes, key: key, nonce: Nonce(nonce), associated: associated.span.bytes,
                    into: &$0)
            }
            #expect((nonce + sealed == record) == valid, vector.place)
            do throws(CryptoError) {
                let opened = try RecordCipher.open(
                    record.span.bytes, key: key, associated: associated.span.bytes)
                #expect(opened == plaintext && valid, vector.place)
            } catch {
                #expect(error == .authenticationFailed && !valid, vector.place)
            }
        }
    }

    /// The vectors of HChaCha20 alone: the ciphers against ChaCha20-Poly1305 under the published subkey.
    @Test(arguments: CipherKind.allCases)
    func subkey(kind: CipherKind) throws {
        let cipher = kind.make()
        let (plaintext, associated) = (pattern(100, 2), pattern(9, 3))
        for vector in try VectorFile.read("hchacha20") {
            let expected = ReferenceChaCha.seal(
                plaintext, key: try vector.bytes("subkey"), nonce: [0, 0, 0, 0, 5, 4, 3, 2, 1, 0, 0, 0],
                associated: associated)
            let block = BlockCase(
                key: try vector.bytes("key"), prefix: NoncePrefix(try vector.bytes("nonce")),
                number: 0x01_0203_0405, associated: associated)
            #expect(cipher.seal(plaintext, block) == expected, vector.place)
            #expect(cipher.open(expected, block) == .authentic(plaintext), vector.place)
        }
    }
}
