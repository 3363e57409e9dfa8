import CofferCrypto
import CofferSystem
import Testing

@Suite struct Blake2bTests {
    private func hash(_ input: [UInt8], _ byteCount: Int = 64) -> [UInt8] {
        Blake2b.hash(input.span.bytes, byteCount: byteCount)
    }

    private func keyed(_ input: [UInt8], key secret: [UInt8], _ byteCount: Int = 64) -> [UInt8] {
        let key = key(secret, RowDigestRole.self)
        var output = [UInt8](repeating: 0xA5, count: byteCount)
        output.withMutableRawSpan { Blake2b.hash(input.span.bytes, key: key, into: &$0) }
        return output
    }

    /// The 100th hash of a sequence in which each hash is over all earlier ones, the latest first.
    private func hundredth(_ hash: ([UInt8]) -> [UInt8]) -> [UInt8] {
        var (input, output): ([UInt8], [UInt8]) = ([], [])
        for _ in 0..<100 {
            output = hash(input)
            input = output + input
        }
        return output
    }

    @Test func rfc7693() throws {
        for vector in try VectorFile.read("rfc7693") {
            #expect(hash(try vector.bytes("input")) == (try vector.bytes("hash")), vector.place)
        }
    }

    @Test func knownAnswers() throws {
        for vector in try VectorFile.read("blake2b-kat") {
            let input = (0..<(try vector.number("length"))).map { UInt8($0) }
            #expect(hash(input) == (try vector.bytes("hash")), vector.place)
        }
    }

    @Test func publishedLengths() throws {
        for vector in try VectorFile.read("blake2b-lengths") {
            let expected = try vector.bytes("hash")
            #expect(hundredth { hash($0, expected.count) } == expected, vector.place)
        }
    }

    @Test func publishedKey() throws {
        let vectors = try VectorFile.read("blake2b-keys")
        let vector = try #require(try vectors.first { try $0.number("key") == 32 })
        let secret = Array(repeating: UInt8(ascii: "A"), count: 32)
        #expect(hundredth { keyed($0, key: secret) } == (try vector.bytes("hash")))
    }

    /// The reference passes all known answers with a key; ours takes only keys of 32 bytes.
    @Test(arguments: [16, 17, 20, 31, 32, 33, 48, 63, 64])
    func keyedAsReference(byteCount: Int) {
        for length in [0, 1, 63, 64, 65, 127, 128, 129, 255, 256, 257, 1000] {
            let (input, secret) = (pattern(length, 41), pattern(32, UInt64(length)))
            let expected = ReferenceBlake2b.hash(input, key: secret, byteCount: byteCount)
            #expect(keyed(input, key: secret, byteCount) == expected)
            #expect(hash(input, byteCount) == ReferenceBlake2b.hash(input, byteCount: byteCount))
        }
    }
}
