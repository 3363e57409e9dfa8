internal import CofferSystem

/// Counts the kernel's references to each node; a node without references may be released.
///
/// The kernel may know millions of nodes, most of them once, and item numbers are consecutive. So each count
/// is one byte, in chunks of neighbouring nodes.
final class LookupTable: Sendable {
    private static let chunkCount = 1024

    private struct Chunk {
        var counts = [UInt8](repeating: 0, count: chunkCount)
        /// The number of nodes in the chunk that the kernel knows.
        var known = 0
    }

    /// The nodes of past states among them.
    let past = PastNodeCounts()

    private struct State {
        var chunks: [UInt64: Chunk] = [:]
        /// The excess of counts over a byte.
        var more: [UInt64: UInt64] = [:]

        func count(of number: UInt64) -> UInt64 {
            guard let chunk = chunks[number / UInt64(chunkCount)] else { return 0 }
            let count = chunk.counts[Int(number % UInt64(chunkCount))]
            return count < UInt8.max ? UInt64(count) : UInt64(count) + (more[number] ?? 0)
        }

        mutating func set(_ count: UInt64, of number: UInt64, from old: UInt64, _ past: PastNodeCounts) {
            let key = number / UInt64(chunkCount)
            if count > 0 || old > 0 {
                chunks[key, default: Chunk()].counts[Int(number % UInt64(chunkCount))] = UInt8(
                    clamping: count)
            }
            if count > UInt8.max || old > UInt8.max {
                more[number] = count > UInt8.max ? count - UInt64(UInt8.max) : nil
            }
            guard (count == 0) != (old == 0) else { return }
            let node = Node(number: number)
            if node.slot >= Node.firstPastSlot { past.note(node.slot, isKnown: count > 0) }
            chunks[key]?.known += count == 0 ? -1 : 1
            if chunks[key]?.known == 0 { chunks[key] = nil }
        }
    }

    private let state = RankedMutex(State(), rank: .leaf)

    /// Starts with the given counts.
    ///
    /// - Parameter counts: By node number; for tests.
    init(counts: [UInt64: UInt64] = [:]) {
        restore(counts)
    }

    /// The count of each node that the kernel knows, by node number.
    var counts: [UInt64: UInt64] {
        state.withLock { state in
            var counts: [UInt64: UInt64] = [:]
            for (key, chunk) in state.chunks {
                for (index, count) in chunk.counts.enumerated() where count > 0 {
                    let number = key * UInt64(Self.chunkCount) + UInt64(index)
                    counts[number] = state.count(of: number)
                }
            }
            return counts
        }
    }

    /// The nodes that the kernel knows.
    var nodes: [Node] { counts.keys.map { Node(number: $0) } }

    /// Takes over the counts of another process.
    func restore(_ counts: [UInt64: UInt64]) {
        for (number, count) in counts { state.withLock { $0.set(count, of: number, from: 0, past) } }
    }

    func add(_ node: Node) {
        state.withLock { state in
            let count = state.count(of: node.number)
            state.set(count + 1, of: node.number, from: count, past)
        }
    }

    /// - Returns: Whether the kernel no longer knows the node.
    func subtract(_ count: UInt64, from node: Node) -> Bool {
        state.withLock { state in
            let known = state.count(of: node.number)
            let rest = known - min(count, known)
            state.set(rest, of: node.number, from: known, past)
            return rest == 0
        }
    }

    func isKnown(_ node: Node) -> Bool {
        state.withLock { $0.count(of: node.number) > 0 }
    }
}
