internal import CofferSystem
internal import Synchronization

/// What programs have written into the kernel's cache, and the vaults could not take.
///
/// The kernel reports such a failure once, to whoever asks first, takes the pages for written, and never writes them
/// again. As long as it keeps them, programs read them; they are the only copy. So the pages must not be dropped until
/// the range has been overwritten or cut off, or was stored from that copy. What the kernel has given up is lost.
final class FailedWrites: Sendable {
    private struct State {
        var ranges: [Node: RangeSet<Int64>] = [:]
        var lost: Set<Node> = []
    }

    private let state = RankedMutex(State(), rank: .leaf)
    /// Saves a lock for each write that succeeds.
    private let hasNone = Atomic(true)
    private let isNew = Atomic(false)
    private let additions = Atomic(0)

    /// Whether everything is stored.
    var isEmpty: Bool { hasNone.load(ordering: .acquiring) }

    /// The nodes whose ranges are not stored.
    var nodes: [Node] { isEmpty ? [] : state.withLock { Array($0.ranges.keys) } }

    /// The number of bytes of a node that are not stored.
    func byteCount(of node: Node) -> Int64 {
        if isEmpty { return 0 }
        return state.withLock { $0.ranges[node]?.ranges.reduce(0) { $0 + Int64($1.count) } ?? 0 }
    }

    /// The ranges of each node, in pieces of at most so many bytes.
    func pieces(of count: Int64) -> [(node: Node, range: Range<Int64>)] {
        state.withLock { $0.ranges }.flatMap { node, ranges in
            ranges.ranges.flatMap { range in
                stride(from: range.lowerBound, to: range.upperBound, by: Int64.Stride(count)).map {
                    (node, $0..<min($0 + count, range.upperBound))
                }
            }
        }
    }

    /// Notes that a range could not be stored; for use before the kernel gets the answer.
    func add(_ range: Range<Int64>, of node: Node) {
        state.withLock { state in
            state.ranges[node, default: RangeSet()].insert(contentsOf: range)
            isNew.store(true, ordering: .relaxed)
            additions.add(1, ordering: .relaxed)
            hasNone.store(false, ordering: .releasing)
        }
    }

    /// Notes that a write was refused of which nothing is missing; the kernel reports that, too.
    func noteRefusal() {
        isNew.store(true, ordering: .relaxed)
        additions.add(1, ordering: .relaxed)
    }

    /// How many writes have failed so far.
    var count: Int { additions.load(ordering: .relaxed) }

    /// Whether a range was added since this was last asked for: the kernel reports an error, too, sooner or later.
    func takeNews() -> Bool { isNew.exchange(false, ordering: .relaxed) }

    /// Notes that a range has been stored, or is not there any more.
    func remove(_ range: Range<Int64>, of node: Node) {
        if isEmpty { return }
        state.withLock { state in
            state.ranges[node]?.remove(contentsOf: range)
            if state.ranges[node]?.isEmpty == true { state.ranges[node] = nil }
            if state.ranges.isEmpty { hasNone.store(true, ordering: .releasing) }
        }
    }

    /// Notes that a node, or the kernel's copy of it, is gone.
    func removeAll(of node: Node) { remove(0..<Int64.max, of: node) }

    // MARK: Losses

    /// Notes that nobody has a range any more, as far as it is not stored.
    func lose(_ range: Range<Int64>, of node: Node) {
        if isEmpty { return }
        state.withLock { state in
            guard let ranges = state.ranges[node], !ranges.isDisjoint(RangeSet(range)) else { return }
            state.lost.insert(node)
        }
        remove(range, of: node)
    }

    /// The nodes of which something was lost since this was last asked for.
    func takeLost() -> [Node] {
        state.withLock { state in
            defer { state.lost = [] }
            return Array(state.lost)
        }
    }
}
