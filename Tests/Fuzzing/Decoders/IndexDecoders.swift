import CofferCrypto
import CofferFormat
import CofferSystem
import CofferTestSupport

@testable import CofferStore

// Pages and log frames of an index. Their content is sealed; the inputs say what to change before sealing.
extension Decoder {
    /// Pages of the database, changed by an attacker with the key: for SQLite and the readers of rows.
    static let indexPages = Decoder(name: "index-pages", byteCountMax: 256) {
        [[], [4, 100, 0, 1, 0]]
    } run: { bytes in
        let directory = try SealedVault.closed.get().copy()
        let count = directory.bytes(of: SealedVault.database).count / IndexPageLayout.pageByteCount
        var input = Input(bytes)
        while !input.isEmpty {
            let offset = Int(input.byte()) % count * IndexPageLayout.pageByteCount
            let place = input.word() % IndexPageLayout.usableByteCount
            try patch(directory, SealedVault.database, .database, at: offset, place, input.counted())
        }
        guard let index = try? SealedVault.openIndex(directory) else { return .refused }
        guard (try? read(index)) != nil else { return .refused }
        return .taken
    }

    /// The log, changed by an outsider (then a read gives a commit that was made), or by an attacker with the key.
    static let indexLog = Decoder(name: "index-log", byteCountMax: 256) {
        // The last one gives the log's header the number of a later checkpoint.
        [[], [0, 3, 100, 0, 1], [2, 3, 100, 0, 1, 9], [4, 0, 1], [5, 0, 3, 0, 0, 0, 9]]
    } run: { bytes in
        let logged = try LoggedIndex.made.get()
        let directory = logged.directory.copy()
        let isForged = try change(directory, bytes)
        guard let index = try? SealedVault.openIndex(directory) else { return .refused }
        guard let rows = try? read(index) else { return .refused }
        if !isForged {
            try expect(logged.commits.contains(rows), "an index shows rows that no commit had")
            try expect(try index.makeReader().problems() == [], "an index that was opened is not sound")
        }
        return .taken
    }

    /// Follows the instructions of an input; true if one of them needs the key.
    private static func change(_ directory: SimulatedStorageDirectory, _ bytes: [UInt8]) throws -> Bool {
        let log = SealedVault.log
        let first = IndexPageLayout.logHeaderByteCount
        let frame = IndexPageLayout.frameByteCount
        var isForged = false
        var input = Input(bytes)
        while !input.isEmpty {
            let size = directory.bytes(of: log).count
            guard size > first + frame else { break }
            let count = (size - first) / frame
            let kind = input.byte() % 7
            let start = first + Int(input.byte()) % count * frame
            switch kind {
            case 0: directory.flip(log, at: start + input.word() % frame, mask: input.byte())
            case 1: directory.overwrite(log, at: Int(input.byte()) % first, with: input.counted())
            case 2:
                let place = input.word() % (frame - IndexPageLayout.reservedByteCount)
                let patched = try patch(directory, log, .log, at: start, place, input.counted())
                isForged = isForged || patched
            case 3: directory.cut(log, to: min(size, start + input.word()))
            case 4:
                let source = first + Int(input.byte()) % count * frame
                directory.overwrite(
                    log, at: start, with: Array(directory.bytes(of: log)[source..<source + frame]))
            case 5:
                let place = 4 * Int(input.byte() % 6)
                directory.overwrite(log, at: place, with: input.bytes(4))
                sum(directory)
            default: directory.overwrite(log, at: size, with: input.counted())
            }
        }
        return isForged
    }

    /// Corrects the checksum in the log's header: anybody can, and SQLite ignores a log with a wrong one.
    private static func sum(_ directory: SimulatedStorageDirectory) {
        let header = directory.bytes(of: SealedVault.log).prefix(IndexPageLayout.logHeaderByteCount)
        func word(_ place: Int, bigEndian: Bool) -> UInt32 {
            let bytes = header[place..<place + 4]
            return (bigEndian ? Array(bytes) : bytes.reversed()).reduce(0) { $0 << 8 | UInt32($1) }
        }
        // The lowest bit of the first word gives the byte order of the checksum's words.
        let bigEndian = word(0, bigEndian: true) & 1 == 1
        var sums: (UInt32, UInt32) = (0, 0)
        for place in stride(from: 0, to: 24, by: 8) {
            sums.0 &+= word(place, bigEndian: bigEndian) &+ sums.1
            sums.1 &+= word(place + 4, bigEndian: bigEndian) &+ sums.0
        }
        let bytes = [sums.0, sums.1].flatMap { sum in
            (0..<4).map { UInt8(truncatingIfNeeded: sum >> (24 - 8 * UInt32($0))) }
        }
        directory.overwrite(SealedVault.log, at: 24, with: bytes)
    }

    /// Overwrites the plaintext of a page or frame, and seals it again.
    ///
    /// - Returns: Whether it existed, was whole, and opened with the key.
    @discardableResult
    private static func patch(
        _ directory: SimulatedStorageDirectory, _ path: String, _ file: IndexPageLayout.File, at offset: Int,
        _ place: Int, _ bytes: [UInt8]
    ) throws -> Bool {
        let unit = file == .log ? IndexPageLayout.frameByteCount : IndexPageLayout.pageByteCount
        let all = directory.bytes(of: path)
        guard offset + unit <= all.count else { return false }
        var page = Array(all[offset..<offset + unit])
        let sealer = SealedVault.sealer()
        guard (try? sealer.open(&page, in: file, at: offset)) != nil else { return false }
        let end = min(unit - IndexPageLayout.reservedByteCount, place + bytes.count)
        page.replaceSubrange(place..<end, with: bytes.prefix(end - place))
        var sealed = page
        sealed.withMutableRawSpan { sealer.seal(page.span.bytes, into: &$0, in: file, at: offset) }
        directory.overwrite(path, at: offset, with: sealed)
        return true
    }

    /// Reads all rows, in every possible way.
    fileprivate static func read(_ index: Index) throws -> [String] {
        var rows: [String] = []
        let reader = try index.makeReader()
        _ = try reader.problems()
        _ = try reader.size()
        for number in SealedVault.items {
            rows.append("\(String(describing: try index.item(number)))")
            rows += try index.entries(in: number, after: 2, limit: 100).map { "\($0)" }
            rows += try index.attributes(of: number).map { "\($0)" }
            rows += try index.extents(of: number, overlapping: 0..<(.max)).map { "\($0)" }
        }
        return rows + (try index.packs().map { "\($0)" }) + (try index.orphans().map { "\($0)" })
    }
}

/// An index with commits that are still in its log, and the content of each.
private struct LoggedIndex: Sendable {
    let directory: SimulatedStorageDirectory
    let commits: [[String]]

    static let made = Result { try make() }

    private static func make() throws -> LoggedIndex {
        let directory = try SealedVault.closed.get().copy()
        let index = try SealedVault.openIndex(directory)
        var commits = [try Decoder.read(index)]
        for number in 1...4 as ClosedRange<Int64> {
            guard var row = try index.item(number) else { throw Violation("an item is missing") }
            let hash = index.hash(of: row)
            row.user = 5000 + UInt32(number)
            _ = try index.put(row, replacing: hash)
            try index.commit()
            commits.append(try Decoder.read(index))
        }
        try index.makeLog().sync()
        return LoggedIndex(directory: directory.copy(), commits: commits)
    }
}
