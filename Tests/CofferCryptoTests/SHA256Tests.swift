import CofferCrypto
import Testing

/// SHA-256 and its HMAC give the published answers.
@Suite struct SHA256Tests {
    /// From FIPS 180-4's examples, and the hash of nothing.
    @Test(arguments: [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
    ])
    func hashes(_ text: String, _ expected: String) throws {
        #expect(SHA256.hash(Array(text.utf8)) == (try Hex.bytes(expected)))
    }

    @Test func piecesMakeOneHash() throws {
        var hash = SHA256()
        for _ in 0..<1000 {
            let piece = [UInt8](repeating: UInt8(ascii: "a"), count: 1000)
            hash.add(piece.span.bytes)
            hash.add([UInt8]().span.bytes)
        }
        let expected = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
        #expect(hash.finish() == (try Hex.bytes(expected)))
    }

    /// RFC 4231, test cases 1, 2 and 6, and a key and a message of no bytes.
    @Test(arguments: [
        (
            [UInt8](repeating: 0x0B, count: 20), "Hi There",
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        ),
        (
            Array("Jefe".utf8), "what do ya want for nothing?",
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        ),
        (
            [UInt8](repeating: 0xAA, count: 131), "Test Using Larger Than Block-Size Key - Hash Key First",
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        ),
        ([], "", "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"),
    ])
    func codes(_ key: [UInt8], _ text: String, _ expected: String) throws {
        #expect(SHA256.authenticate(Array(text.utf8), key: key) == (try Hex.bytes(expected)))
    }
}
