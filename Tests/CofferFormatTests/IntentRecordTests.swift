import CofferFormat
import CofferSystem
import CofferTestSupport
import Testing

@Suite struct IntentRecordTests {
    /// A record with the bytes that it refers to.
    private struct Whole: Equatable {
        var writes: [(write: IntentRecord.Write, sealed: [UInt8])] = []
        var rows: [[UInt8]] = []

        static func == (left: Whole, right: Whole) -> Bool {
            left.rows == right.rows && left.writes.elementsEqual(right.writes) { $0 == $1 }
        }
    }

    private let codec = Codec<Whole>(
        decode: { bytes in
            let record = try IntentRecord(bytes.span.bytes)
            return Whole(
                writes: record.writes.map { ($0.write, Array(bytes[$0.sealed])) },
                rows: record.rows.map { Array(bytes[$0]) })
        },
        encode: { whole in
            let buffer = AlignedBuffer(count: IntentLayout.recordByteCountMax)
            // The rest of an earlier record must not show.
            buffer.withMutableBytes(0..<buffer.count) { bytes in
                for offset in stride(from: 0, to: bytes.byteCount, by: 8) {
                    bytes.storeLittleEndian(UInt64.max, at: offset)
                }
            }
            var writer = IntentWriter(buffer)
            for (write, sealed) in whole.writes {
                let isIn = writer.append(write, sealed: sealed.span.bytes)
                #expect(isIn)
            }
            for row in whole.rows {
                let isIn = writer.append(row: row.span.bytes)
                #expect(isIn)
            }
            return buffer.withBytes(0..<writer.finish()) { $0.array }
        })

    private func write(_ length: Int, item: Int64 = 7) -> (write: IntentRecord.Write, sealed: [UInt8]) {
        let write = IntentRecord.Write(
            item: item, offset: 0x1122, length: length, prefixLow: 0x0706_0504_0302_0100,
            prefixHigh: 0x0F0E_0D0C_0B0A_0908, epoch: .first)
        return (write, counting(ExtentLayout.sealedByteCount(length), from: 0x50))
    }

    @Test func bytesAreThoseOfTheFormat() {
        let bytes = codec.encode(Whole(writes: [write(2)], rows: [[0xAA, 0xBB, 0xCC]]))
        #expect(bytes.count == 4096 - 44)
        let head =
            "01000000" + "01000000" + "0700000000000000" + "2211000000000000" + "02000000"
            + "000102030405060708090a0b0c0d0e0f" + "01000000" + "505152535455565758595a5b5c5d5e5f6061"
            + "0300" + "aabbcc"
        #expect(hexadecimal(bytes).hasPrefix(head))
        #expect(bytes.dropFirst(head.count / 2).allSatisfy { $0 == 0 })
    }

    @Test func readsAsWritten() throws {
        try codec.expectRoundTrip(Whole(writes: [write(1)], rows: []))
        try codec.expectRoundTrip(Whole(writes: [], rows: [[1]]))
        try codec.expectRoundTrip(
            Whole(writes: [write(4096), write(16_385, item: 9)], rows: [counting(144), counting(4200)]))
    }

    @Test func damageIsSeen() throws {
        let bytes = codec.encode(Whole(writes: [write(3), write(1, item: 8)], rows: [counting(9)]))
        codec.expectEveryTruncationFails(bytes)
        try codec.expectEveryFlipIsSeen(bytes)
        var random = SplitMix64(seed: 1)
        codec.readRandomChanges(of: bytes, &random)
        #expect(throws: FormatError.trailingBytes) {
            try codec.decode(bytes + [UInt8](repeating: 0, count: 4096))
        }
    }

    /// Numbers that no writer writes.
    @Test(arguments: [
        (8, UInt64(0), "item"), (8, 1 << 63, "item"), (16, 1 << 63, "offset"),
        (16, UInt64(Int64.max) - 1, "offset"), (24, 0, "length"), (44, 0, "epoch"),
    ])
    func hostileNumbersAreRefused(offset: Int, value: UInt64, field: String) throws {
        var bytes = codec.encode(Whole(writes: [write(2)], rows: [[1]]))
        for index in 0..<(offset < 24 ? 8 : 4) {
            bytes[offset + index] = UInt8(truncatingIfNeeded: value >> (8 * UInt64(index)))
        }
        #expect(throws: FormatError.invalid(field: field)) { try codec.decode(bytes) }
    }

    @Test func hostileCountsAreRefused() throws {
        var bytes = codec.encode(Whole(writes: [], rows: [[1]]))
        bytes.replaceSubrange(0..<4, with: [255, 255, 255, 255])
        #expect(throws: FormatError.invalid(field: "length")) { try codec.decode(bytes) }
        #expect(throws: FormatError.invalid(field: "counts")) {
            try codec.decode([UInt8](repeating: 0, count: 4096 - 44))
        }
        bytes = codec.encode(Whole(writes: [], rows: [[1]]))
        bytes[4] = 2
        #expect(throws: FormatError.invalid(field: "row")) { try codec.decode(bytes) }
    }

    @Test func aBodyHasALimit() {
        var writer = IntentWriter(AlignedBuffer(count: IntentLayout.recordByteCountMax))
        let (large, sealed) = write(200_000)
        #expect(writer.isEmpty)
        let isIn3 = writer.append(large, sealed: sealed.span.bytes)
        #expect(isIn3)
        let isIn4 = writer.append(large, sealed: sealed.span.bytes)
        #expect(!isIn4)
        let isIn5 = writer.append(row: [UInt8](repeating: 1, count: 65_536).span.bytes)
        #expect(!isIn5)
        let isIn6 = writer.append(row: [UInt8](repeating: 1, count: 60_000).span.bytes)
        #expect(isIn6)
        let isIn7 = writer.append(row: [UInt8](repeating: 1, count: 3000).span.bytes)
        #expect(!isIn7)
        #expect(writer.finish() <= IntentLayout.bodyByteCountMax)
    }

    /// A record that claims to be longer than the file, or than a record may be, is refused.
    @Test(arguments: [0, 1, 4095, 4097, 8192, 12_288, 262_144, 266_240, Int(UInt32.max)])
    func lengthsAreChecked(count: Int) {
        let head = (0..<4).map { UInt8(truncatingIfNeeded: count >> (8 * $0)) }
        let expected = [4096, 8192].contains(count) ? count : nil
        #expect(IntentLayout.recordByteCount(head.span.bytes, room: 12_287) == expected)
        #expect(IntentLayout.recordByteCount(Array(head.dropLast()).span.bytes, room: 1 << 20) == nil)
    }

    @Test func associatedDataIsThatOfTheFormat() {
        var data = IntentAssociatedData(
            vault: VaultID(low: 0x0706_0504_0302_0100, high: 0x0F0E_0D0C_0B0A_0908), commits: 5,
            digests: counting(144))
        data.select(offset: 0x3000, byteCount: 0x2000)
        #expect(
            hexadecimal(data.bytes) == "01" + "000102030405060708090a0b0c0d0e0f" + "0030000000000000"
                + "00200000" + "0500000000000000" + hexadecimal(counting(144)))
    }
}
