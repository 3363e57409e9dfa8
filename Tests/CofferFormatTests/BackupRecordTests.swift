import CofferFormat
import CofferTestSupport
import Testing

/// Profile backups, and the unlock methods that they share with profiles, as bytes.
@Suite struct BackupRecordTests {
    /// Without the checksum, which the layer above computes.
    private let codec = Codec<BackupRecord>(
        decode: { try BackupRecord($0.span.bytes) }, encode: { $0.bytesToCheck })
    private let profiles = Codec<ProfileRecord>(
        decode: { try ProfileRecord($0.span.bytes) }, encode: { $0.bytes })

    private static let passphrase = PassphraseRecord(
        salt: counting(16), passes: 3, memory: 1 << 16, created: 1, sealedVerifier: counting(72),
        sealedProfileKey: counting(72), sealedHint: [])

    private static func methods(keys: Int = 1, revoked: Int = 1) -> UnlockMethods {
        UnlockMethods(
            passphrases: [passphrase],
            recoveryKeys: (0..<keys).map {
                RecoveryRecord(
                    key: RecoveryKeyID(low: UInt64($0), high: 1), created: 2,
                    sealedProfileKey: counting(72, from: $0))
            },
            revokedKeys: (0..<revoked).map {
                RevokedKeyRecord(key: RecoveryKeyID(low: UInt64($0), high: 3), created: 4, revoked: 5)
            })
    }

    private static func record(body: Int = 40) -> BackupRecord {
        BackupRecord(
            profile: ProfileID(low: 0x0706_0504_0302_0100, high: 0x0F0E_0D0C_0B0A_0908), made: -5,
            methods: methods(), sealedBody: counting(body, from: 7))
    }

    private static func profile(_ methods: UnlockMethods) -> ProfileRecord {
        ProfileRecord(id: ProfileID(low: 1, high: 2), created: 3, methods: methods, sealedBody: counting(40))
    }

    @Test func everyRecordReadsAsWritten() throws {
        for body in [0, 40, 1 << 20] { try codec.expectRoundTrip(Self.record(body: body)) }
        for (keys, revoked) in [(0, 0), (1, 0), (0, 1), (7, 8)] {
            try profiles.expectRoundTrip(Self.profile(Self.methods(keys: keys, revoked: revoked)))
        }
    }

    @Test func fieldsStandWhereTheFormatSays() throws {
        let bytes = Self.record(body: 3).bytesToCheck
        #expect(hexadecimal(Array(bytes[..<12])) == "434f46464552424b01000000")
        // 44 + 2 + (6 + 180) + (6 + 98) + (6 + 32) + 4 + 3 + 32 bytes
        #expect(hexadecimal(Array(bytes[12..<20])) == "9d01000000000000" && bytes.count == 413 - 32)
        #expect(try BackupRecord.statedByteCount(bytes.span.bytes) == 413)
        #expect(hexadecimal(Array(bytes[20..<44])) == "000102030405060708090a0b0c0d0e0ffbffffffffffffff")
        #expect(hexadecimal(Array(bytes[44..<52])) == "03000100b4000000")
        #expect(
            hexadecimal(Array(bytes[232..<264])) == "020062000000" + "00000000000000000100000000000000"
                + "0100" + "0200000000000000")
        #expect(Array(bytes[264..<336]) == counting(72))
        #expect(
            hexadecimal(Array(bytes[336..<374])) == "030020000000" + "00000000000000000300000000000000"
                + "0400000000000000" + "0500000000000000")
        #expect(Array(bytes[374...]) == [3, 0, 0, 0, 7, 8, 9])
        #expect(Self.record(body: 3).associatedData == Array(bytes[..<374]))
    }

    @Test func associatedDataOfAKeyBindsItToItsProfile() {
        let bytes = RecoveryRecord.associatedData(
            profile: ProfileID(low: 1, high: 2), key: RecoveryKeyID(low: 3, high: 4), created: 5)
        #expect(
            hexadecimal(bytes) == "01000000000000000200000000000000" + "03000000000000000400000000000000"
                + "0100" + "0500000000000000")
    }

    @Test func everyTruncationFails() {
        codec.expectEveryTruncationFails(Self.record().bytesToCheck)
    }

    @Test func everyFlippedByteIsSeen() throws {
        try codec.expectEveryFlipIsSeen(Self.record().bytesToCheck)
        try profiles.expectEveryFlipIsSeen(Self.profile(Self.methods()).bytes)
    }

    @Test(arguments: [UInt64(1), 2, 3])
    func randomChangesNeverTrap(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        codec.readRandomChanges(of: Self.record().bytesToCheck, &random)
        profiles.readRandomChanges(of: Self.profile(Self.methods(keys: 2, revoked: 2)).bytes, &random)
    }

    @Test func theBeginningTellsWhetherItIsCut() {
        let bytes = Self.record().bytesToCheck
        for count in 0..<20 { #expect(BackupRecord.isCutEarly(Array(bytes[..<count]))) }
        #expect(!BackupRecord.isCutEarly(Array(bytes[..<20])))
        #expect(!BackupRecord.isCutEarly(Array("COFFEE".utf8)))
    }

    /// Kinds stand in ascending order, so that a list has one encoding.
    @Test func anotherOrderOfMethodsIsRefused() throws {
        let bytes = Self.profile(Self.methods()).bytes
        let (key, revoked) = (Array(bytes[38 + 186..<38 + 290]), Array(bytes[38 + 290..<38 + 328]))
        let changed = Array(bytes[..<(38 + 186)]) + revoked + key + bytes[(38 + 328)...]
        #expect(throws: FormatError.invalid(field: "order of unlock methods")) {
            try profiles.decode(changed)
        }
    }

    @Test func aNewerVersionIsToldApart() {
        var bytes = Self.record().bytesToCheck
        bytes[8] = 2
        #expect(throws: FormatError.newerVersion(found: 2, supported: 1)) { try codec.decode(bytes) }
        bytes = Self.profile(Self.methods()).bytes
        bytes[38 + 186 + 6 + 16] = 2
        #expect(throws: FormatError.invalid(field: "version of the recovery key")) {
            try profiles.decode(bytes)
        }
    }
}
