import CofferCrypto
import CofferSystem
import Testing

@Suite struct SecretBytesTests {
    private struct Refusal: Error {}

    @Test(arguments: [0, 1, 31, 32, 33, 4095, 4096, 4097, 100_000])
    func keepsItsBytes(count: Int) {
        let bytes = pattern(count, 61)
        let copied = SecretBytes(copying: bytes.span.bytes)
        let filled = SecretBytes(count: count) { (span: inout MutableRawSpan) throws(Never) in
            span.copyBytes(from: bytes.span.bytes)
        }
        let counts = (copied.count, filled.count)
        #expect(counts == (count, count))
        #expect(copied.array == bytes)
        #expect(filled.array == bytes)
        let equal = copied.isEqual(to: filled)
        #expect(equal)
    }

    private final class Held {
        let secret: SecretBytes
        init(_ number: Int) {
            secret = withUnsafeBytes(of: number) { SecretBytes(copying: $0.bytes) }
        }
    }

    /// A vault has a key for each of its epochs: keys must not exhaust the mappings of a process.
    @Test func manyShortSecretsFitAtOnce() {
        var held = (0..<40_000).map(Held.init)
        // Some are freed, and others are made in between.
        held = held.enumerated().compactMap { $0.offset % 3 == 0 ? $0.element : nil }
        held += (0..<1000).map { Held($0 + 40_000) }
        for (index, item) in held.enumerated() {
            let number = index < 13_334 ? index * 3 : index - 13_334 + 40_000
            let isRight = item.secret.withBytes { $0.unsafeLoadUnaligned(as: Int.self) == number }
            #expect(isRight, "secret \(index)")
        }
    }

    @Test func movingWipes() {
        var bytes = pattern(100, 62)
        let secret = SecretBytes(moving: &bytes)
        #expect(secret.array == pattern(100, 62))
        #expect(bytes == [UInt8](repeating: 0, count: 100))
    }

    /// The zeros must replace the secret itself, not a fresh copy of it.
    @Test func movingWipesInPlace() {
        var bytes = pattern(100, 63)
        let before = bytes.withUnsafeBytes { $0.baseAddress }
        _ = SecretBytes(moving: &bytes)
        let after = bytes.withUnsafeBytes { $0.baseAddress }
        #expect(before == after)
    }

    @Test func wipesInPlace() {
        var bytes = pattern(100, 64)
        let before = bytes.withUnsafeBytes { $0.baseAddress }
        SecretBytes.wipe(&bytes)
        let after = bytes.withUnsafeBytes { $0.baseAddress }
        #expect(before == after)
        #expect(bytes == [UInt8](repeating: 0, count: 100))
        var empty: [UInt8] = []
        SecretBytes.wipe(&empty)
        #expect(empty.isEmpty)
    }

    @Test func everyDifferenceCounts() {
        let bytes = pattern(40, 65)
        let secret = SecretBytes(copying: bytes.span.bytes)
        for bit in 0..<320 {
            var other = bytes
            other[bit / 8] ^= 1 << (bit % 8)
            let equal = SecretBytes(copying: other.span.bytes).isEqual(to: secret)
            #expect(!equal, "bit \(bit)")
        }
        for other in [[], bytes + [0], Array(bytes.dropLast())] {
            let equal = SecretBytes(copying: other.span.bytes).isEqual(to: secret)
            #expect(!equal)
        }
    }

    @Test func copyStandsAlone() {
        var bytes = pattern(32, 66)
        let secret = SecretBytes(copying: bytes.span.bytes)
        bytes[0] ^= 0xFF
        #expect(secret.array == pattern(32, 66))
    }

    @Test func randomDiffers() {
        let all = Set((0..<200).map { _ in SecretBytes.random(count: 32).array })
        #expect(all.count == 200)
        #expect(SecretBytes.random(count: 0).array.isEmpty)
    }

    /// `withBytes` passes results and errors on.
    @Test func lending() {
        let secret = SecretBytes(copying: pattern(8, 67).span.bytes)
        #expect(secret.withBytes { $0.byteCount } == 8)
        #expect(throws: Refusal.self) {
            try secret.withBytes { (_: RawSpan) throws(Refusal) in throw Refusal() }
        }
        #expect(secret.array == pattern(8, 67))
    }
}
