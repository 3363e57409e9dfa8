internal import CofferSystem

/// How often the kernel was told of each node; a node that it has forgotten may go.
final class LookupTable: Sendable {
    private let counts: Condition<[UInt64: UInt64]>

    init(counts: [UInt64: UInt64] = [:]) {
        self.counts = Condition(counts)
    }

    func add(_ node: Node) {
        counts.withLock { $0[node.number, default: 0] += 1 }
    }

    /// - Returns: Whether the kernel does not know the node any more.
    func subtract(_ count: UInt64, from node: Node) -> Bool {
        counts.withLock { counts in
            guard let known = counts[node.number] else { return true }
            if known <= count {
                counts[node.number] = nil
                return true
            }
            counts[node.number] = known - count
            return false
        }
    }

    func isKnown(_ node: Node) -> Bool {
        counts.withLock { $0[node.number] != nil }
    }
}
