internal import CofferFormat
internal import CofferSystem
internal import CofferVault

/// Writes the archive of a vault, as it was at one moment, into a sealed stream.
struct VaultExport {
    private static let pieceByteCount = 1 << 20

    private let view: HistoryView
    private let name: String
    private let pulse: ExportPulse
    private var walk: ExportWalk
    private let buffer = AlignedBuffer(count: pieceByteCount)
    private(set) var items = 0
    private(set) var bytes: Int64 = 0

    init(of view: HistoryView, named name: String, _ pulse: ExportPulse) {
        self.view = view
        self.name = name
        self.pulse = pulse
        walk = ExportWalk(view)
    }

    /// The paths of what is not in the archive.
    var sockets: [String] { walk.sockets.map { Self.text($0) } }

    mutating func run(into stream: inout SealingStream) throws(ClientError) {
        while let step = try nextStep() {
            try pulse.beat()
            try append(try header(of: step.entry), to: &stream)
            if Self.isItem(step.entry) { items += 1 }
            if case .file(_, let data) = step.entry.kind { try write(data, of: step.item, into: &stream) }
        }
        try append(ArchiveWriter.end, to: &stream)
    }

    private mutating func nextStep() throws(ClientError) -> ExportWalk.Step? {
        do throws(FileSystemError) { return try walk.next() } catch {
            throw .export(.unreadable(path: Self.text(walk.path), vault: name, error))
        }
    }

    private func header(of entry: ArchiveEntry) throws(ClientError) -> [UInt8] {
        do throws(FormatError) { return try ArchiveWriter.header(of: entry) } catch {
            guard case .invalid(let field) = error else { throw .cipherFailed }
            throw .export(.tooLarge(path: Self.text(walk.path), vault: name, field: field))
        }
    }

    private mutating func write(
        _ data: [Range<Int64>], of item: Int64, into stream: inout SealingStream
    ) throws(ClientError) {
        var stored: Int64 = 0
        for range in data {
            var offset = range.lowerBound
            while offset < range.upperBound {
                try pulse.beat()
                let wanted = Int(min(range.upperBound - offset, Int64(Self.pieceByteCount)))
                let count = try read(item, at: offset, count: wanted)
                try buffer.withBytes(0..<count) { bytes throws(ClientError) in try stream.append(bytes) }
                offset += Int64(count)
                pulse.done += Int64(count)
            }
            stored += range.upperBound - range.lowerBound
        }
        bytes += stored
        try append([UInt8](repeating: 0, count: ArchiveLimits.padding(after: stored)), to: &stream)
    }

    private func read(_ item: Int64, at offset: Int64, count: Int) throws(ClientError) -> Int {
        do throws(FileSystemError) {
            let pulse = pulse
            let got = try view.read(
                item, at: offset, count: count, into: buffer, isInterrupted: { !pulse.isAwaited() })
            guard got == count else { throw .damaged(place: "the size of an item") }
            return got
        } catch {
            throw .export(.unreadable(path: Self.text(walk.path), vault: name, error))
        }
    }

    private func append(_ bytes: [UInt8], to stream: inout SealingStream) throws(ClientError) {
        try unsafe stream.append(bytes.span.bytes)
    }

    /// Neither the root nor a further name.
    private static func isItem(_ entry: ArchiveEntry) -> Bool {
        if case .link = entry.kind { false } else { !entry.path.isEmpty }
    }

    private static func text(_ path: [[UInt8]]) -> String {
        String(decoding: Array(path.joined(separator: [0x2F])), as: UTF8.self)
    }
}
