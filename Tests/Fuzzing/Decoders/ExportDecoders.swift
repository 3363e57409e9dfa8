import CofferFormat
import CofferSystem
import CofferTestSupport

@testable import CofferVault

// What is in an export: its header, which anybody can change, and its archive, which whoever sealed it chose.
extension Decoder {
    static let exportHeader = Decoder(name: "export-header", byteCountMax: 2048) {
        let passphrase = ExportHeader.Passphrase(
            salt: Array(0..<16), passes: 3, memory: 65_536, sealedKey: Array(0..<72))
        let recipient = ExportHeader.Recipient(
            ephemeral: AgreementPublicKey(Array(0..<32)), sealedKey: Array(0..<72))
        return [
            ExportHeader([.passphrase(passphrase)]).bytes, ExportHeader([.recipient(recipient)]).bytes,
            ExportHeader([.recipient(recipient), .recipient(recipient)]).bytes,
        ]
    } run: { bytes in
        guard let header = try? ExportHeader(bytes.span.bytes) else { return .refused }
        try expect(header.bytes == bytes, "a header has two encodings")
        return .taken
    }

    static let archive = Decoder(name: "archive", byteCountMax: 16_384) {
        let root = ArchiveEntry(path: [], kind: .directory, permissions: 0o755, modified: -1)
        let attribute = ArchiveEntry.Attribute(name: Array("user.a=%".utf8), value: [0, 0xFF])
        let kinds: [ArchiveEntry.Kind] = [
            .directory, .file(size: 0, data: []), .file(size: 700, data: [1..<513, 600..<700]),
            .link(to: [[0x62]]), .symbolicLink([0xFF]), .fifo,
            .characterDevice(ArchiveDevice(major: 1, minor: 3)),
            .blockDevice(ArchiveDevice(major: 8, minor: 0)),
        ]
        return try kinds.map { kind in
            let entry = ArchiveEntry(
                path: [[0x61], [0xFF, 0x0A]], kind: kind, permissions: 0o644, modified: 5,
                attributes: [attribute])
            var bytes = try ArchiveWriter.header(of: root) + ArchiveWriter.header(of: entry)
            if case .file(_, let data) = kind, !data.isEmpty { bytes += [UInt8](repeating: 0, count: 1024) }
            return bytes + ArchiveWriter.end
        }
    } run: { bytes in
        var reader = ArchiveReader()
        var rest = bytes[...]
        while rest.count >= reader.needed {
            let piece = Array(rest.prefix(reader.needed))
            rest = rest.dropFirst(piece.count)
            guard let event = try? reader.take(piece.span.bytes) else { return .refused }
            switch event {
            case .nothing: continue
            case .entry(let entry): try checkEntry(entry)
            case .data(let range): try expect(range.count == piece.count, "content of another length")
            case .end:
                try expect(reader.needed == 0, "an archive that goes on")
                return .taken
            }
        }
        return .refused
    }

    /// What an archive makes of a new vault.
    static let importing = Decoder(name: "import", byteCountMax: 16_384) {
        let attribute = ArchiveEntry.Attribute(name: Array("user.a".utf8), value: [0, 0xFF])
        func header(_ path: [String], _ kind: ArchiveEntry.Kind) throws -> [UInt8] {
            try ArchiveWriter.header(
                of: ArchiveEntry(
                    path: path.map { Array($0.utf8) }, kind: kind, permissions: 0o755, modified: 7,
                    attributes: kind == .directory ? [attribute] : []))
        }
        let root = try header([], .directory)
        var tree = root + (try header(["d"], .directory))
        tree += try header(["d", "f"], .file(size: 700, data: [1..<513, 600..<700]))
        tree += [UInt8](repeating: 1, count: 612) + [UInt8](repeating: 0, count: 412)
        tree += try header(["l"], .link(to: [Array("d".utf8), Array("f".utf8)]))
        tree += try header(["s"], .symbolicLink([0x78]))
        return [root + ArchiveWriter.end, tree + ArchiveWriter.end]
    } run: { bytes in
        let vault = try TestVault.create().open()
        var tree = TreeImport(vault, owner: TestVault.owner)
        do {
            try fill(&tree, with: bytes)
        } catch let error as ImportProblem {
            if case .vault(.stopped) = error { throw Violation("an import stops the vault") }
            try expect(vault.stoppedReason == nil, "an import stops the vault")
            return .refused
        } catch is FormatError {
            return .refused
        }
        try expect(try vault.check { _, _ in }.damage == [], "a vault is hurt by an import")
        return .taken
    }

    private static func fill(_ tree: inout TreeImport, with bytes: [UInt8]) throws {
        var reader = ArchiveReader()
        var rest = bytes[...]
        while rest.count >= reader.needed {
            let piece = Array(rest.prefix(reader.needed))
            rest = rest.dropFirst(piece.count)
            switch try reader.take(piece.span.bytes) {
            case .nothing: continue
            case .entry(let entry): try tree.begin(entry)
            case .data(let range): try tree.write(piece.span.bytes, at: range.lowerBound)
            case .end: return try tree.finish()
            }
        }
        throw FormatError.truncated
    }

    private static func checkEntry(_ entry: ArchiveEntry) throws {
        for name in entry.path {
            try expect(EntryName(name) != nil && name != [0x2E] && name != [0x2E, 0x2E], "a bad name")
        }
        if case .file(let size, let data) = entry.kind {
            var end: Int64 = 0
            for range in data {
                try expect(range.lowerBound >= end && !range.isEmpty, "ranges overlap")
                end = range.upperBound
            }
            try expect(end <= size, "content after the end of a file")
        }
        // What is written of it is read as the same.
        let root = ArchiveEntry(path: [], kind: .directory, permissions: 0, modified: 0)
        var bytes = entry.path.isEmpty ? [] : try ArchiveWriter.header(of: root)
        bytes += try ArchiveWriter.header(of: entry)
        var reader = ArchiveReader()
        var last: ArchiveEntry?
        while bytes.count >= reader.needed, reader.needed > 0, last == nil || last?.path != entry.path {
            let piece = Array(bytes.prefix(reader.needed))
            bytes.removeFirst(piece.count)
            if case .entry(let read) = try reader.take(piece.span.bytes) { last = read }
        }
        try expect(last == normal(entry), "an entry is read as another one")
    }

    /// Ranges that touch are written as one where the file has no hole.
    private static func normal(_ entry: ArchiveEntry) -> ArchiveEntry {
        guard case .file(let size, let data) = entry.kind else { return entry }
        var entry = entry
        if data.reduce(0, { $0 + Int64($1.count) }) == size {
            entry.kind = .file(size: size, data: size > 0 ? [0..<size] : [])
        }
        return entry
    }
}
