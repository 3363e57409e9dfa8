import CofferFormat

@testable import CofferClient

// Records of CofferFormat, which have one encoding each.
extension Decoder {
    static let profileRecord = Decoder(name: "profile-record", byteCountMax: 2048) {
        let method = PassphraseRecord(
            salt: Array(0..<16), passes: 3, memory: 65_536, created: 1, sealedVerifier: Array(0..<72),
            sealedProfileKey: Array(100..<172), sealedHint: [1, 2, 3])
        let id = ProfileID(low: 1, high: 2)
        return [1, 2].map {
            ProfileRecord(
                id: id, created: 3, unlockMethods: Array(repeating: method, count: $0), sealedBody: [4, 5, 6]
            )
            .bytes
        }
    } run: { bytes in
        guard let record = try? ProfileRecord(bytes.span.bytes) else { return .refused }
        try expect(record.bytes == bytes, "a profile has two encodings")
        for method in record.unlockMethods { _ = PassphraseUnlock.hint(method, profile: record.id) }
        return .taken
    }

    static let packHeader = Decoder(name: "pack-header", byteCountMax: 64) {
        [PackHeader(vault: VaultID(low: 1, high: 2)).bytes]
    } run: { bytes in
        guard let header = try? PackHeader(bytes.span.bytes) else { return .refused }
        try expect(bytes.starts(with: header.bytes), "a pack's header has two encodings")
        return .taken
    }

    /// Identifiers as text, which names of files are, and as bytes.
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
