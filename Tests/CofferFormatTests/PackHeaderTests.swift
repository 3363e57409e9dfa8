import CofferFormat
import CofferTestSupport
import Testing

@Suite struct PackHeaderTests {
    private let codec = Codec<PackHeader>(
        decode: { try PackHeader($0.span.bytes) }, encode: { $0.bytes })
    private let header = PackHeader(vault: VaultID(low: 0x0706_0504_0302_0100, high: 0x0F0E_0D0C_0B0A_0908))

    @Test func bytesAreThoseOfTheFormat() {
        #expect(
            hexadecimal(header.bytes) == "434f46464552504b" + "01000000" + "000102030405060708090a0b0c0d0e0f"
                + "00000000")
        #expect(header.bytes.count == PackHeader.byteCount)
    }

    @Test func readsAsWritten() throws {
        try codec.expectRoundTrip(header)
    }

    /// A pack continues after its header.
    @Test func bytesAfterTheRecordAreNotRead() throws {
        #expect(try codec.decode(header.bytes + counting(100)) == header)
    }

    @Test func damageIsSeen() throws {
        codec.expectEveryTruncationFails(header.bytes)
        try codec.expectEveryFlipIsSeen(header.bytes)
    }

    @Test func errorsSayWhatIsWrong() {
        #expect(throws: FormatError.notThisKind) { try codec.decode([0] + header.bytes.dropFirst()) }
        var bytes = header.bytes
        bytes[8] = 2
        #expect(throws: FormatError.newerVersion(found: 2, supported: 1)) { try codec.decode(bytes) }
        bytes[8] = 0
        #expect(throws: FormatError.invalid(field: "version")) { try codec.decode(bytes) }
        bytes = header.bytes
        bytes[31] = 1
        #expect(throws: FormatError.invalid(field: "reserved")) { try codec.decode(bytes) }
    }
}
