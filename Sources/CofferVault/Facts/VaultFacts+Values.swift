package import CofferFacts
package import CofferFormat
internal import CofferStore
internal import CofferSystem

// All facts, in the order of a checkpoint.
extension VaultFacts {
    /// The number of value bytes at which a page ends.
    private static let pageByteCountMax = 2 << 20

    /// The values after a register, in the order of `Register.precedes`.
    ///
    /// - Parameter limit: The approximate number of registers.
    /// - Returns: Each register with its values by ascending stamp; empty if there are no more.
    package func values(
        after register: Register?, limit: Int
    ) throws(FileSystemError) -> [RegisterValues] {
        try vault.exchanging.withLock { _ throws(FileSystemError) in
            defer { close() }
            return try vault.reading { state throws(FileSystemError) in
                guard state.tree.isTracking else { return [] }
                let facts = try state.openFacts()
                var page = ValuesPage(facts, last: register, limit: limit)
                try page.fill()
                return page.values
            }
        }
    }

    /// A page of values that is being built.
    private struct ValuesPage {
        /// The number of items and entries that are looked up at a time.
        private static let identifierCount = 256

        private let facts: IndexFactStore
        private var last: Register?
        private let limit: Int
        private(set) var values: [RegisterValues] = []
        private var byteCount = 0

        init(_ facts: IndexFactStore, last: Register?, limit: Int) {
            self.facts = facts
            self.last = last
            self.limit = limit
        }

        private var isFull: Bool { values.count >= limit || byteCount >= pageByteCountMax }

        mutating func fill() throws(FileSystemError) {
            var after: (high: UInt64, low: UInt64)?
            if let last {
                // The rest of the previous page's last item or entry.
                let (high, low) = last.entity
                try add(ItemID(low: low, high: high))
                try add(EntryID(low: low, high: high))
                after = last.entity
            }
            while !isFull {
                let next = try entities(after: after)
                if next.isEmpty { return }
                for (high, low) in next where !isFull {
                    try add(ItemID(low: low, high: high))
                    try add(EntryID(low: low, high: high))
                    after = (high, low)
                }
            }
        }

        /// The next items and entries that have facts, in their common order.
        private func entities(
            after last: (high: UInt64, low: UInt64)?
        ) throws(FileSystemError) -> [(high: UInt64, low: UInt64)] {
            let count = Self.identifierCount
            let items = try facts.index.factItems(
                after: last.map { ItemID(low: $0.low, high: $0.high) }, limit: count)
            let entries = try facts.index.factEntries(
                after: last.map { EntryID(low: $0.low, high: $0.high) }, limit: count)
            var all =
                items.map { (high: $0.high, low: $0.low) } + entries.map { (high: $0.high, low: $0.low) }
            all.sort { $0 < $1 }
            // If a list continues, ids after its end may be missing here.
            if items.count == count, let end = items.last { all.removeAll { $0 > (end.high, end.low) } }
            if entries.count == count, let end = entries.last { all.removeAll { $0 > (end.high, end.low) } }
            return all
        }

        private mutating func add(_ item: ItemID) throws(FileSystemError) {
            try add(.kind(item))
            try add(.mode(item))
            try add(.modified(item))
            for name in try facts.extendedAttributes(of: item) {
                try add(.extendedAttribute(item, name: name))
            }
            try add(.content(item))
        }

        private mutating func add(_ entry: EntryID) throws(FileSystemError) { try add(.place(entry)) }

        private mutating func add(_ register: Register) throws(FileSystemError) {
            if isFull { return }
            if let last, !last.precedes(register) { return }
            let found = try facts.values(register)
            if found.isEmpty { return }
            values.append(RegisterValues(register: register, values: found))
            last = register
            for value in found { byteCount += value.assertion.byteCount }
        }
    }
}

extension Fact.Assertion {
    /// The approximate number of bytes in memory.
    fileprivate var byteCount: Int {
        switch self {
        case .extendedAttribute(_, let name, let value): 128 + name.count + (value?.count ?? 0)
        case .content(_, let content): 128 + (content?.bytes.count ?? 0)
        case .moved(_, _, let bytes): 128 + bytes.count
        case .kind(_, .symlink(let target)): 128 + target.count
        default: 128
        }
    }
}
