import CofferCrypto
import Testing

@Suite(.serialized) struct PasswordHashTests {
    private func unlockKey(_ hash: PasswordHash, _ passphrase: [UInt8], _ salt: [UInt8]) throws -> [UInt8] {
        try hash.unlockKey(passphrase: SecretBytes(copying: passphrase.span.bytes), salt: salt).bytes.array
    }

    @Test func vectors() throws {
        for vector in try VectorFile.read("argon2id") {
            let hash = try PasswordHash(
                passes: UInt32(try vector.number("passes")), memory: UInt32(try vector.number("memory")))
            let key = try unlockKey(hash, try vector.bytes("passphrase"), try vector.bytes("salt"))
            #expect(key == (try vector.bytes("key")), vector.place)
        }
    }

    @Test func inputsMatter() throws {
        let hash = PasswordHash.interactive
        let (passphrase, salt) = (pattern(12, 71), pattern(16, 72))
        let other = pattern(16, 73)
        let keys = [
            try unlockKey(hash, passphrase, salt), try unlockKey(hash, passphrase, other),
            try unlockKey(hash, passphrase + [0], salt), try unlockKey(hash, [], salt),
            try unlockKey(PasswordHash(passes: 3, memory: 65_536), passphrase, salt),
            try unlockKey(PasswordHash(passes: 2, memory: 65_540), passphrase, salt),
        ]
        #expect(Set(keys).count == keys.count)
        #expect(try unlockKey(hash, passphrase, salt) == keys[0])
    }

    static let refused: [(UInt32, UInt32)] = [
        (0, 65_536), (1, 65_536), (65, 65_536), (.max, 65_536), (2, 0), (2, 8), (2, 65_535), (2, 4_194_305),
        (2, .max), (64, 4_194_304), (0, 0), (.max, .max),
    ]

    @Test(arguments: refused)
    func outOfRange(passes: UInt32, memory: UInt32) {
        #expect(throws: CryptoError.parametersOutOfRange) {
            _ = try PasswordHash(passes: passes, memory: memory)
        }
    }

    @Test(arguments: [(2, 65_536), (64, 65_536), (2, 4_194_304), (4, 4_194_304)] as [(UInt32, UInt32)])
    func inRange(passes: UInt32, memory: UInt32) throws {
        let hash = try PasswordHash(passes: passes, memory: memory)
        #expect(hash.passes == passes)
        #expect(hash.memory == memory)
    }

    @Test func presets() throws {
        #expect(PasswordHash.interactive == (try PasswordHash(passes: 2, memory: 65_536)))
        #expect(PasswordHash.moderate == (try PasswordHash(passes: 3, memory: 262_144)))
        #expect(PasswordHash.sensitive == (try PasswordHash(passes: 4, memory: 1_048_576)))
        #expect(PasswordHash.saltByteCount == 16)
    }
}
