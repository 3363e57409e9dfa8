import CofferFormat
import CofferSystem

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
