import CofferFacts
import FactHistories

/// A device in memory.
typealias Replica = FactReplica<MemoryFactStore>

extension Replica {
    init(number: UInt64, label: String) {
        self.init(number: number, label: label, store: MemoryFactStore())
    }
}
