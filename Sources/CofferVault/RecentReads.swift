/// Where the latest reads of some items ended, to tell streams from scattered reads.
struct RecentReads {
    /// How far from the end of the last read a stream may go on: requests of a stream overtake each other.
    private static let reach: Int64 = 1 << 20
    private static let slotCount = 64

    private var slots = [(item: Int64, end: Int64)](repeating: (0, 0), count: slotCount)

    /// Notes a read.
    ///
    /// - Returns: Whether it begins far from where the last one ended; a first read at the start does not.
    mutating func note(_ item: Int64, _ range: Range<Int64>) -> Bool {
        let slot = Int(item % Int64(Self.slotCount))
        let last = slots[slot].item == item ? slots[slot].end : 0
        slots[slot] = (item, range.upperBound)
        return abs(range.lowerBound - last) > Self.reach
    }
}
