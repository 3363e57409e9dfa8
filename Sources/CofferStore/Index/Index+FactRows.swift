package import CofferFormat

/// A row of facts as the index has it.
package struct StoredFacts<Row> {
    /// The row.
    package let row: Row
    /// Its hash, for the sum over all rows.
    package let hash: RowHash
    /// Bytes of the facts in it.
    package let byteCount: Int
}

// Items, entries and extended attributes as facts have them; in indexes that have the tables.
extension Index {
    /// Whether the index has the tables of facts.
    package var hasFacts: Bool { digest.tables.facts }

    /// Makes the tables of facts, in the open transaction, unless they are there.
    package func addFacts() throws(FileSystemError) {
        guard !hasFacts else { return }
        try database.execute(FactSchema.create)
        digest.addFacts()
        try storeVersion()
        changes += 1
        try putFactState(FactStateRow(), replacing: nil)
    }

    /// The hash of a row of facts, as it is stored.
    func hash(_ table: RowDigest.Table, _ write: (inout HashedColumns) -> Void) -> RowHash {
        var columns = HashedColumns(table)
        write(&columns)
        return RowHash(sum: digest.hash(columns))
    }

    /// Stores a row of facts.
    func put(
        _ table: RowDigest.Table, _ statement: Statement, replacing old: RowHash?,
        _ write: (inout HashedColumns) -> Void, _ bind: (inout BoundColumns) -> Void
    ) throws(FileSystemError) -> RowHash {
        let hash = hash(table, write)
        try statement.run { statement in
            var columns = BoundColumns(statement)
            bind(&columns)
        }
        if let old { digest.subtract(table, old.sum) }
        digest.add(table, hash.sum)
        changes += 1
        return hash
    }

    /// An item as facts have it.
    package func factItem(_ id: ItemID) throws(FileSystemError) -> StoredFacts<FactItemRow>? {
        let found = try factStatements[.item].first({ $0.bind(1, id) }) { row in
            FactItemRow(row).map {
                StoredFacts(row: $0, hash: hash(of: row, in: .factItems), byteCount: row.byteCount(12))
            }
        }
        guard let found else { return nil }
        guard let found, found.row.id == id else {
            throw .damaged(place: "the facts of item \(id) in the index")
        }
        return found
    }

    /// Stores an item as facts have it.
    ///
    /// - Parameter old: The hash of the row that is replaced; nil if there is none.
    package func put(_ row: FactItemRow, replacing old: RowHash?) throws(FileSystemError) -> RowHash {
        try put(
            .factItems, factStatements[old == nil ? .insertItem : .putItem], replacing: old,
            { row.write(to: &$0) }, { row.write(to: &$0) })
    }

    /// Removes an item as facts have it.
    package func removeFactItem(_ id: ItemID, _ hash: RowHash) throws(FileSystemError) {
        try factStatements[.removeItem].run { $0.bind(1, id) }
        digest.subtract(.factItems, hash.sum)
        changes += 1
    }

    /// An entry as facts have it.
    package func factEntry(_ id: EntryID) throws(FileSystemError) -> StoredFacts<FactEntryRow>? {
        let found = try factStatements[.entry].first({ $0.bind(1, id) }) { row in
            FactEntryRow(row).map {
                StoredFacts(row: $0, hash: hash(of: row, in: .factEntries), byteCount: row.byteCount(19))
            }
        }
        guard let found else { return nil }
        guard let found, found.row.id == id else {
            throw .damaged(place: "the facts of name \(id) in the index")
        }
        return found
    }

    /// The hash of a row of facts that was read.
    private func hash(of row: Statement, in table: RowDigest.Table) -> RowHash {
        RowHash(sum: digest.hash(HashedColumns(table, row)))
    }

    /// Stores an entry as facts have it.
    ///
    /// - Parameter old: The hash of the row that is replaced; nil if there is none.
    package func put(_ row: FactEntryRow, replacing old: RowHash?) throws(FileSystemError) -> RowHash {
        try put(
            .factEntries, factStatements[old == nil ? .insertEntry : .putEntry], replacing: old,
            { row.write(to: &$0) }, { row.write(to: &$0) })
    }

    /// Removes an entry as facts have it.
    package func removeFactEntry(_ id: EntryID, _ hash: RowHash) throws(FileSystemError) {
        try factStatements[.removeEntry].run { $0.bind(1, id) }
        digest.subtract(.factEntries, hash.sum)
        changes += 1
    }

    /// The values of the register of an extended attribute, as a `RegisterRecord`; nil if it has none.
    package func attributeFacts(_ name: [UInt8], of item: ItemID) throws(FileSystemError) -> [UInt8]? {
        try factStatements[.attribute].first(
            {
                $0.bind(1, item)
                $0.bind(2, name)
            }, { $0.bytes(0) })
    }

    /// Stores the values of the register of an extended attribute, replacing `old`.
    package func setAttributeFacts(
        _ name: [UInt8], of item: ItemID, to facts: [UInt8], replacing old: [UInt8]?
    ) throws(FileSystemError) {
        func write(_ facts: [UInt8], to columns: inout some ColumnSink) {
            columns.identifier(item)
            columns.bytes(name)
            columns.bytes(facts)
        }
        let before = old.map { old in hash(.factAttributes) { write(old, to: &$0) } }
        _ = try put(
            .factAttributes, factStatements[.putAttribute], replacing: before, { write(facts, to: &$0) },
            { write(facts, to: &$0) })
    }

    /// Removes the register of an extended attribute with its present values.
    package func removeAttributeFacts(
        _ name: [UInt8], of item: ItemID, facts: [UInt8]
    ) throws(FileSystemError) {
        try factStatements[.removeAttribute].run {
            $0.bind(1, item)
            $0.bind(2, name)
        }
        let hash = hash(.factAttributes) {
            $0.identifier(item)
            $0.bytes(name)
            $0.bytes(facts)
        }
        digest.subtract(.factAttributes, hash.sum)
        changes += 1
    }
}
