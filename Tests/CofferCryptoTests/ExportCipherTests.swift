import CofferCrypto
import CofferSystem
import Testing

/// Pieces of an export: each has its place, under one header and one key.
@Suite struct ExportCipherTests {
    private func cipher(_ key: [UInt8] = Array(0..<32), header: String = "header") -> ExportCipher {
        let key = SymmetricKey<ExportRole>(SecretBytes(copying: key.span.bytes))
        return ExportCipher(key, header: Array(header.utf8))
    }

    private func seal(
        _ text: String, _ start: [UInt8], by cipher: inout ExportCipher
    ) -> [UInt8] {
        let piece = Array(text.utf8)
        var sealed = [UInt8](repeating: 0, count: piece.count + Seal.tagByteCount)
        sealed.withMutableRawSpan { cipher.seal(piece.span.bytes, start: start, into: &$0) }
        return sealed
    }

    private func open(_ sealed: [UInt8], _ start: [UInt8], by cipher: inout ExportCipher) throws -> String {
        var piece = [UInt8](repeating: 0, count: sealed.count - Seal.tagByteCount)
        try piece.withMutableRawSpan { (bytes: inout MutableRawSpan) throws(CryptoError) in
            try cipher.open(sealed.span.bytes, start: start, into: &bytes)
        }
        return String(decoding: piece, as: UTF8.self)
    }

    private static let first: [UInt8] = [5, 0, 0, 0], last: [UInt8] = [4, 0, 0, 0x80]

    /// The values come from Tests/foreign-reader/primitives.py.
    @Test func knownPieces() throws {
        var sealing = cipher()
        let pieces = [
            seal("first", Self.first, by: &sealing), seal("last", Self.last, by: &sealing),
        ]
        let texts = pieces.map { $0.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }
        #expect(
            texts == [
                "9f5f369f612bb0153d67bd6e3d26b82cec1cc2c626", "786d233909db60efa9e8ccab3145c2be1e5a5f7b",
            ])
        var opening = cipher()
        #expect(try open(pieces[0], Self.first, by: &opening) == "first")
        #expect(try open(pieces[1], Self.last, by: &opening) == "last")
    }

    @Test func whatDoesNotOpen() throws {
        var sealing = cipher()
        let pieces = [
            seal("first", Self.first, by: &sealing), seal("last", Self.last, by: &sealing),
        ]
        // Another header, another key, another place, another length, no last piece.
        var others = [pieces[0]]
        for place in pieces[0].indices {
            others.append(pieces[0])
            others[others.count - 1][place] ^= 1
        }
        for other in others.dropFirst() {
            var opening = cipher()
            #expect(throws: CryptoError.authenticationFailed) { try open(other, Self.first, by: &opening) }
        }
        var otherHeader = cipher(header: "other")
        var otherKey = cipher(Array(1..<33))
        var opening = cipher()
        #expect(throws: CryptoError.authenticationFailed) {
            try open(pieces[0], Self.first, by: &otherHeader)
        }
        #expect(throws: CryptoError.authenticationFailed) { try open(pieces[0], Self.first, by: &otherKey) }
        #expect(throws: CryptoError.authenticationFailed) { try open(pieces[1], Self.last, by: &opening) }
        #expect(throws: CryptoError.authenticationFailed) {
            try open(pieces[0], [5, 0, 0, 0x80], by: &opening)
        }
        #expect(try open(pieces[0], Self.first, by: &opening) == "first")
        #expect(throws: CryptoError.authenticationFailed) { try open(pieces[0], Self.first, by: &opening) }
        #expect(throws: CryptoError.authenticationFailed) {
            try open(pieces[1], [4, 0, 0, 0], by: &opening)
        }
    }
}
