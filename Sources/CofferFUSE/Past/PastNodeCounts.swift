internal import Synchronization

/// How many nodes of each past state the kernel knows.
final class PastNodeCounts: Sendable {
    /// Not a `RankedMutex`: it is taken under other locks of one value, and none is taken under it.
    private let counts = Mutex([UInt16: Int]())

    /// Notes that the kernel has got to know a node, or has forgotten it.
    func note(_ slot: UInt16, isKnown: Bool) {
        counts.withLock { counts in
            let count = (counts[slot] ?? 0) + (isKnown ? 1 : -1)
            counts[slot] = count == 0 ? nil : count
        }
    }

    /// Whether the kernel knows a node of a slot.
    func has(_ slot: UInt16) -> Bool { counts.withLock { $0[slot] != nil } }
}
