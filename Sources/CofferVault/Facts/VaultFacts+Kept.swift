internal import CofferFacts
package import CofferFormat
internal import CofferStore
internal import CofferSystem

// What sync asks of a vault beside commits.
extension VaultFacts {
    /// What the owners of the devices that have changed the vault call them, by their logs.
    package func labels() throws(FileSystemError) -> [LogID: String] {
        try vault.reading { state throws(FileSystemError) in
            guard state.tree.isTracking else { return [:] }
            var labels: [LogID: String] = [:]
            for row in try state.index.logs() { labels[row.id] = row.label }
            return labels
        }
    }

    /// Rows that are read at a time.
    private static let pageCount = 64

    /// All that sync keeps.
    package func keptRows() throws(FileSystemError) -> [KeptRow] {
        try vault.exchanging.withLock { _ throws(FileSystemError) in
            var rows: [KeptRow] = []
            while true {
                let page = try vault.reading { state throws(FileSystemError) in
                    guard state.tree.isTracking else { return [KeptRow]() }
                    return try state.index.keptRows(
                        KeptRow.Kind.sync, after: rows.last?.key, limit: Self.pageCount)
                }
                rows += page
                if page.count < Self.pageCount { return rows }
            }
        }
    }

    /// What sync keeps under a key; nil if that is nothing.
    package func keptRow(_ key: KeptRow.Key) throws(FileSystemError) -> [UInt8]? {
        try vault.exchanging.withLock { _ throws(FileSystemError) in
            try vault.reading { state throws(FileSystemError) in
                guard state.tree.isTracking else { return nil }
                return try state.index.kept(key)
            }
        }
    }

    /// Changes rows; on disk when this returns.
    package func keep(_ changes: [KeptChange]) throws(FileSystemError) {
        try vault.exchanging.withLock { _ throws(FileSystemError) in
            try vault.changing { state throws(FileSystemError) in
                try state.space.ensure(for: changes.reduce(4096) { $0 + ($1.value?.count ?? 0) })
                try state.tree.keep(changes)
            }
            try vault.commitIndex()
        }
    }

    /// Which commits were applied.
    package func versions() throws(FileSystemError) -> VersionVector {
        try look { facts in facts.versions() } ?? VersionVector()
    }

    /// The hash of what facts show.
    package func stateHash() throws(FileSystemError) -> StateHash {
        try look { facts in facts.stateHash() } ?? StateHash.zero
    }

    /// What the facts say of where items with a name come from, by their numbers; nothing if there are no facts.
    func origins(of items: [Int64]) throws(FileSystemError) -> [Int64: ItemOrigin] {
        var origins: [Int64: ItemOrigin] = [:]
        for start in stride(from: 0, to: items.count, by: Self.pageCount) {
            let page = items[start..<min(start + Self.pageCount, items.count)]
            try vault.exchanging.withLock { _ throws(FileSystemError) in
                defer { close() }
                try vault.reading { state throws(FileSystemError) in
                    guard state.tree.isTracking else { return }
                    let facts = try state.openFacts()
                    for item in page {
                        guard let row = try state.tree.row(item), row.links > 0 else { continue }
                        origins[item] = try ItemOrigin(of: row, facts)
                    }
                }
            }
        }
        return origins
    }

    /// Drops the facts in memory.
    func close() {
        vault.state.withLock { $0.facts = nil }
    }

    private func look<Value>(_ read: (IndexFactStore) -> Value) throws(FileSystemError) -> Value? {
        try vault.exchanging.withLock { _ throws(FileSystemError) in
            defer { close() }
            return try vault.reading { state throws(FileSystemError) in
                state.tree.isTracking ? read(try state.openFacts()) : nil
            }
        }
    }
}

extension ItemTree {
    /// Changes rows in the open transaction.
    func keep(_ changes: [KeptChange]) throws(FileSystemError) {
        for change in changes {
            if let value = change.value {
                try index.keep(KeptRow(change.key, value))
            } else {
                try index.removeKept(change.key)
            }
        }
    }
}

/// Where an item comes from, by the facts.
struct ItemOrigin {
    /// Whether it is shown by rule, as another version of a file.
    let isCopy: Bool
    /// Whether its content was written for another item, as that of a copy that somebody has changed since.
    let wasCopy: Bool
    /// The logs of the devices that made it; several for directories that are shown as one.
    let creators: Set<LogID>
    /// The log of the device that wrote its content; nil if the content is in no commit.
    let writer: LogID?

    fileprivate init(of row: ItemRow, _ facts: IndexFactStore) throws(FileSystemError) {
        var isCopy = false
        for entry in try facts.entries(of: row.id) where try facts.entry(entry)?.copied != nil {
            isCopy = true
        }
        self.isCopy = isCopy
        wasCopy = !isCopy && row.origin != row.id
        var creators: Set<LogID> = []
        for item in [row.id] + (try facts.united(with: row.id)) {
            if let stamp = try facts.item(item)?.kindStamp { creators.insert(stamp.dot.log) }
        }
        self.creators = creators
        let content = row.unsent.contains(.content) ? nil : try facts.values(.content(row.id)).contents.last
        // What seals a content anew leaves the time of its last change alone.
        let time = try facts.values(.modified(row.id)).last
        writer =
            content.map { content in time.map { min($0.stamp, content.stamp) } ?? content.stamp }?.dot.log
    }
}
