/// Who reads contents in order that are on a remote, and how far ahead of each is fetched.
struct RemoteReaders {
    /// Bytes that are fetched ahead when a reader goes on for the first time; twice as many each time after
    /// that, up to `windowMax`.
    private static let windowMin: Int64 = 1 << 20
    /// Bytes for one thread.
    static let partByteCount: Int64 = 4 << 20
    /// How far from its last read a reader may go on: requests overtake each other.
    private static let reach: Int64 = 1 << 20
    private static let readersMax = 8

    private struct Reader {
        let item: Int64
        /// Where its furthest read ended.
        var next: Int64
        /// Up to where was fetched ahead.
        var fetched: Int64
        var window: Int64
    }

    /// Bytes that are fetched ahead of a reader at most.
    private(set) var windowMax = Self.windowMax(cacheLimit: nil)

    /// The one that read last comes last.
    private var readers: [Reader] = []

    /// Takes heed of how much may be kept: what was fetched ahead must still be there when it is read.
    mutating func bound(by cacheLimit: Int64?) {
        windowMax = Self.windowMax(cacheLimit: cacheLimit)
    }

    private static func windowMax(cacheLimit: Int64?) -> Int64 {
        min(16 << 20, cacheLimit.map { $0 / 4 } ?? .max)
    }

    /// Notes a read.
    ///
    /// - Parameter isMissing: Whether some of it is on the remote only.
    /// - Returns: What is to be fetched ahead now, in parts.
    mutating func note(_ item: Int64, _ range: Range<Int64>, isMissing: Bool) -> [Range<Int64>] {
        guard
            let index = readers.firstIndex(where: {
                $0.item == item && abs(range.lowerBound - $0.next) <= Self.reach
            })
        else {
            guard isMissing else { return [] }
            if readers.count == Self.readersMax { readers.removeFirst() }
            readers.append(Reader(item: item, next: range.upperBound, fetched: range.upperBound, window: 0))
            return []
        }
        var reader = readers.remove(at: index)
        defer { readers.append(reader) }
        let goesOn = range.upperBound > reader.next
        reader.next = max(reader.next, range.upperBound)
        // Half of what is ahead is left for the time that the next part takes.
        guard goesOn, reader.fetched - reader.next <= reader.window / 2 else { return [] }
        reader.window = min(max(Self.windowMin, reader.window * 2), windowMax)
        let start = max(reader.fetched, reader.next)
        let end = reader.next.addingReportingOverflow(reader.window).partialValue
        guard start < end else { return [] }
        reader.fetched = end
        return stride(from: start, to: end, by: Int64.Stride(Self.partByteCount)).map {
            $0..<min($0 + Self.partByteCount, end)
        }
    }
}
