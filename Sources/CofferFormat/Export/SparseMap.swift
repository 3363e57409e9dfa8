/// The list of the ranges of a file with holes: the form 1.0 of GNU tar.
///
/// Decimal numbers, each followed by a newline: how many ranges there are, and the offset and the length of each.
/// Zero bytes follow up to the end of the block. The last range ends where the file does; it is empty if the file ends
/// with a hole.
struct SparseMap: Sendable {
    /// The ranges that have data.
    private(set) var ranges: [Range<Int64>] = []
    let size: Int64
    private var number: [UInt8] = []
    /// The number of ranges; nil before it is read.
    private var count: Int64?
    private var offset: Int64?
    private var end: Int64 = 0
    private var read: Int64 = 0

    // MARK: Writing

    static func bytes(_ ranges: [Range<Int64>], size: Int64) -> [UInt8] {
        var all = ranges
        if ranges.last?.upperBound != size { all.append(size..<size) }
        var bytes = Array("\(all.count)\n".utf8)
        for range in all { bytes += "\(range.lowerBound)\n\(range.upperBound - range.lowerBound)\n".utf8 }
        let padding = ArchiveLimits.padding(after: Int64(bytes.count))
        return bytes + [UInt8](repeating: 0, count: padding)
    }

    // MARK: Reading

    /// - Parameter size: The size of the file.
    init(size: Int64) {
        self.size = size
    }

    /// Takes the next block.
    ///
    /// - Returns: Whether it is the last one.
    mutating func take(_ block: [UInt8]) throws(FormatError) -> Bool {
        for (place, byte) in block.enumerated() {
            if byte == 0x0A {
                let value = try PaxRecords.number(number, "list of ranges")
                number = []
                guard try take(value) else { continue }
                guard block[(place + 1)...].allSatisfy({ $0 == 0 }) else {
                    throw .invalid(field: "list of ranges")
                }
                return true
            }
            guard number.count < 19 else { throw .invalid(field: "list of ranges") }
            number.append(byte)
        }
        return false
    }

    /// - Returns: Whether it was the last number.
    private mutating func take(_ value: Int64) throws(FormatError) -> Bool {
        guard let count else {
            guard (1...Int64(ArchiveLimits.rangeCountMax) + 1).contains(value) else {
                throw .invalid(field: "list of ranges")
            }
            self.count = value
            return false
        }
        guard let offset else {
            guard value >= end, value <= size else { throw .invalid(field: "list of ranges") }
            self.offset = value
            return false
        }
        guard value <= size - offset, value > 0 || offset == size,
            offset + value == size || ArchiveLimits.padding(after: value) == 0
        else { throw .invalid(field: "list of ranges") }
        if value > 0 { ranges.append(offset..<offset + value) }
        end = offset + value
        self.offset = nil
        read += 1
        guard read == count else { return false }
        guard end == size else { throw .invalid(field: "list of ranges") }
        return true
    }
}
