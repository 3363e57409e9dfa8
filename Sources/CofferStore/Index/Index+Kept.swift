/// Something that sync must find again, kept beside the facts (docs/format.md, table `kept`).
package struct KeptRow: Equatable, Sendable {
    /// By what a row is found.
    package struct Key: Hashable, Sendable {
        /// What it is about; from `firstOwnKind` on it is the vault's own matter.
        package var kind: UInt8
        /// Whose it is.
        package var id: [UInt8]
        /// Which of several.
        package var number: UInt64

        package init(kind: UInt8, id: [UInt8], number: UInt64) {
            self.kind = kind
            self.id = id
            self.number = number
        }

        fileprivate func write(to columns: inout some ColumnSink) {
            columns.integer(Int64(kind))
            columns.bytes(id)
            columns.integer(Int64(bitPattern: number))
        }
    }

    /// The first kind that is not sync's.
    package static let firstOwnKind: UInt8 = 0x80

    /// By what it is found.
    package var key: Key
    /// What is kept, as whoever puts it here likes it.
    package var value: [UInt8]

    package init(_ key: Key, _ value: [UInt8]) {
        self.key = key
        self.value = value
    }

    func write(to columns: inout some ColumnSink) {
        key.write(to: &columns)
        columns.bytes(value)
    }
}

// What sync keeps; in indexes that have the tables of facts.
extension Index {
    /// Keeps a row, in the place of what has its key.
    package func keep(_ row: KeptRow) throws(StoreError) {
        let old = try kept(row.key).map { old in hash(.kept) { KeptRow(row.key, old).write(to: &$0) } }
        _ = try put(
            .kept, factStatements[.putKept], replacing: old, { row.write(to: &$0) }, { row.write(to: &$0) })
    }

    /// What is kept under a key; nil if nothing is.
    package func kept(_ key: KeptRow.Key) throws(StoreError) -> [UInt8]? {
        try factStatements[.kept].first(
            { statement in
                var columns = BoundColumns(statement)
                key.write(to: &columns)
            }, { $0.bytes(0) })
    }

    /// Removes what is kept under a key, if anything is.
    package func removeKept(_ key: KeptRow.Key) throws(StoreError) {
        guard let old = try kept(key) else { return }
        try factStatements[.removeKept].run { statement in
            var columns = BoundColumns(statement)
            key.write(to: &columns)
        }
        digest.subtract(.kept, hash(.kept) { KeptRow(key, old).write(to: &$0) }.sum)
        changes += 1
    }

    /// Up to `limit` rows of some kinds, in the order of their keys, from the first behind `last` on.
    package func keptRows(
        _ kinds: ClosedRange<UInt8>, after last: KeptRow.Key?, limit: Int
    ) throws(StoreError) -> [KeptRow] {
        var rows: [KeptRow] = []
        try factStatements[.keptRows].each(
            { statement in
                var columns = BoundColumns(statement)
                if let last {
                    last.write(to: &columns)
                } else {
                    columns.integer(Int64(kinds.lowerBound))
                    columns.bytes([])
                    columns.integer(.min)
                }
                columns.integer(Int64(kinds.upperBound))
                columns.integer(Int64(limit))
            },
            { row throws(StoreError) in
                guard let kind = UInt8(exactly: row.integer(0)) else {
                    throw .damaged(place: "what sync keeps in the index")
                }
                let key = KeptRow.Key(
                    kind: kind, id: row.bytes(1), number: UInt64(bitPattern: row.integer(2)))
                rows.append(KeptRow(key, row.bytes(3)))
                return true
            })
        return rows
    }

    /// Removes all rows of some kinds.
    package func removeKept(_ kinds: ClosedRange<UInt8>) throws(StoreError) {
        while true {
            let page = try keptRows(kinds, after: nil, limit: 16)
            if page.isEmpty { return }
            for row in page { try removeKept(row.key) }
        }
    }
}
