import Testing

/// The references of this folder pass the test vectors of their documents.
@Suite struct ReferenceTests {
    @Test func chacha20() throws {
        for vector in try VectorFile.read("rfc8439-chacha20") {
            let output = ReferenceChaCha.chacha20(
                try vector.bytes("plaintext"), key: try vector.bytes("key"),
                nonce: try vector.bytes("nonce"), counter: UInt32(try vector.number("counter")))
            #expect(output == (try vector.bytes("ciphertext")), vector.place)
        }
    }

    @Test func aead() throws {
        for vector in try VectorFile.read("rfc8439-aead") {
            let output = ReferenceChaCha.seal(
                try vector.bytes("plaintext"), key: try vector.bytes("key"),
                nonce: try vector.bytes("nonce"), associated: try vector.bytes("associated"))
            #expect(output == (try vector.bytes("sealed")), vector.place)
        }
    }

    @Test func hchacha20() throws {
        for vector in try VectorFile.read("hchacha20") {
            let output = ReferenceChaCha.hchacha20(
                key: try vector.bytes("key"), nonce: try vector.bytes("nonce"))
            #expect(output == (try vector.bytes("subkey")), vector.place)
        }
    }

    @Test func xchachaOfTheDraft() throws {
        for vector in try VectorFile.read("draft-irtf-cfrg-xchacha-03") {
            let output = ReferenceChaCha.xseal(
                try vector.bytes("plaintext"), key: try vector.bytes("key"),
                nonce: try vector.bytes("nonce"), associated: try vector.bytes("associated"))
            #expect(output == (try vector.bytes("sealed")), vector.place)
        }
    }

    /// They include the carries of Poly1305 that random bytes miss.
    @Test func xchachaOfWycheproof() throws {
        for vector in try VectorFile.read("wycheproof-xchacha20-poly1305") {
            let output = ReferenceChaCha.xseal(
                try vector.bytes("plaintext"), key: try vector.bytes("key"),
                nonce: try vector.bytes("nonce"), associated: try vector.bytes("associated"))
            let valid = try vector.text("result") == "valid"
            #expect((output == (try vector.bytes("sealed"))) == valid, vector.place)
        }
    }

    @Test(arguments: [("blake2b-kat", 0), ("blake2b-kat-keyed", 64)])
    func blake2b(file: String, keyCount: Int) throws {
        for vector in try VectorFile.read(file) {
            let output = ReferenceBlake2b.hash(
                (0..<(try vector.number("length"))).map { UInt8($0) },
                key: (0..<keyCount).map { UInt8($0) }, byteCount: 64)
            #expect(output == (try vector.bytes("hash")), vector.place)
        }
    }
}
