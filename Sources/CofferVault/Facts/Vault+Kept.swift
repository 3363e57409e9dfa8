package import CofferFacts
package import CofferFormat
package import CofferStore
internal import CofferSystem

// What sync asks of a vault beside commits.
extension Vault {
    /// Rows that are read at a time.
    private static let pageCount = 64
    /// The kinds of rows that are sync's.
    private static let kinds = 0...KeptRow.firstOwnKind - 1

    /// All that sync keeps.
    package func keptRows() throws(FileSystemError) -> [KeptRow] {
        try exchanging.withLock { _ throws(FileSystemError) in
            var rows: [KeptRow] = []
            while true {
                let page = try reading { state throws(FileSystemError) in
                    guard state.isTracking else { return [KeptRow]() }
                    return try storing { () throws(StoreError) in
                        try state.index.keptRows(Self.kinds, after: rows.last?.key, limit: Self.pageCount)
                    }
                }
                rows += page
                if page.count < Self.pageCount { return rows }
            }
        }
    }

    /// Keeps rows, and removes those of some keys; on disk when this returns.
    package func keep(
        _ rows: [KeptRow], removing keys: [KeptRow.Key] = []
    ) throws(FileSystemError) {
        try exchanging.withLock { _ throws(FileSystemError) in
            try changing { state throws(FileSystemError) in
                try ensureSpace(for: rows.reduce(4096) { $0 + $1.value.count }, state)
                try state.keep(rows, removing: keys)
            }
            try commitIndex()
        }
    }

    /// Which commits were applied.
    package func versions() throws(FileSystemError) -> VersionVector {
        try facts { facts in facts.versions() } ?? VersionVector()
    }

    /// The hash of what facts show.
    package func stateHash() throws(FileSystemError) -> StateHash {
        try facts { facts in facts.stateHash() } ?? StateHash()
    }

    private func facts<Value>(_ read: (IndexFactStore) -> Value) throws(FileSystemError) -> Value? {
        try exchanging.withLock { _ throws(FileSystemError) in
            defer { closeFacts() }
            return try reading { state throws(FileSystemError) in
                state.isTracking ? read(try state.openFacts()) : nil
            }
        }
    }
}

extension VaultState {
    /// Keeps rows, and removes others, in the open transaction.
    func keep(_ rows: [KeptRow], removing keys: [KeptRow.Key] = []) throws(FileSystemError) {
        try storing { () throws(StoreError) in
            for row in rows { try index.keep(row) }
            for key in keys { try index.removeKept(key) }
        }
    }
}
