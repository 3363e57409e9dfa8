import CofferCrypto
import Testing

@Suite struct Base64Tests {
    /// RFC 4648, section 10.
    @Test(arguments: [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="),
        ("fooba", "Zm9vYmE="), ("foobar", "Zm9vYmFy"),
    ])
    func publishedVectors(plain: String, text: String) {
        #expect(Base64.text(Array(plain.utf8), .standard) == text)
        #expect(Base64.bytes(text, .standard) == Array(plain.utf8))
        let short = text.filter { $0 != "=" }
        #expect(Base64.text(Array(plain.utf8), .url) == short)
        #expect(Base64.bytes(short, .url) == Array(plain.utf8))
    }

    @Test func alphabetsAreDistinguished() {
        let bytes: [UInt8] = [0xFB, 0xEF, 0xFF]
        #expect(Base64.text(bytes, .standard) == "++//")
        #expect(Base64.text(bytes, .url) == "--__")
        #expect(Base64.bytes("++//", .url) == nil)
        #expect(Base64.bytes("--__", .standard) == nil)
    }

    /// Unused bits that are set, missing or needless padding, blanks, and invalid letters.
    @Test(arguments: [
        "Zh==", "Zm9=", "Zg", "Zg=", "Zg===", "Zm9v=", "Z", " Zm9v", "Zm9v\n", "Zm 9v", "Zm9v\0", "Zmä=",
    ])
    func bytesHaveOneText(text: String) {
        #expect(Base64.bytes(text, .standard) == nil)
    }

    @Test func allLengthsReadAsWritten() {
        for count in 0..<200 {
            let bytes = pattern(count)
            #expect(Base64.bytes(Base64.text(bytes, .standard), .standard) == bytes)
            #expect(Base64.bytes(Base64.text(bytes, .url), .url) == bytes)
        }
    }
}
