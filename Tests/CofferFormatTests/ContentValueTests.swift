import CofferFormat
import CofferTestSupport
import Testing

@Suite struct ContentValueTests {
    static func entry(_ offset: Int64, _ length: Int64 = 1, number: UInt32 = 1) -> ContentEntry {
        let hash = ContentHash(bytes: counting(32, from: Int(number)))
        return ContentEntry(
            offset: offset, length: length, base: offset, total: length,
            place: SealedPlace(
                pack: PackID(low: 0x0706_0504_0302_0100, high: 0x0F0E_0D0C_0B0A_0908), position: 48 + number,
                hash: hash ?? .zero),
            prefixLow: 0x1716_1514_1312_1110, prefixHigh: 0x1F1E_1D1C_1B1A_1918, epoch: .first)
    }

    private let origin = ItemID(low: 0x2726_2524_2322_2120, high: 0x2F2E_2D2C_2B2A_2928)
    private let codec = Codec<ContentValue>(
        decode: { try ContentValue($0.span.bytes) }, encode: { $0.bytes })

    private func reference(_ length: UInt32 = 200) -> PageReference {
        PageReference(place: Self.entry(0).place, length: length, epoch: Epoch(2))
    }

    private func tree(level: UInt8 = 3, count: Int = 9) -> ContentValue {
        ContentValue(
            size: 1 << 20, origin: origin,
            extents: .tree(
                root: .init(node: ContentNode(level: level, index: 0), reference: reference()), count: count))
    }

    @Test func bytesAreThoseOfTheFormat() {
        let value = ContentValue(size: 0x1234, origin: origin, extents: .entries([Self.entry(2, 3)]))
        #expect(
            hexadecimal(value.bytes) == "01" + "00" + "3412000000000000" + "202122232425262728292a2b2c2d2e2f"
                + "01" + "0200000000000000" + "03000000" + "0200000000000000" + "03000000"
                + "000102030405060708090a0b0c0d0e0f" + "31000000" + "101112131415161718191a1b1c1d1e1f"
                + "01000000" + hexadecimal(counting(32, from: 1)))
        #expect(
            hexadecimal(tree().bytes) == "01" + "01" + "0000100000000000" + "202122232425262728292a2b2c2d2e2f"
                + "09000000" + "03" + "000102030405060708090a0b0c0d0e0f" + "31000000" + "c8000000"
                + "02000000"
                + hexadecimal(counting(32, from: 1)))
    }

    @Test func readsAsWritten() throws {
        for count in 0...8 {
            let entries = (0..<Int64(count)).map { Self.entry($0 * 10, 10, number: UInt32($0)) }
            try codec.expectRoundTrip(ContentValue(size: 100, origin: origin, extents: .entries(entries)))
        }
        try codec.expectRoundTrip(tree())
    }

    @Test(arguments: [UInt64](0..<4))
    func damageIsSeen(seed: UInt64) throws {
        let entries = [Self.entry(0, 10), Self.entry(10, 20), Self.entry(500, 4)]
        let inline = ContentValue(size: 1000, origin: origin, extents: .entries(entries)).bytes
        var random = SplitMix64(seed: seed)
        for bytes in [inline, tree().bytes] {
            codec.expectEveryTruncationFails(bytes)
            try codec.expectEveryFlipIsSeen(bytes)
            codec.readRandomChanges(of: bytes, &random)
            #expect(throws: FormatError.trailingBytes) { try codec.decode(bytes + [0]) }
        }
    }

    /// Values that no device makes.
    @Test func impossibleValuesAreRefused() {
        func refuses(_ value: ContentValue, _ field: String, _ place: SourceLocation = #_sourceLocation) {
            #expect(throws: FormatError.invalid(field: field), sourceLocation: place) {
                try codec.decode(value.bytes)
            }
        }
        func inline(_ entries: [ContentEntry], size: Int64 = 100) -> ContentValue {
            ContentValue(size: size, origin: origin, extents: .entries(entries))
        }
        refuses(inline([], size: -1), "size")
        refuses(inline([], size: ContentValue.sizeMax + 1), "size")
        refuses(inline([Self.entry(10, 10), Self.entry(19, 10)]), "offset")
        refuses(inline([Self.entry(20, 10), Self.entry(0, 10)]), "offset")
        refuses(inline([Self.entry(95, 6)]), "length")
        refuses(inline([Self.entry(100, 1)]), "offset")
        refuses(inline((0..<9).map { Self.entry($0) }), "count")
        refuses(tree(count: 8), "count")
        refuses(tree(count: ContentValue.entryCountMax + 1), "count")
        refuses(tree(level: 16), "level")
        refuses(tree(level: 5), "level")
        let entry = Self.entry(50, 10)
        func changed(
            base: Int64 = 50, total: Int64 = 10, length: Int64 = 10, position: UInt32 = 48, epoch: UInt32 = 1
        ) -> ContentValue {
            inline([
                ContentEntry(
                    offset: entry.offset, length: length, base: base, total: total,
                    place: SealedPlace(pack: entry.place.pack, position: position, hash: .zero),
                    prefixLow: 1, prefixHigh: 2, epoch: Epoch(epoch))
            ])
        }
        refuses(changed(base: 51), "base")
        refuses(changed(base: 49), "base")
        refuses(changed(base: -1), "base")
        refuses(changed(total: 9), "length")
        refuses(changed(total: 0), "total")
        refuses(changed(total: (1 << 20) + 1), "total")
        refuses(changed(length: 0), "length")
        refuses(changed(position: 47), "position")
        refuses(changed(position: UInt32(RemotePackHeader.packByteCountMax) - 25), "position")
        refuses(changed(epoch: 0), "epoch")
    }

    @Test func aNewerVersionIsReported() {
        var bytes = tree().bytes
        bytes[0] = 2
        #expect(throws: FormatError.newerVersion(found: 2, supported: 1)) { try codec.decode(bytes) }
    }

    @Test func theHeaderOfARemotePackFollowsTheFormat() throws {
        let header = RemotePackHeader(
            vault: origin.cast(), pack: PackID(low: 0x0706_0504_0302_0100, high: 0x0F0E_0D0C_0B0A_0908))
        #expect(
            hexadecimal(header.bytes) == "434f464645525250" + "01000000" + "202122232425262728292a2b2c2d2e2f"
                + "000102030405060708090a0b0c0d0e0f" + "00000000")
        let codec = Codec<RemotePackHeader>(
            decode: { try RemotePackHeader($0.span.bytes) }, encode: { $0.bytes })
        try codec.expectRoundTrip(header)
        codec.expectEveryTruncationFails(header.bytes)
        try codec.expectEveryFlipIsSeen(header.bytes)
    }
}

extension ItemID {
    fileprivate func cast() -> VaultID { VaultID(low: low, high: high) }
}
