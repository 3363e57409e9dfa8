package import CofferFormat

/// How far a log was applied (docs/format.md, table `logs`).
package struct LogRow: Equatable, Sendable {
    /// The log.
    package var id: LogID
    /// The last commit of it that was applied; 0 if none was.
    package var sequence: UInt64
    /// What its owner calls the device, as UTF-8; nil if nobody said.
    package var label: String?

    package init(id: LogID, sequence: UInt64 = 0, label: String? = nil) {
        self.id = id
        self.sequence = sequence
        self.label = label
    }

    func write(to columns: inout some ColumnSink) {
        columns.identifier(id)
        columns.integer(Int64(bitPattern: sequence))
        columns.bytes(label.map { Array($0.utf8) })
    }
}

/// What there is once for all facts (docs/format.md, table `fact_state`).
package struct FactStateRow: Equatable, Sendable {
    /// The highest clock of all commits that were applied.
    package var clock: UInt64 = 0
    /// The hash of what is shown.
    package var hash = StateHash.zero
    /// The highest number of the journal's records that were removed.
    package internal(set) var journal: Int64 = 0

    func write(to columns: inout some ColumnSink) {
        columns.integer(1)
        columns.integer(Int64(bitPattern: clock))
        columns.bytes(hash.bytes)
        columns.integer(journal)
    }
}

extension Index {
    /// All logs.
    package func logs() throws(FileSystemError) -> [LogRow] {
        var rows: [LogRow] = []
        try factStatements[.logs].each({ _ in }) { row throws(FileSystemError) in
            guard let id = row.identifier(0, LogID.self) else { throw .damaged(place: "a log in the index") }
            let label = row.isNull(2) ? nil : row.text(2)
            rows.append(LogRow(id: id, sequence: UInt64(bitPattern: row.integer(1)), label: label))
            return true
        }
        return rows
    }

    /// Stores a log, replacing `old`.
    package func put(_ row: LogRow, replacing old: LogRow?) throws(FileSystemError) {
        let before = old.map { old in hash(.logs) { old.write(to: &$0) } }
        _ = try put(
            .logs, factStatements[.putLog], replacing: before, { row.write(to: &$0) }, { row.write(to: &$0) })
    }

    /// What there is once for all facts.
    package func factState() throws(FileSystemError) -> FactStateRow {
        let row = try factStatements[.state].first({ $0.bind(1, 1) }) { row in
            StateHash(bytes: row.bytes(2)).map {
                FactStateRow(clock: UInt64(bitPattern: row.integer(1)), hash: $0, journal: row.integer(3))
            }
        }
        guard let row = row ?? nil, row.journal >= 0 else {
            throw .damaged(place: "the state of the facts in the index")
        }
        return row
    }

    /// Stores what there is once for all facts, but for the journal, which keeps its number by itself.
    package func put(clock: UInt64, stateHash hash: StateHash) throws(FileSystemError) {
        let old = try factState()
        try putFactState(FactStateRow(clock: clock, hash: hash, journal: old.journal), replacing: old)
    }

    /// Removes all facts, and all that follows from them; the journal, and what sync keeps, stay.
    package func removeFacts() throws(FileSystemError) {
        try factStatements[.removeItems].run { _ in }
        try factStatements[.removeEntries].run { _ in }
        try factStatements[.removeAttributes].run { _ in }
        try factStatements[.removeLogs].run { _ in }
        for table in [RowDigest.Table.factItems, .factEntries, .factAttributes, .logs] {
            digest.forget(table)
        }
        changes += 1
        try put(clock: 0, stateHash: FactStateRow().hash)
    }

    func putFactState(_ row: FactStateRow, replacing old: FactStateRow?) throws(FileSystemError) {
        let before = old.map { old in hash(.factState) { old.write(to: &$0) } }
        _ = try put(
            .factState, factStatements[.putState], replacing: before, { row.write(to: &$0) },
            { row.write(to: &$0) })
    }
}
