internal import CofferSystem

/// Reads the archive in an export, piece by piece, and trusts nothing in it.
///
/// The reader has no source of its own: it says how many bytes it needs next, and is given as many.
package struct ArchiveReader: Sendable {
    /// What a piece completes.
    package enum Event: Equatable, Sendable {
        case nothing
        /// The next entry.
        case entry(ArchiveEntry)
        /// The piece itself is the content of this range of the last entry, a file.
        case data(Range<Int64>)
        /// The end of the archive, after which nothing may follow.
        case end
    }

    private enum State {
        case block
        /// The records of the next entry, and the zeros after them.
        case records(count: Int)
        /// The block of the entry that the records are about.
        case entry(PaxRecords)
        /// The list of the ranges of a file with holes.
        case map(ArchiveEntry)
        case content
        case padding(Int)
        case secondZeros
        case ended
    }

    /// Where the next piece begins, from the beginning of the archive.
    package private(set) var offset: Int64 = 0
    private var state = State.block
    private var isFirst = true
    // Beside the state, so that they change in place.
    private var map = SparseMap(size: 0)
    /// The ranges of which the content is still to come, the next one last.
    private var ranges: [Range<Int64>] = []
    /// The bytes of the last entry that are still to come, without the padding.
    private var left: Int64 = 0
    private var padding = 0

    /// Begins before the first byte.
    package init() {}

    /// The number of bytes that `take` gets next; 0 after the end.
    package var needed: Int {
        switch state {
        case .block, .entry, .map, .secondZeros: ArchiveLimits.blockByteCount
        case .records(let count): count + ArchiveLimits.padding(after: Int64(count))
        case .content: ranges.last.map { Self.piece($0).count } ?? 0
        case .padding(let count): count
        case .ended: 0
        }
    }

    /// Takes the next bytes, as many as are needed.
    ///
    /// - Throws: What is wrong; after that, the reader cannot be used.
    package mutating func take(_ bytes: RawSpan) throws(FormatError) -> Event {
        precondition(bytes.byteCount == needed)
        let event = try step(bytes)
        offset += Int64(bytes.byteCount)
        return event
    }

    private mutating func step(_ bytes: RawSpan) throws(FormatError) -> Event {
        switch state {
        case .block: return try takeBlock(bytes.array)
        case .records(let count):
            let all = bytes.array
            guard all[count...].allSatisfy({ $0 == 0 }) else { throw .invalid(field: "padding") }
            state = .entry(try PaxRecords(Array(all[..<count])))
            return .nothing
        case .entry(let records):
            let block = try ArchiveBlock(bytes.array)
            guard block.kind != .records else { throw .duplicate(field: "records") }
            return try begin(block, records)
        case .map(let entry):
            left -= Int64(bytes.byteCount)
            guard left >= 0 else { throw .invalid(field: "size") }
            return try map.take(bytes.array) ? try begin(sparse: entry) : .nothing
        case .content: return takeContent()
        case .padding:
            guard bytes.array.allSatisfy({ $0 == 0 }) else { throw .invalid(field: "padding") }
            state = .block
            return .nothing
        case .secondZeros:
            guard bytes.array.allSatisfy({ $0 == 0 }) else { throw .invalid(field: "end") }
            state = .ended
            return .end
        case .ended: throw .trailingBytes
        }
    }

    private mutating func takeBlock(_ bytes: [UInt8]) throws(FormatError) -> Event {
        if bytes.allSatisfy({ $0 == 0 }) {
            // The root comes first, so an archive has at least one entry.
            if isFirst { throw .invalid(field: "first entry") }
            state = .secondZeros
            return .nothing
        }
        let block = try ArchiveBlock(bytes)
        guard block.kind == .records else { return try begin(block, PaxRecords()) }
        guard (1...Int64(ArchiveLimits.recordsByteCountMax)).contains(block.size) else {
            throw .invalid(field: "size of the records")
        }
        state = .records(count: Int(block.size))
        return .nothing
    }

    // MARK: Entries

    private mutating func begin(_ block: ArchiveBlock, _ records: PaxRecords) throws(FormatError) -> Event {
        let isDirectory = block.kind == .directory
        let path = try Self.path(records.path ?? block.name, isDirectory: isDirectory)
        var modified = try Self.nanoseconds(block.modified)
        if let time = records.modified { modified = time }
        let target = records.target ?? block.target
        let size = try Self.size(block, records)
        left = size
        padding = ArchiveLimits.padding(after: size)
        var entry = ArchiveEntry(
            path: path, kind: .directory, permissions: block.permissions, modified: modified,
            attributes: records.attributes)
        guard path.isEmpty == isFirst, !isFirst || isDirectory else { throw .invalid(field: "first entry") }
        isFirst = false
        switch block.kind {
        case .directory: break
        case .file:
            if let whole = records.sparseSize {
                map = SparseMap(size: whole)
                state = .map(entry)
                return .nothing
            }
            return begin(entry, [0..<size].filter { !$0.isEmpty }, size: size)
        case .link: entry.kind = .link(to: try Self.path(target, isDirectory: false))
        case .symbolicLink:
            guard (1...ArchiveLimits.targetByteCountMax).contains(target.count), !target.contains(0) else {
                throw .invalid(field: "target of a symbolic link")
            }
            entry.kind = .symbolicLink(target)
        case .fifo: entry.kind = .fifo
        case .characterDevice: entry.kind = .characterDevice(block.device)
        case .blockDevice: entry.kind = .blockDevice(block.device)
        case .records: throw .duplicate(field: "records")
        }
        state = .block
        return .entry(entry)
    }

    private mutating func begin(sparse entry: ArchiveEntry) throws(FormatError) -> Event {
        let sum = map.ranges.reduce(0) { $0 + ($1.upperBound - $1.lowerBound) }
        guard sum == left else { throw .invalid(field: "size") }
        return begin(entry, map.ranges, size: map.size)
    }

    /// Begins the content of a file.
    private mutating func begin(
        _ entry: ArchiveEntry, _ data: [Range<Int64>], size: Int64
    ) -> Event {
        var entry = entry
        entry.kind = .file(size: size, data: data)
        ranges = data.reversed()
        state = ranges.isEmpty ? .block : .content
        return .entry(entry)
    }

    private static func size(_ block: ArchiveBlock, _ records: PaxRecords) throws(FormatError) -> Int64 {
        if let size = records.size {
            // Where the block has room for the size, both say the same.
            guard block.size == size || block.size == 0 && size > ArchiveBlock.sizeMax else {
                throw .invalid(field: "size")
            }
        }
        let size = records.size ?? block.size
        guard block.kind == .file || size == 0 && records.sparseSize == nil else {
            throw .invalid(field: "size")
        }
        let hasTarget = block.kind == .link || block.kind == .symbolicLink
        guard hasTarget || records.target == nil else { throw .invalid(field: "linkpath") }
        return size
    }

    private static func nanoseconds(_ seconds: Int64) throws(FormatError) -> Int64 {
        let (product, overflows) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        if overflows { throw .invalid(field: "time") }
        return product
    }

    /// The names of a path, which begins with “./”.
    private static func path(_ text: [UInt8], isDirectory: Bool) throws(FormatError) -> [[UInt8]] {
        guard text.count <= ArchiveLimits.pathByteCountMax, text.starts(with: [0x2E, 0x2F]) else {
            throw .invalid(field: "path")
        }
        var rest = text.dropFirst(2)
        if rest.isEmpty, isDirectory { return [] }
        if isDirectory {
            guard rest.popLast() == 0x2F else { throw .invalid(field: "path") }
        }
        let names = rest.split(separator: 0x2F, omittingEmptySubsequences: false).map { Array($0) }
        for name in names {
            guard (1...EntryName.byteCountMax).contains(name.count), name != [0x2E], name != [0x2E, 0x2E],
                !name.contains(0)
            else { throw .invalid(field: "path") }
        }
        return names
    }

    // MARK: Content

    /// The beginning of a range that ends with it, or where a piece ends.
    private static func piece(_ range: Range<Int64>) -> Range<Int64> {
        let count = Int64(ArchiveLimits.pieceByteCount)
        return range.lowerBound..<min(range.upperBound, (range.lowerBound / count + 1) * count)
    }

    private mutating func takeContent() -> Event {
        guard let range = ranges.popLast() else { return .nothing }
        let piece = Self.piece(range)
        if piece.upperBound < range.upperBound { ranges.append(piece.upperBound..<range.upperBound) }
        if ranges.isEmpty { state = padding > 0 ? .padding(padding) : .block }
        return .data(piece)
    }
}
