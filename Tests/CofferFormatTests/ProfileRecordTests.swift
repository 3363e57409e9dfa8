import CofferFormat
import CofferTestSupport
import Testing

@Suite struct ProfileRecordTests {
    private let codec = Codec<ProfileRecord>(
        decode: { try ProfileRecord($0.span.bytes) }, encode: { $0.bytes })

    private static func method(_ number: Int, hint: Int) -> PassphraseRecord {
        PassphraseRecord(
            salt: counting(16, from: number), passes: 3, memory: 1 << 16, created: 1_700_000_000_000_000_000,
            sealedVerifier: counting(72, from: number + 16),
            sealedProfileKey: counting(72, from: number + 88),
            sealedHint: counting(hint))
    }

    private static func record(methods: Int = 1, hint: Int = 0, body: Int = 40) -> ProfileRecord {
        ProfileRecord(
            id: ProfileID(low: 0x0706_0504_0302_0100, high: 0x0F0E_0D0C_0B0A_0908), created: -5,
            methods: UnlockMethods(passphrases: (0..<methods).map { method($0, hint: hint) }),
            sealedBody: counting(body, from: 7))
    }

    @Test(arguments: [1, 2, 16], [0, 1, 41, 65_535])
    func everyRecordReadsAsWritten(methods: Int, hint: Int) throws {
        try codec.expectRoundTrip(Self.record(methods: methods, hint: hint))
    }

    @Test func emptyAndLargeBodiesReadAsWritten() throws {
        try codec.expectRoundTrip(Self.record(body: 0))
        try codec.expectRoundTrip(Self.record(body: 1 << 20))
    }

    @Test func fieldsStandWhereTheFormatSays() {
        let bytes = Self.record(hint: 2, body: 3).bytes
        let associated = "434f46464552504601000000000102030405060708090a0b0c0d0e0ffbffffffffffffff"
        #expect(hexadecimal(Array(bytes[..<36])) == associated)
        #expect(Self.record().associatedData == Array(bytes[..<36]))
        #expect(hexadecimal(Array(bytes[36..<44])) == "01000100b6000000")
        let method = bytes[44..<44 + 182]
        #expect(
            Array(method[44..<78]) == counting(16) + [3, 0, 0, 0, 0, 0, 1, 0, 1, 0]
                + littleEndian(1_700_000_000_000_000_000))
        #expect(Array(method[78..<150]) == counting(72, from: 16))
        #expect(Array(method[150..<222]) == counting(72, from: 88))
        #expect(Array(method[222...]) == [2, 0, 0, 1])
        #expect(Array(bytes[226...]) == [3, 0, 0, 0, 7, 8, 9])
    }

    private func littleEndian(_ number: Int64) -> [UInt8] {
        withUnsafeBytes(of: number.littleEndian) { Array($0) }
    }

    @Test func everyTruncationFails() {
        codec.expectEveryTruncationFails(Self.record(methods: 2, hint: 3).bytes)
    }

    @Test func everyFlippedByteIsSeen() throws {
        try codec.expectEveryFlipIsSeen(Self.record(methods: 2, hint: 3).bytes)
    }

    @Test(arguments: [UInt64(1), 2, 3])
    func randomChangesNeverTrap(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        codec.readRandomChanges(of: Self.record(methods: 2, hint: 3).bytes, &random)
    }

    @Test func bytesAfterTheEndAreRefused() {
        #expect(throws: FormatError.trailingBytes) { try codec.decode(Self.record().bytes + [0]) }
    }

    @Test func anotherKindOfFileIsRefused() {
        #expect(throws: FormatError.notThisKind) { try codec.decode([]) }
        #expect(throws: FormatError.notThisKind) { try codec.decode(Array("COFFER".utf8)) }
        #expect(throws: FormatError.notThisKind) {
            try codec.decode(PackHeader(vault: .init(low: 1, high: 2)).bytes)
        }
    }

    @Test(arguments: [UInt8(2), 3, 255])
    func aNewerVersionIsToldApart(version: UInt8) {
        var bytes = Self.record().bytes
        bytes[8] = version
        #expect(throws: FormatError.newerVersion(found: UInt32(version), supported: 1)) {
            try codec.decode(bytes)
        }
        bytes[8] = 0
        #expect(throws: FormatError.invalid(field: "version")) { try codec.decode(bytes) }
    }

    @Test func numbersOfUnlockMethodsHaveLimits() {
        var bytes = Self.record().bytes
        for count: UInt8 in [0, 17] {
            bytes[36] = count
            #expect(throws: FormatError.invalid(field: "number of unlock methods")) {
                try codec.decode(bytes)
            }
        }
    }

    @Test func unknownKindsAndVersionsOfMethodsAreRefused() {
        var bytes = Self.record().bytes
        bytes[38] = 4
        #expect(throws: FormatError.invalid(field: "kind of unlock method")) { try codec.decode(bytes) }
        bytes = Self.record().bytes
        bytes[44 + 24] = 2
        #expect(throws: FormatError.invalid(field: "version of the verifier")) { try codec.decode(bytes) }
    }

    /// A method has exactly its length: it may neither end early nor extend into the next field.
    @Test(arguments: [-1, 1])
    func aMethodOfWrongLengthIsRefused(difference: Int) {
        var bytes = Self.record(hint: 4).bytes
        bytes[40] = UInt8(Int(bytes[40]) + difference)
        #expect(throws: FormatError.self) { try codec.decode(bytes) }
    }

    @Test func associatedDataOfAMethodBindsItsParameters() {
        let bytes = PassphraseRecord.associatedData(
            profile: ProfileID(low: 1, high: 2), salt: counting(16), passes: 3, memory: 4, created: 5)
        #expect(
            hexadecimal(bytes) == "01000000000000000200000000000000" + "000102030405060708090a0b0c0d0e0f"
                + "03000000" + "04000000" + "0100" + "0500000000000000")
    }
}
