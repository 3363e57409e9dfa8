import CofferFormat
import CofferTestSupport
import Testing

@Suite struct RegisterRecordTests {
    private let codec = Codec<[RegisterRecord.Part]>(
        decode: { try RegisterRecord.parts($0.span.bytes) }, encode: { RegisterRecord.bytes($0) })
    private let item = ItemID(low: 0x0706_0504_0302_0100, high: 0x0F0E_0D0C_0B0A_0908)
    private let entry = EntryID(low: 3, high: 4)

    private func stamp(_ clock: UInt64) -> Stamp {
        Stamp(clock: clock, dot: Dot(log: LogID(low: 1, high: 2), sequence: clock))
    }

    private func place(_ name: String) throws -> Place {
        Place(parent: item, name: try #require(EntryName(name.utf8)))
    }

    private func parts() throws -> [RegisterRecord.Part] {
        let seen = [Dot(log: LogID(low: 9, high: 9), sequence: 1)]
        return [
            .init(stamp: stamp(1), assertions: [.kind(item, .file), .mode(item, 0o600), .modified(item, 5)]),
            .init(stamp: stamp(2), assertions: [.content(item, .init(bytes: [1, 2], size: 2))]),
            .init(
                stamp: stamp(3),
                assertions: [
                    .place(entry, .init(item: item, place: nil, previous: try place("a"), seenContents: seen))
                ]),
        ]
    }

    @Test func roundTrip() throws {
        try codec.expectRoundTrip([])
        try codec.expectRoundTrip(try parts())
        #expect(RegisterRecord.bytes([]) == [])
    }

    @Test("The bytes of docs/format.md")
    func bytes() throws {
        let one = RegisterRecord.Part(stamp: stamp(7), assertions: [.mode(item, 0o644)])
        let body: [UInt8] = [1, 0, 0, 1, 0, 0, 0, 2, 4] + item.bytes + [0xA4, 0x01]
        let expected: [UInt8] =
            [7, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]
            + [7, 0, 0, 0, 0, 0, 0, 0, UInt8(body.count), 0, 0, 0] + body
        #expect(RegisterRecord.bytes([one]) == expected)
    }

    @Test func changedBytesAreSeen() throws {
        try codec.expectEveryFlipIsSeen(RegisterRecord.bytes(try parts()))
    }

    @Test func aRecordThatEndsInAPartIsRefused() throws {
        let one = RegisterRecord.bytes([try parts()[0]])
        for count in 1..<one.count {
            #expect(throws: FormatError.self, "\(count) bytes") { try codec.decode(Array(one[..<count])) }
        }
    }

    @Test func partsOutOfOrderAreRefused() throws {
        let parts = try parts()
        for wrong in [[parts[1], parts[0]], [parts[0], parts[0]]] {
            #expect(throws: FormatError.invalid(field: "order of stamps")) {
                try codec.decode(RegisterRecord.bytes(wrong))
            }
        }
    }

    @Test func emptyAndReplacingPartsAreRefused() throws {
        var writer = ByteWriter()
        writer.append(stamp(1).bytes)
        let dots = [Dot(log: LogID(low: 9, high: 9), sequence: 1)]
        for facts in [[], [Fact(.mode(item, 1), replaces: dots)]] {
            var record = writer
            let body = FactRecord.bytes(facts)
            record.number(UInt32(body.count))
            record.append(body)
            let bytes = record.finish()
            #expect(throws: FormatError.invalid(field: "facts")) { try codec.decode(bytes) }
        }
    }

    @Test func randomBytesNeverTrap() throws {
        var random = SplitMix64(seed: 17)
        codec.readRandomChanges(of: RegisterRecord.bytes(try parts()), &random)
    }
}
