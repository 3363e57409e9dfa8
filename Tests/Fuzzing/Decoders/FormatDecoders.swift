import CofferFormat

@testable import CofferClient

// Records of CofferFormat, which have one encoding each.
extension Decoder {
    private static let passphrase = PassphraseRecord(
        salt: Array(0..<16), passes: 3, memory: 65_536, created: 1, sealedVerifier: Array(0..<72),
        sealedProfileKey: Array(100..<172), sealedHint: [1, 2, 3])
    private static let methods = UnlockMethods(
        passphrases: [passphrase],
        recoveryKeys: [
            RecoveryRecord(
                key: RecoveryKeyID(low: 5, high: 6), created: 2, sealedProfileKey: Array(0..<72))
        ],
        revokedKeys: [RevokedKeyRecord(key: RecoveryKeyID(low: 7, high: 8), created: 3, revoked: 4)])

    static let profileRecord = Decoder(name: "profile-record", byteCountMax: 2048) {
        let id = ProfileID(low: 1, high: 2)
        let lists = [
            UnlockMethods(passphrases: [passphrase]), UnlockMethods(passphrases: [passphrase, passphrase]),
            methods,
        ]
        return lists.map { ProfileRecord(id: id, created: 3, methods: $0, sealedBody: [4, 5, 6]).bytes }
    } run: { bytes in
        guard let record = try? ProfileRecord(bytes.span.bytes) else { return .refused }
        try expect(record.bytes == bytes, "a profile has two encodings")
        for method in record.methods.passphrases { _ = PassphraseUnlock.hint(method, profile: record.id) }
        return .taken
    }

    static let backupRecord = Decoder(name: "backup-record", byteCountMax: 2048) {
        let id = ProfileID(low: 1, high: 2)
        return [
            BackupRecord(profile: id, made: 3, methods: methods, sealedBody: Array(0..<50)).bytesToCheck
        ]
    } run: { bytes in
        let stated = try? BackupRecord.statedByteCount(bytes.span.bytes)
        guard let record = try? BackupRecord(bytes.span.bytes) else { return .refused }
        try expect(record.bytesToCheck == bytes, "a backup has two encodings")
        try expect(
            stated == UInt64(bytes.count + BackupRecord.checksumByteCount), "a backup has another length")
        return .taken
    }

    static let packHeader = Decoder(name: "pack-header", byteCountMax: 64) {
        [PackHeader(vault: VaultID(low: 1, high: 2)).bytes]
    } run: { bytes in
        guard let header = try? PackHeader(bytes.span.bytes) else { return .refused }
        try expect(bytes.starts(with: header.bytes), "a pack's header has two encodings")
        return .taken
    }

    static let facts = Decoder(name: "facts", byteCountMax: 4096) {
        let item = ItemID(low: 1, high: 2)
        let dots = [Dot(log: LogID(low: 3, high: 4), sequence: 5)]
        guard let name = EntryName("a".utf8) else { throw Violation("no name") }
        let place = Place(parent: ItemID(low: 6, high: 7), name: name)
        let entry = EntryID(low: 8, high: 9)
        let one = [
            Fact(.kind(item, .symlink(target: [1]))), Fact(.mode(item, 0o644)), Fact(.modified(item, 1)),
            Fact(.extendedAttribute(item, name: [1], value: [2]), replaces: dots),
            Fact(.place(entry, .init(item: item, place: place, previous: place))),
            Fact(.content(item, .init(bytes: [1], size: 2, origin: item))),
        ]
        let other = [
            Fact(.place(entry, .init(item: item, place: nil, previous: place, seenContents: dots))),
            Fact(.content(item, nil), replaces: dots), Fact(.kind(item, .blockDevice(1))),
        ]
        return [FactRecord.bytes([]), FactRecord.bytes(one), FactRecord.bytes(other)]
    } run: { bytes in
        guard let facts = try? FactRecord.facts(bytes.span.bytes) else { return .refused }
        try expect(FactRecord.bytes(facts) == bytes, "facts have two encodings")
        try expect(Set(facts.map(\.register)).count == facts.count, "a register is spoken of twice")
        return .taken
    }

    static let registers = Decoder(name: "registers", byteCountMax: 4096) {
        let item = ItemID(low: 1, high: 2)
        let parts = (1...2 as ClosedRange<UInt64>).map { number in
            RegisterRecord.Part(
                stamp: Stamp(clock: number, dot: Dot(log: LogID(low: 3, high: 4), sequence: number)),
                assertions: [
                    .kind(item, .file), .mode(item, 0o644), .content(item, .init(bytes: [1], size: 1)),
                ])
        }
        return [RegisterRecord.bytes(parts)]
    } run: { bytes in
        guard let parts = try? RegisterRecord.parts(bytes.span.bytes) else { return .refused }
        try expect(RegisterRecord.bytes(parts) == bytes, "registers have two encodings")
        return .taken
    }

    /// Identifiers as text, in names of files, and as bytes.
    static let identifier = Decoder(name: "identifier", byteCountMax: 64) {
        let id = PackID(low: 0x0123_4567_89ab_cdef, high: 2)
        return [Array(id.description.utf8), id.bytes]
    } run: { bytes in
        let text = String(decoding: bytes, as: UTF8.self)
        if let id = PackID(hexadecimal: text) {
            try expect(Array(id.description.utf8) == bytes, "an identifier has two texts")
            return .taken
        }
        guard let id = PackID(bytes: bytes) else { return .refused }
        try expect(id.bytes == bytes, "an identifier has two encodings")
        return .taken
    }
}
