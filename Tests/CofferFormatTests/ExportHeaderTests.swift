import Testing

@testable import CofferFormat

/// The beginning of an export, and those of its pieces.
@Suite struct ExportHeaderTests {
    private static let passphrase = ExportHeader([
        .passphrase(.init(salt: Array(0..<16), passes: 3, memory: 65_536, sealedKey: Array(0..<72)))
    ])
    private static func recipients(_ count: Int) -> ExportHeader {
        ExportHeader(
            (0..<count).map {
                .recipient(
                    .init(
                        ephemeral: AgreementPublicKey([UInt8](repeating: UInt8($0), count: 32)),
                        sealedKey: Array(1..<73)))
            })
    }

    private func error(_ bytes: [UInt8]) -> FormatError? {
        do throws(FormatError) {
            _ = try ExportHeader(bytes.span.bytes)
            return nil
        } catch {
            return error
        }
    }

    @Test func oneEncoding() throws {
        for header in [Self.passphrase, Self.recipients(1), Self.recipients(16)] {
            let bytes = header.bytes
            #expect(try ExportHeader(bytes.span.bytes) == header)
            for count in 0..<bytes.count {
                #expect(error(Array(bytes[..<count])) == (count < 8 ? .notThisKind : .truncated))
            }
            #expect(error(bytes + [0]) == .trailingBytes)
        }
        #expect(Self.passphrase.bytes.count == 116 && Self.recipients(2).bytes.count == 234)
    }

    @Test func whatIsRefused() {
        func changed(_ header: ExportHeader, at place: Int, to byte: UInt8) -> FormatError? {
            var bytes = header.bytes
            bytes[place] = byte
            return error(bytes)
        }
        #expect(changed(Self.passphrase, at: 0, to: 0) == .notThisKind)
        #expect(changed(Self.passphrase, at: 8, to: 2) == .newerVersion(found: 2, supported: 1))
        #expect(changed(Self.passphrase, at: 8, to: 0) == .invalid(field: "version"))
        #expect(changed(Self.passphrase, at: 12, to: 0) == .invalid(field: "number of entries"))
        #expect(changed(Self.passphrase, at: 12, to: 17) == .invalid(field: "number of entries"))
        #expect(changed(Self.passphrase, at: 14, to: 3) == .unknown(field: "kind of entry", found: 3))
        #expect(changed(Self.passphrase, at: 16, to: 95) == .invalid(field: "length of an entry"))
        // A passphrase among other entries.
        let both = ExportHeader(Self.passphrase.entries + Self.recipients(1).entries)
        #expect(error(both.bytes) == .invalid(field: "number of entries"))
        let other = ExportHeader(Self.recipients(1).entries + Self.passphrase.entries)
        #expect(error(other.bytes) == .invalid(field: "number of entries"))
    }

    @Test func pieces() throws {
        for piece in [
            ExportPiece(count: 262_144, isLast: false), ExportPiece(count: 262_144, isLast: true),
            ExportPiece(count: 0, isLast: true), ExportPiece(count: 5, isLast: true),
        ] {
            let bytes = piece.bytes
            #expect(try ExportPiece(bytes.span.bytes) == piece)
        }
        for piece in [
            ExportPiece(count: 262_145, isLast: true), ExportPiece(count: 262_143, isLast: false),
            ExportPiece(count: 0, isLast: false), ExportPiece(count: 1 << 30, isLast: false),
        ] {
            let bytes = piece.bytes
            #expect(throws: FormatError.invalid(field: "length of a piece")) {
                try ExportPiece(bytes.span.bytes)
            }
        }
    }
}
