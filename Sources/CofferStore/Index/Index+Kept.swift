package import CofferFormat

extension KeptRow.Key {
    fileprivate func write(to columns: inout some ColumnSink) {
        columns.integer(Int64(kind.rawValue))
        columns.bytes(id)
        columns.integer(Int64(bitPattern: number))
    }
}

extension KeptRow {
    fileprivate func write(to columns: inout some ColumnSink) {
        key.write(to: &columns)
        columns.bytes(value)
    }
}

// Rows beside the facts, in indexes that have the tables of facts.
extension Index {
    /// Keeps a row, in the place of what has its key.
    package func keep(_ row: KeptRow) throws(FileSystemError) {
        let old = try kept(row.key).map { old in hash(.kept) { KeptRow(row.key, old).write(to: &$0) } }
        _ = try put(
            .kept, factStatements[.putKept], replacing: old, { row.write(to: &$0) }, { row.write(to: &$0) })
    }

    /// What is kept under a key; nil if nothing is.
    package func kept(_ key: KeptRow.Key) throws(FileSystemError) -> [UInt8]? {
        try factStatements[.kept].first(
            { statement in
                var columns = BoundColumns(statement)
                key.write(to: &columns)
            }, { $0.bytes(0) })
    }

    /// Removes what is kept under a key, if anything is.
    package func removeKept(_ key: KeptRow.Key) throws(FileSystemError) {
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
        _ kinds: ClosedRange<KeptRow.Kind>, after last: KeptRow.Key?, limit: Int
    ) throws(FileSystemError) -> [KeptRow] {
        var rows: [KeptRow] = []
        try factStatements[.keptRows].each(
            { statement in
                var columns = BoundColumns(statement)
                if let last {
                    last.write(to: &columns)
                } else {
                    columns.integer(Int64(kinds.lowerBound.rawValue))
                    columns.bytes([])
                    columns.integer(.min)
                }
                columns.integer(Int64(kinds.upperBound.rawValue))
                columns.integer(Int64(limit))
            },
            { row throws(FileSystemError) in
                guard let kind = UInt8(exactly: row.integer(0)) else {
                    throw .damaged(place: "what sync keeps in the index")
                }
                let key = KeptRow.Key(
                    KeptRow.Kind(rawValue: kind), id: row.bytes(1),
                    number: UInt64(bitPattern: row.integer(2)))
                rows.append(KeptRow(key, row.bytes(3)))
                return true
            })
        return rows
    }

    /// Removes all rows of some kinds.
    package func removeKept(_ kinds: ClosedRange<KeptRow.Kind>) throws(FileSystemError) {
        while true {
            let page = try keptRows(kinds, after: nil, limit: 16)
            if page.isEmpty { return }
            for row in page { try removeKept(row.key) }
        }
    }
}
