import CofferFormat
import CofferTestSupport
import Testing

@Suite struct ByteCursorTests {
    @Test func numbersAreLittleEndian() throws {
        let bytes = counting(15, from: 1)
        var cursor = ByteCursor()
        #expect(try cursor.number(UInt8.self, from: bytes.span.bytes) == 1)
        #expect(try cursor.number(UInt16.self, from: bytes.span.bytes) == 0x0302)
        #expect(try cursor.number(UInt32.self, from: bytes.span.bytes) == 0x0706_0504)
        #expect(try cursor.number(UInt64.self, from: bytes.span.bytes) == 0x0F0E_0D0C_0B0A_0908)
        #expect(cursor.offset == 15)
        #expect(throws: Never.self) { try cursor.expectEnd(of: bytes.span.bytes) }
    }

    @Test func negativeNumbersReadAsWritten() throws {
        var writer = ByteWriter()
        writer.number(Int64.min)
        writer.number(Int32(-2))
        let bytes = writer.finish()
        var cursor = ByteCursor()
        #expect(try cursor.number(Int64.self, from: bytes.span.bytes) == .min)
        #expect(try cursor.number(Int32.self, from: bytes.span.bytes) == -2)
    }

    /// A failed read leaves the cursor in place.
    @Test func readingBeyondTheEndFails() {
        let bytes = counting(7)
        var cursor = ByteCursor()
        #expect(throws: FormatError.truncated) { try cursor.number(UInt64.self, from: bytes.span.bytes) }
        #expect(throws: FormatError.truncated) { try cursor.bytes(8, from: bytes.span.bytes) }
        #expect(throws: FormatError.truncated) { try cursor.identifier(VaultID.self, from: bytes.span.bytes) }
        #expect(cursor.offset == 0)
    }

    @Test(arguments: [-1, Int.min, Int.max, 8])
    func impossibleCountsFail(count: Int) throws {
        let bytes = counting(9)
        var cursor = ByteCursor()
        _ = try cursor.number(UInt16.self, from: bytes.span.bytes)
        #expect(throws: FormatError.truncated) { try cursor.range(count, of: bytes.span.bytes) }
        #expect(cursor.offset == 2)
        #expect(try cursor.range(7, of: bytes.span.bytes) == 2..<9)
        #expect(try cursor.range(0, of: bytes.span.bytes) == 9..<9)
    }

    @Test func leftoverBytesAreAnError() throws {
        let bytes = counting(2)
        var cursor = ByteCursor()
        _ = try cursor.number(UInt8.self, from: bytes.span.bytes)
        #expect(throws: FormatError.trailingBytes) { try cursor.expectEnd(of: bytes.span.bytes) }
    }

    @Test(arguments: ["", "a", "Tür", "🗝️", String(repeating: "x", count: 65_535)])
    func textReadsAsWritten(text: String) throws {
        var writer = ByteWriter()
        writer.text(text)
        let bytes = writer.finish()
        #expect(bytes.count == 2 + text.utf8.count)
        var cursor = ByteCursor()
        #expect(try cursor.text("name", from: bytes.span.bytes) == text)
    }

    @Test(arguments: [[0xFF], [0xC3], [0xC0, 0x80], [0xED, 0xA0, 0x80]] as [[UInt8]])
    func textThatIsNotUTF8Fails(raw: [UInt8]) {
        let bytes = [UInt8(raw.count), 0] + raw
        var cursor = ByteCursor()
        #expect(throws: FormatError.invalid(field: "name")) {
            try cursor.text("name", from: bytes.span.bytes)
        }
    }

    @Test func textThatIsCutFails() {
        let bytes: [UInt8] = [3, 0, 97, 98]
        var cursor = ByteCursor()
        #expect(throws: FormatError.truncated) { try cursor.text("name", from: bytes.span.bytes) }
    }

    @Test func rawSpansAreAppendedWhole() {
        let bytes = counting(300)
        var writer = ByteWriter(capacity: 4)
        writer.append(bytes.span.bytes)
        #expect(writer.finish() == bytes)
    }
}
