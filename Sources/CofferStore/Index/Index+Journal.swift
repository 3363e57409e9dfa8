package import CofferFormat

/// A record of the journal: a change of the tree that has not become facts yet.
package struct JournalRow: Equatable, Sendable {
    /// Its place in the order of the changes; from 1 on, and never reused.
    package var number: Int64
    /// The change, in a format that the caller chooses.
    package var record: [UInt8]

    package init(number: Int64, record: [UInt8]) {
        self.number = number
        self.record = record
    }

    func write(to columns: inout some ColumnSink) {
        columns.integer(number)
        columns.bytes(record)
    }
}

// Changes on this device that have not become facts yet; only for indexes with the tables of facts.
extension Index {
    /// Appends a record to the journal.
    ///
    /// - Returns: The record's number.
    @discardableResult
    package func appendToJournal(_ record: [UInt8]) throws(FileSystemError) -> Int64 {
        let number = if let next = nextJournalNumber { next } else { try readNextJournalNumber() }
        nextJournalNumber = number + 1
        let row = JournalRow(number: number, record: record)
        _ = try put(
            .journal, factStatements[.append], replacing: nil, { row.write(to: &$0) }, { row.write(to: &$0) })
        return number
    }

    private func readNextJournalNumber() throws(FileSystemError) -> Int64 {
        let last = try factStatements[.lastOfJournal].first({ _ in }, { $0.integer(0) }) ?? 0
        let next = max(last, try factState().journal)
        guard (0..<Int64.max - 1).contains(next) else { throw .damaged(place: "the journal in the index") }
        return next + 1
    }

    /// Records of the journal after `number`, in order.
    package func journal(after number: Int64, limit: Int) throws(FileSystemError) -> [JournalRow] {
        var rows: [JournalRow] = []
        try factStatements[.journal].each(
            {
                $0.bind(1, number)
                $0.bind(2, Int64(limit))
            },
            { row throws(FileSystemError) in
                rows.append(JournalRow(number: row.integer(0), record: row.bytes(1)))
                return true
            })
        return rows
    }

    /// Removes the records of the journal up to and including `number`.
    package func removeJournal(upTo number: Int64) throws(FileSystemError) {
        var last: Int64 = .min
        var removed: Int64 = 0
        while true {
            let page = try journal(after: last, limit: 256).filter { $0.number <= number }
            guard let end = page.last else { break }
            for row in page {
                digest.subtract(.journal, hash(.journal) { row.write(to: &$0) }.sum)
            }
            (last, removed) = (end.number, max(removed, end.number))
        }
        guard removed > 0 else { return }
        try factStatements[.removeJournal].run { $0.bind(1, number) }
        changes += 1
        let state = try factState()
        var after = state
        after.journal = max(state.journal, removed)
        if after != state { try putFactState(after, replacing: state) }
    }

    /// Marks an item as having changes that are not in facts yet; has no effect the second time.
    package func noteUnsent(_ item: Int64) throws(FileSystemError) {
        try factStatements[.insertUnsent].run { $0.bind(1, item) }
        guard database.changedRowCount > 0 else { return }
        digest.add(.unsent, hash(.unsent) { $0.integer(item) }.sum)
        changes += 1
    }

    /// Numbers of the items marked by `noteUnsent`, after `item`, ascending.
    package func unsentItems(after item: Int64, limit: Int) throws(FileSystemError) -> [Int64] {
        var items: [Int64] = []
        try factStatements[.unsent].each(
            {
                $0.bind(1, item)
                $0.bind(2, Int64(limit))
            },
            { row throws(FileSystemError) in
                items.append(row.integer(0))
                return true
            })
        return items
    }

    /// Removes the mark of an item, if it has one.
    package func removeUnsent(_ item: Int64) throws(FileSystemError) {
        try factStatements[.removeUnsent].run { $0.bind(1, item) }
        guard database.changedRowCount > 0 else { return }
        digest.subtract(.unsent, hash(.unsent) { $0.integer(item) }.sum)
        changes += 1
    }

    /// Removes the marks of all items up to and including `item`.
    package func removeUnsent(upTo item: Int64) throws(FileSystemError) {
        while true {
            let page = try unsentItems(after: .min, limit: 256).filter { $0 <= item }
            if page.isEmpty { return }
            for number in page { try removeUnsent(number) }
        }
    }
}
