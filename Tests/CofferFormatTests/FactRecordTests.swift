import CofferFormat
import CofferTestSupport
import Testing

@Suite struct FactRecordTests {
    private let codec = Codec<[Fact]>(
        decode: { try FactRecord.facts($0.span.bytes) }, encode: { FactRecord.bytes($0) })
    private let item = ItemID(low: 0x0706_0504_0302_0100, high: 0x0F0E_0D0C_0B0A_0908)
    private let other = ItemID(low: 1, high: 2)
    private let entry = EntryID(low: 3, high: 4)

    private func name(_ text: String) throws -> EntryName { try #require(EntryName(text.utf8)) }

    private func dot(_ log: UInt64, _ sequence: UInt64) -> Dot {
        Dot(log: LogID(low: log, high: 0), sequence: sequence)
    }

    /// The facts of a new file in the root.
    private func newFile() throws -> [Fact] {
        let place = Place(parent: other, name: try name("report.txt"))
        return [
            Fact(.kind(item, .file)), Fact(.mode(item, 0o644)),
            Fact(.modified(item, 1_700_000_000_000_000_000)),
            Fact(.place(entry, .init(item: item, place: place, previous: nil))),
            Fact(.content(item, .init(bytes: counting(32), size: 5000))),
        ]
    }

    /// One fact of every kind.
    private func everything() throws -> [Fact] {
        let here = Place(parent: other, name: try name("a"))
        let there = Place(parent: item, name: try #require(EntryName([0xFF, 0x80])))
        return [
            Fact(.kind(item, .symlink(target: [47, 120]))), Fact(.kind(other, .characterDevice(0x0102))),
            Fact(.kind(ItemID(low: 5, high: 0), .blockDevice(3))),
            Fact(.kind(ItemID(low: 6, high: 0), .fifo)),
            Fact(.kind(ItemID(low: 7, high: 0), .socket)), Fact(.kind(ItemID(low: 8, high: 0), .directory)),
            Fact(.mode(item, 0o7777), replaces: [dot(1, 2), dot(1, 3), dot(2, 1)]),
            Fact(.modified(item, -1)), Fact(.extendedAttribute(item, name: [117], value: [])),
            Fact(.extendedAttribute(item, name: [118], value: nil), replaces: [dot(2, 9)]),
            Fact(.content(item, nil), replaces: [dot(1, 7)]),
            Fact(.content(other, .init(bytes: [], size: 1 << 62, origin: item))),
            Fact(.place(entry, .init(item: item, place: there, previous: here)), replaces: [dot(3, 1)]),
            Fact(
                .place(
                    EntryID(low: 5, high: 5),
                    .init(item: item, place: nil, previous: here, seenContents: [dot(1, 7), dot(4, 1)]))),
        ]
    }

    @Test func roundTrip() throws {
        try codec.expectRoundTrip([])
        try codec.expectRoundTrip(try newFile())
        try codec.expectRoundTrip(try everything())
    }

    @Test("The bytes of docs/format.md")
    func bytes() throws {
        let place = Place(parent: other, name: try name("a"))
        let facts = [
            Fact(.mode(item, 0o644), replaces: [dot(1, 2)]),
            Fact(.place(entry, .init(item: item, place: place, previous: nil))),
        ]
        let expected = [
            "01", "0100", "01000000000000000000000000000000", "02000000",
            "02", "06", "000102030405060708090a0b0c0d0e0f", "0100", "0000", "0200000000000000", "a401",
            "06", "05", "03000000000000000400000000000000", "01000000000000000200000000000000", "01", "61",
        ].joined()
        #expect(hexadecimal(FactRecord.bytes(facts)) == expected)
    }

    @Test("A new file takes some 150 bytes")
    func size() throws {
        #expect(FactRecord.bytes(try newFile()).count <= 150)
    }

    @Test func damage() throws {
        let bytes = FactRecord.bytes(try everything())
        codec.expectEveryTruncationFails(bytes)
        try codec.expectEveryFlipIsSeen(bytes)
        var random = SplitMix64(seed: 1)
        codec.readRandomChanges(of: bytes, &random)
    }

    @Test("Unknown kinds of facts are named")
    func unknown() throws {
        var bytes = FactRecord.bytes([Fact(.kind(item, .file))])
        bytes[7] = 9
        #expect(throws: FormatError.unknown(field: "attribute", found: 9)) { try codec.decode(bytes) }
        bytes[7] = 1
        bytes[8] = 0x14
        #expect(throws: FormatError.unknown(field: "flags", found: 0x14)) { try codec.decode(bytes) }
        bytes[8] = 4
        bytes[25] = 8
        #expect(throws: FormatError.unknown(field: "kind", found: 8)) { try codec.decode(bytes) }
        bytes[0] = 2
        #expect(throws: FormatError.newerVersion(found: 2, supported: 1)) { try codec.decode(bytes) }
    }

    @Test("Two facts about one register are refused")
    func twice() {
        let bytes = FactRecord.bytes([Fact(.mode(item, 1)), Fact(.mode(item, 2))])
        #expect(throws: FormatError.duplicate(field: "fact")) { try codec.decode(bytes) }
    }

    @Test("A false count reserves no memory")
    func hugeCounts() {
        let facts: [UInt8] = [1, 0, 0, 255, 255, 255, 255]
        #expect(throws: FormatError.truncated) { try codec.decode(facts) }
        let logs: [UInt8] = [1, 255, 255]
        #expect(throws: FormatError.truncated) { try codec.decode(logs) }
    }

    @Test(
        "Names that a directory cannot have",
        arguments: ["", ".", "..", "a/b", "a\0", String(repeating: "a", count: 256)])
    func names(_ name: String) {
        #expect(EntryName(name.utf8) == nil)
    }

    @Test func limits() throws {
        func expectRefused(_ assertion: Fact.Assertion, sourceLocation: SourceLocation = #_sourceLocation) {
            #expect(throws: FormatError.self, sourceLocation: sourceLocation) {
                try codec.decode(FactRecord.bytes([Fact(assertion)]))
            }
        }
        expectRefused(.mode(item, 0o10000))
        expectRefused(.kind(item, .symlink(target: [])))
        expectRefused(.kind(item, .symlink(target: [1, 0])))
        expectRefused(.kind(item, .symlink(target: Array(repeating: 1, count: 4096))))
        expectRefused(.extendedAttribute(item, name: [], value: nil))
        expectRefused(.extendedAttribute(item, name: [1], value: Array(repeating: 0, count: 65_537)))
        expectRefused(.content(item, .init(bytes: [], size: 1 << 62 + 1)))
        expectRefused(.place(entry, .init(item: item, place: nil, previous: nil)))
        try codec.expectRoundTrip([
            Fact(.kind(item, .symlink(target: Array(repeating: 1, count: 4095)))),
            Fact(.extendedAttribute(item, name: counting(255, from: 1), value: counting(65_536))),
            Fact(.content(item, .init(bytes: counting(65_535), size: 0))),
        ])
    }

    @Test func stamps() {
        let low = Stamp(clock: 1 << 16, dot: dot(9, 9))
        #expect(low < Stamp(clock: 1 << 16 | 1, dot: dot(1, 1)))
        #expect(Stamp.clock(milliseconds: 5, after: 3 << 16) == 5 << 16)
        #expect(Stamp.clock(milliseconds: 5, after: 5 << 16) == 5 << 16 + 1)
        #expect(Stamp.clock(milliseconds: 5, after: 9 << 16) == 9 << 16 + 1)
        #expect(Stamp.clock(milliseconds: .max, after: .max) == .max)
    }
}
