/// The sequential readers of contents that are on a remote, and how far ahead of each to fetch.
struct RemoteReaders {
    /// How far to fetch ahead when a reader continues for the first time, in bytes.
    ///
    /// Doubled each time after that, up to `windowMax`.
    private static let windowMin: Int64 = 1 << 20
    /// The number of bytes for one thread.
    static let partByteCount: Int64 = 4 << 20
    /// How far from its last read a reader may continue, as requests overtake each other.
    private static let reach: Int64 = 1 << 20
    private static let readersMax = 8

    private struct Reader {
        let item: Int64
        /// The end of its furthest read.
        var next: Int64
        /// The end of the range that was fetched ahead.
        var fetched: Int64
        var window: Int64
    }

    /// The maximum number of bytes that are fetched ahead of a reader.
    private(set) var windowMax = Self.windowMax(cacheLimit: nil)

    /// The readers, least recently active first.
    private var readers: [Reader] = []

    /// Adapts to the cache limit: content that was fetched ahead must still be there when it is read.
    mutating func bound(by cacheLimit: Int64?) {
        windowMax = Self.windowMax(cacheLimit: cacheLimit)
    }

    private static func windowMax(cacheLimit: Int64?) -> Int64 {
        min(16 << 20, cacheLimit.map { $0 / 4 } ?? .max)
    }

    /// Records a read.
    ///
    /// - Parameter isMissing: Whether some of it is only on the remote.
    /// - Returns: The ranges to fetch ahead now, in parts.
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
        // Fetch more once half of the window is left, to cover the time that the next part takes.
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
