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
    /// The number of bytes that a reader reads in order, after a seek, before whole extents are fetched for it;
    /// and how far from its last read it may continue until then.
    private static let seekByteCountMax: Int64 = 256 << 10

    private struct Reader {
        let item: Int64
        /// Where it began to read in order.
        let start: Int64
        /// The end of its furthest read.
        var next: Int64
        /// The end of the range that was fetched ahead.
        var fetched: Int64
        var window: Int64

        /// Whether it may be about to read elsewhere: it has read little in order, and not from the beginning of
        /// the file.
        var isSeeking: Bool { window == 0 && start > 0 && next - start <= RemoteReaders.seekByteCountMax }
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
    /// - Returns: The ranges to fetch ahead now, in parts, and whether the read is away from others.
    mutating func note(
        _ item: Int64, _ range: Range<Int64>, isMissing: Bool
    ) -> (ahead: [Range<Int64>], isSeek: Bool) {
        guard
            let index = readers.firstIndex(where: {
                $0.item == item
                    && abs(range.lowerBound - $0.next) <= ($0.isSeeking ? Self.seekByteCountMax : Self.reach)
            })
        else {
            guard isMissing else { return ([], true) }
            // A program that seeks needs less ahead of where it was.
            for index in readers.indices where readers[index].item == item { readers[index].window /= 2 }
            if readers.count == Self.readersMax { readers.removeFirst() }
            let reader = Reader(
                item: item, start: range.lowerBound, next: range.upperBound, fetched: range.upperBound,
                window: 0)
            readers.append(reader)
            return ([], reader.isSeeking)
        }
        var reader = readers.remove(at: index)
        defer { readers.append(reader) }
        let goesOn = range.upperBound > reader.next
        reader.next = max(reader.next, range.upperBound)
        // Fetch more once half of the window is left, to cover the time that the next part takes.
        guard goesOn, !reader.isSeeking, reader.fetched - reader.next <= reader.window / 2 else {
            return ([], reader.isSeeking)
        }
        reader.window = min(max(Self.windowMin, reader.window * 2), windowMax)
        let start = max(reader.fetched, reader.next)
        let end = reader.next.addingReportingOverflow(reader.window).partialValue
        guard start < end else { return ([], false) }
        reader.fetched = end
        let ahead = stride(from: start, to: end, by: Int64.Stride(Self.partByteCount)).map {
            $0..<min($0 + Self.partByteCount, end)
        }
        return (ahead, false)
    }
}
