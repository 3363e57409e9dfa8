/// The ends of the latest reads, to tell sequential reads from scattered ones.
struct RecentReads {
    /// How far from the end of the last read a stream may continue, as its requests overtake each other.
    private static let reach: Int64 = 1 << 20
    private static let slotCount = 16
    /// The largest read that counts as scattered if it is away from the last one, in bytes.
    static let scatteredByteCountMax = 64 << 10
    /// The number of consecutive bytes after which a reader counts as sequential.
    private static let runByteCountMin: Int64 = 128 << 10

    private struct Slot {
        var item: Int64 = 0
        var end: Int64 = 0
        /// The number of consecutive bytes read up to `end`.
        var run: Int64 = 0
    }

    private var slots = [Slot](repeating: Slot(), count: slotCount)
    private var oldest = 0

    /// Records a read and returns its pattern; tells several readers of one item apart.
    mutating func note(_ item: Int64, _ range: Range<Int64>) -> ReadPattern {
        let isSmall = range.count <= Self.scatteredByteCountMax
        for index in slots.indices where slots[index].item == item {
            let distance = range.lowerBound - slots[index].end
            guard abs(distance) <= Self.reach else { continue }
            let run = slots[index].run
            slots[index].end = range.upperBound
            slots[index].run = distance == 0 || !isSmall ? run + Int64(range.count) : 0
            if distance != 0, isSmall { return .scattered }
            return run >= Self.runByteCountMin ? .sequential : .plain
        }
        slots[oldest] = Slot(item: item, end: range.upperBound, run: Int64(range.count))
        oldest = (oldest + 1) % slots.count
        return range.lowerBound > 0 && isSmall ? .scattered : .plain
    }
}
