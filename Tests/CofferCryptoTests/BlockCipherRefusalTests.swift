import CofferCrypto
import Testing

/// Only sealed blocks open; a refusal leaves zeros and a cipher that still works.
@Suite struct BlockCipherRefusalTests {
    let plaintext = pattern(33, 21)
    let block = BlockCase()

    @Test(arguments: CipherKind.allCases)
    func everyFlippedBit(kind: CipherKind) {
        let cipher = kind.make()
        let sealed = cipher.seal(plaintext, block)
        for bit in 0..<(8 * sealed.count) {
            var forged = sealed
            forged[bit / 8] ^= 1 << (bit % 8)
            #expect(cipher.open(forged, block.number, block.associated) == .refused(33), "bit \(bit)")
        }
        #expect(cipher.open(sealed, block.number, block.associated) == .authentic(plaintext))
    }

    @Test(arguments: CipherKind.allCases, [0, 1, 16, 64, 65, 4096, 16384])
    func refusalLeavesZeros(kind: CipherKind, length: Int) {
        let cipher = kind.make()
        let long = pattern(length, 22)
        let sealed = cipher.seal(long, block)
        for index in [0, length / 2, sealed.count - 1] {
            var forged = sealed
            forged[index] ^= 0x80
            #expect(cipher.open(forged, block.number, block.associated) == .refused(length))
            #expect(cipher.open(sealed, block.number, block.associated) == .authentic(long))
        }
    }

    @Test(arguments: CipherKind.allCases)
    func wrongNumber(kind: CipherKind) {
        let cipher = kind.make()
        let sealed = cipher.seal(plaintext, block)
        for bit in 0..<64 {
            let number = block.number ^ 1 << UInt64(bit)
            #expect(cipher.open(sealed, number, block.associated) == .refused(33), "bit \(bit)")
            #expect(cipher.open(sealed, block.number, block.associated) == .authentic(plaintext))
        }
    }

    @Test(arguments: CipherKind.allCases)
    func wrongPrefix(kind: CipherKind) {
        let cipher = kind.make()
        let sealed = cipher.seal(plaintext, block)
        for bit in 0..<64 {
            var (low, high) = (block, block)
            low.prefix = NoncePrefix(low: block.prefix.low ^ 1 << UInt64(bit), high: block.prefix.high)
            high.prefix = NoncePrefix(low: block.prefix.low, high: block.prefix.high ^ 1 << UInt64(bit))
            #expect(cipher.open(sealed, low) == .refused(33), "bit \(bit)")
            #expect(cipher.open(sealed, high) == .refused(33), "bit \(bit)")
        }
        #expect(cipher.open(sealed, block) == .authentic(plaintext))
    }

    @Test(arguments: CipherKind.allCases)
    func wrongKey(kind: CipherKind) {
        let cipher = kind.make()
        let sealed = cipher.seal(plaintext, block)
        for bit in 0..<256 {
            var forged = block
            forged.key[bit / 8] ^= 1 << (bit % 8)
            #expect(cipher.open(sealed, forged) == .refused(33), "bit \(bit)")
        }
        #expect(cipher.open(sealed, block) == .authentic(plaintext))
    }

    @Test(arguments: CipherKind.allCases)
    func wrongAssociatedData(kind: CipherKind) {
        let cipher = kind.make()
        let sealed = cipher.seal(plaintext, block)
        for bit in 0..<(8 * block.associated.count) {
            var forged = block.associated
            forged[bit / 8] ^= 1 << (bit % 8)
            #expect(cipher.open(sealed, block.number, forged) == .refused(33), "bit \(bit)")
        }
        for other in [[], block.associated + [0], block.associated.dropLast(), [0] + block.associated] {
            #expect(cipher.open(sealed, block.number, Array(other)) == .refused(33))
        }
        #expect(cipher.open(sealed, block.number, block.associated) == .authentic(plaintext))
    }

    /// Moving bytes between ciphertext and associated data, cutting them off, or adding some is refused.
    @Test(arguments: CipherKind.allCases)
    func wrongLength(kind: CipherKind) {
        let cipher = kind.make()
        let sealed = cipher.seal(plaintext, block)
        let moved = Array(sealed.dropFirst())
        #expect(cipher.open(moved, block.number, block.associated + [sealed[0]]) == .refused(32))
        #expect(cipher.open(moved, block.number, block.associated) == .refused(32))
        #expect(cipher.open(Array(sealed.dropLast()), block.number, block.associated) == .refused(32))
        #expect(cipher.open(sealed + [0], block.number, block.associated) == .refused(34))
        #expect(cipher.open(Array(sealed[33...]), block.number, block.associated) == .refused(0))
    }

    /// A failed opening does not affect later seals of the same instance.
    @Test(arguments: CipherKind.allCases)
    func sealAfterRefusal(kind: CipherKind) {
        let cipher = kind.make()
        let sealed = cipher.seal(plaintext, block)
        #expect(cipher.open([UInt8](repeating: 0, count: 49), block.number, []) == .refused(33))
        #expect(cipher.seal(plaintext, block.number, block.associated) == sealed)
    }
}
