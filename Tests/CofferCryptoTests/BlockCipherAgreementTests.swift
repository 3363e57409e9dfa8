import CofferCrypto
import CofferSystem
import Testing

/// Both ciphers make the same bytes as the reference, and open what the other one sealed.
@Suite struct BlockCipherAgreementTests {
    static let lengths = [0, 1, 15, 16, 17, 63, 64, 65, 1000, 4096, 16384]
    static let numbers: [UInt64] = [
        0, 1, 255, 256, 65_535, 0xFFFF_FFFE, 0xFFFF_FFFF, 0x1_0000_0000, 0x1_0000_0001, 0x12_3456_789A,
        0x7FFF_FFFF_FFFF_FFFF, 0x8000_0000_0000_0000, .max - 1, .max,
    ]
    static let associatedLengths = [0, 1, 8, 15, 16, 17, 32, 63, 64, 65, 200]

    @Test(arguments: lengths)
    func agree(length: Int) {
        let (fast, plain) = (LibcryptoBlockCipher(), SodiumBlockCipher())
        let plaintext = pattern(length, 11)
        var block = BlockCase()
        let key: SymmetricKey<ItemRole> = key(block.key)
        fast.begin(key, block.prefix)
        plain.begin(key, block.prefix)
        for number in Self.numbers {
            for count in Self.associatedLengths {
                block.associated = pattern(count, 12)
                let sealed = fast.seal(plaintext, number, block.associated)
                #expect(sealed == plain.seal(plaintext, number, block.associated))
                #expect(fast.open(sealed, number, block.associated) == .authentic(plaintext))
                #expect(plain.open(sealed, number, block.associated) == .authentic(plaintext))
            }
        }
    }

    @Test(arguments: CipherKind.allCases)
    func agreeWithReference(kind: CipherKind) {
        let cipher = kind.make()
        for (index, number) in Self.numbers.enumerated() {
            for length in Self.lengths where length <= 1000 {
                let associated = pattern(Self.associatedLengths[index % 11], 4)
                let block = BlockCase(number: number, associated: associated)
                var nonce = [UInt8](repeating: 0, count: Nonce.byteCount)
                let prefix = block.prefix
                nonce.withMutableRawSpan { Nonce(prefix: prefix, number: number).store(into: &$0, at: 0) }
                let plaintext = pattern(length, number)
                let expected = ReferenceChaCha.xseal(
                    plaintext, key: block.key, nonce: nonce, associated: block.associated)
                #expect(cipher.seal(plaintext, block) == expected)
            }
        }
    }

    /// One instance takes several keys and prefixes in turn, and blocks in any order.
    @Test(arguments: CipherKind.allCases)
    func beginAgain(kind: CipherKind) {
        let (cipher, other) = (kind.make(), kind.make())
        var seen: Set<[UInt8]> = []
        for round in 0..<20 as Range<UInt64> {
            let block = BlockCase(
                key: pattern(32, round / 2), prefix: NoncePrefix(low: round % 2, high: round / 2),
                number: 19 - round)
            let plaintext = pattern(70, round)
            let sealed = cipher.seal(plaintext, block)
            #expect(other.open(sealed, block) == .authentic(plaintext))
            #expect(cipher.seal(plaintext, block.number, block.associated) == sealed)
            #expect(cipher.open(sealed, block.number, block.associated) == .authentic(plaintext))
            seen.insert(sealed)
        }
        #expect(seen.count == 20)
    }

    /// `end()` forgets the key.
    @Test func endForgets() {
        let cipher = LibcryptoBlockCipher()
        let block = BlockCase()
        let sealed = cipher.seal(pattern(64), block)
        cipher.end()
        #expect(cipher.open(sealed, block) == .authentic(pattern(64)))
        cipher.end()
        cipher.end()
        #expect(cipher.seal(pattern(64), block) == sealed)
    }

    /// Every role seals the same way: roles exist only as types.
    @Test(arguments: CipherKind.allCases)
    func rolesDoNotMatter(kind: CipherKind) {
        let cipher = kind.make()
        let block = BlockCase()
        let sealed = cipher.seal(pattern(64), block)
        cipher.begin(key(block.key, IndexPageRole.self), block.prefix)
        #expect(cipher.seal(pattern(64), block.number, block.associated) == sealed)
    }
}
