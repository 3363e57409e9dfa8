import CofferCrypto
import CofferFormat
import CofferSystem
import CofferTestSupport
import Testing

@testable import CofferStore

/// The page, the frame, the rows and the record of the intent log of docs/values.json.
@Suite struct DocumentedRowTests {
    private let vault: [UInt8] = .init(0x10...0x1F)
    private let item: [UInt8] = .init(0x20...0x2F)

    /// The store key 00 01 … 1f.
    private func storeKey() -> SymmetricKey<StoreRole> {
        let bytes: [UInt8] = .init(0x00...0x1F)
        return SymmetricKey<StoreRole>(SecretBytes(copying: bytes.span.bytes))
    }

    @Test(arguments: [("index page", "unit", 4096), ("log frame", "frame", 32)])
    func pagesAndFrames(section: String, name: String, offset: Int) throws {
        let key = storeKey().derive(IndexPageRole.self, context: vault.span.bytes)
        let sealer = PageSealer(key: key, vault: try #require(VaultID(bytes: vault)))
        var unit = try DocumentedValues().bytes(section, name)
        try sealer.open(&unit, in: section == "index page" ? .database : .log, at: offset)
        let plain = unit.count - IndexPageLayout.reservedByteCount
        #expect(unit.prefix(plain).elementsEqual((0..<plain).map { UInt8($0 % 256) }))
    }

    private var tables: [(name: String, table: RowDigest.Table)] {
        [
            ("items", .items), ("entries", .entries), ("another of entries", .entries),
            ("extents", .extents), ("attributes", .attributes), ("packs", .packs), ("contents", .contents),
            ("orphans", .orphans), ("remote_extents", .remoteExtents), ("remote_pages", .remotePages),
            ("logs", .logs),
        ]
    }

    /// The sums that a digest has of some rows, by table: 16 bytes each.
    private func sums(_ messages: [(table: RowDigest.Table, message: [UInt8])]) -> [UInt8] {
        var digest = RowDigest(key: storeKey().derive(RowDigestRole.self, context: vault.span.bytes))
        digest.addFacts()
        for (table, message) in messages {
            let hash = digest.hash(table) { $0.append(message.dropFirst()) }
            digest.add(table, hash)
        }
        return digest.bytes
    }

    private func sum(of table: RowDigest.Table, in sums: [UInt8]) -> [UInt8] {
        let start = 16 * (Int(table.rawValue) - 1)
        return Array(sums[start..<start + 16])
    }

    @Test func digestsOfRows() throws {
        let values = try DocumentedValues()
        var entries: [(table: RowDigest.Table, message: [UInt8])] = []
        for (name, table) in tables {
            let message = try values.bytes("row digest", name, "message")
            #expect(message.first == table.rawValue, "\(name)")
            let found = sum(of: table, in: sums([(table, message)]))
            let expected = try values.bytes("row digest", name, "hash")
            #expect(found == expected, "\(name)")
            if table == .entries { entries.append((table, message)) }
        }
        let both = sum(of: .entries, in: sums(entries))
        let expected = try values.bytes("row digest", "digest of both rows of entries")
        #expect(both == expected)
    }

    @Test func fieldsOfRows() throws {
        let values = try DocumentedValues()
        let fields = Array(try values.bytes("row digest", "items", "message").dropFirst())
        let row = try ItemRow(fields: fields.span.bytes)
        #expect(row.fields == fields)
        #expect(row.number == 2 && row.id.bytes == item && row.mode == 0o100644 && row.links == 1)
        #expect(row.size == 6 && row.allocated == 6 && row.accessed == 1 && row.born == 4)
        #expect(row.unsent == .content && row.origin == row.id)
        var writer = ByteWriter()
        EntryRow(parent: 1, name: Array("a.txt".utf8), item: 2, type: 8, cookie: 3).digest(into: &writer)
        let written = writer.finish()
        let entry = Array(try values.bytes("row digest", "entries", "message").dropFirst())
        #expect(written == entry)
    }

    @Test func recordOfTheIntentLog() throws {
        let values = try DocumentedValues()
        let record = try values.bytes("intent", "record")
        let byteCount = IntentLayout.recordByteCount(record.span.bytes, room: record.count)
        #expect(byteCount == 4096)
        var associated = IntentAssociatedData(
            vault: try #require(VaultID(bytes: vault)), commits: 5,
            digests: [UInt8](repeating: 0, count: 144))
        associated.select(offset: 0, byteCount: record.count)
        let (bytes, expected) = (associated.bytes, try values.bytes("intent", "aad"))
        #expect(bytes == expected)
        let key = storeKey().derive(IntentRole.self, context: vault.span.bytes)
        let sealed = Array(record[IntentLayout.nonceOffset...])
        let body = try RecordCipher.open(sealed.span.bytes, key: key, associated: bytes.span.bytes)
        let head = try values.bytes("intent", "body without the zeros")
        #expect(body.starts(with: head))
        let read = try IntentRecord(body.span.bytes)
        try #require(read.writes.count == 1 && read.rows.count == 1)
        let (write, place) = read.writes[0]
        #expect(write.item == 2 && write.offset == 0 && write.length == 6 && write.epoch == .first)
        let extent = try values.bytes("extent", "sealed")
        #expect(Array(body[place]) == extent)
        let row = [1] + Array(body[read.rows[0]])
        let message = try values.bytes("row digest", "items", "message")
        #expect(row == message)
    }
}
