internal import CofferSystem
internal import Synchronization

/// What programs have written into the kernel's cache, and the vaults could not take.
///
/// The kernel reports such a failure once, to whoever asks first, takes the pages for written, and never writes them
/// again. As long as it keeps them, programs read them; they are the only copy. So the pages must not be dropped until
/// the range has been overwritten or cut off, or was stored from that copy.
final class FailedWrites: Sendable {
    private let ranges = RankedMutex([Node: RangeSet<Int64>](), rank: .leaf)
    /// Saves a lock for each write that succeeds.
    private let isEmpty = Atomic(true)
    private let isNew = Atomic(false)

    /// The nodes whose ranges are not stored.
    var nodes: [Node] { isEmpty.load(ordering: .acquiring) ? [] : ranges.withLock { Array($0.keys) } }

    /// The ranges of each node, in pieces of at most so many bytes.
    func pieces(of count: Int64) -> [(node: Node, range: Range<Int64>)] {
        ranges.withLock { $0 }.flatMap { node, ranges in
            ranges.ranges.flatMap { range in
                stride(from: range.lowerBound, to: range.upperBound, by: Int64.Stride(count)).map {
                    (node, $0..<min($0 + count, range.upperBound))
                }
            }
        }
    }

    /// Notes that a range could not be stored; for use before the kernel gets the answer.
    func add(_ range: Range<Int64>, of node: Node) {
        ranges.withLock { ranges in
            ranges[node, default: RangeSet()].insert(contentsOf: range)
            isNew.store(true, ordering: .relaxed)
            isEmpty.store(false, ordering: .releasing)
        }
    }

    /// Whether a range was added since this was last asked for: the kernel reports an error, too, sooner or later.
    func takeNews() -> Bool { isNew.exchange(false, ordering: .relaxed) }

    /// Notes that a range has been stored, or is not there any more.
    func remove(_ range: Range<Int64>, of node: Node) {
        if isEmpty.load(ordering: .acquiring) { return }
        ranges.withLock { ranges in
            ranges[node]?.remove(contentsOf: range)
            if ranges[node]?.isEmpty == true { ranges[node] = nil }
            if ranges.isEmpty { isEmpty.store(true, ordering: .releasing) }
        }
    }

    /// Notes that a node, or the kernel's copy of it, is gone.
    func removeAll(of node: Node) { remove(0..<Int64.max, of: node) }
}
