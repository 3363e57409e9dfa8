package import CofferFormat

/// The hash of a row, kept by the caller that may change the row, so that it need not be read again.
package struct RowHash: Equatable, Sendable {
    let sum: RowDigest.Sum
}

// Items and names.
extension Index {
    /// An item; nil if there is none with this number.
    package func item(_ number: Int64) throws(FileSystemError) -> ItemRow? {
        let row = try statements[.item].first({ $0.bind(1, number) }, { ItemRow($0) })
        if let row, !row.isPossible { throw .damaged(place: "the row of item \(number) in the index") }
        return row
    }

    /// The hash of an item, as it is stored.
    package func hash(of row: ItemRow) -> RowHash {
        RowHash(sum: digest.hash(.items) { row.digest(into: &$0) })
    }

    /// Stores an item.
    ///
    /// - Parameter old: The hash of the row that is replaced; nil if the item is new.
    package func put(_ row: ItemRow, replacing old: RowHash?) throws(FileSystemError) -> RowHash {
        let hash = hash(of: row)
        try statements[old == nil ? .insertItem : .putItem].run { row.bind(to: $0) }
        if let old { digest.subtract(.items, old.sum) }
        digest.add(.items, hash.sum)
        changes += 1
        return hash
    }

    /// Removes an item.
    package func removeItem(_ number: Int64, _ hash: RowHash) throws(FileSystemError) {
        try statements[.removeItem].run { $0.bind(1, number) }
        digest.subtract(.items, hash.sum)
        changes += 1
    }

    /// The entry with a name in a directory; nil if there is none.
    package func entry(_ name: [UInt8], in parent: Int64) throws(FileSystemError) -> EntryRow? {
        let row = try statements[.entry].first(
            {
                $0.bind(1, parent)
                $0.bind(2, name)
            }, { EntryRow($0) })
        if let row { try Self.check(row) }
        return row
    }

    private static func check(_ row: EntryRow) throws(FileSystemError) {
        guard row.isPossible else {
            throw .damaged(place: "a name in item \(row.parent) in the index")
        }
    }

    /// Stores an entry whose name is free.
    package func insert(_ row: EntryRow) throws(FileSystemError) {
        try visitOrder(of: row.parent, row.cookie)
        try statements[.putEntry].run { row.bind(to: $0) }
        digest.add(.entries, digest.hash(.entries) { row.digest(into: &$0) })
        changes += 1
    }

    /// Removes an entry, which must equal the stored one.
    package func remove(_ row: EntryRow) throws(FileSystemError) {
        try visitOrder(of: row.parent, row.cookie)
        try statements[.removeEntry].run {
            $0.bind(1, row.parent)
            $0.bind(2, row.name)
        }
        digest.subtract(.entries, digest.hash(.entries) { row.digest(into: &$0) })
        changes += 1
    }

    /// Brings the place of a cookie in the reading order of a directory into memory, as long as absent pages are
    /// errors; its name's place was looked up before.
    package func visitOrder(of parent: Int64, _ cookie: Int64) throws(FileSystemError) {
        if failsForAbsentPages { _ = try entries(in: parent, after: cookie - 1, limit: 1) }
    }

    /// The cookie that the next new entry gets.
    package var nextCookieToCome: Int64 { counters.cookie }

    /// Entries of a directory after `cookie`, in the order of their cookies; does not read their `unsent`.
    package func entries(in parent: Int64, after cookie: Int64, limit: Int) throws(FileSystemError)
        -> [EntryRow]
    {
        var rows: [EntryRow] = []
        try statements[.entriesAfter].each(
            {
                $0.bind(1, parent)
                $0.bind(2, cookie)
                $0.bind(3, Int64(limit))
            },
            { row throws(FileSystemError) in
                let entry = EntryRow(row)
                try Self.check(entry)
                rows.append(entry)
                return true
            })
        return rows
    }

    /// Whether a directory has no entries.
    package func isEmpty(_ parent: Int64) throws(FileSystemError) -> Bool {
        try statements[.anyEntry].first({ $0.bind(1, parent) }, { _ in true }) == nil
    }
}

// Extended attributes.
extension Index {
    /// The value of an attribute; nil if the item does not have it.
    package func attribute(_ name: [UInt8], of item: Int64) throws(FileSystemError) -> [UInt8]? {
        try statements[.attribute].first(
            {
                $0.bind(1, item)
                $0.bind(2, name)
            }, { $0.bytes(0) })
    }

    /// Stores an attribute, replacing `old`.
    package func setAttribute(
        _ name: [UInt8], of item: Int64, to value: [UInt8], replacing old: [UInt8]?
    ) throws(FileSystemError) {
        try statements[.putAttribute].run {
            $0.bind(1, item)
            $0.bind(2, name)
            $0.bind(3, value)
        }
        if let old { digest.subtract(.attributes, digest.attribute(item, name, old)) }
        digest.add(.attributes, digest.attribute(item, name, value))
        changes += 1
    }

    /// Removes an attribute, whose value must equal the stored one.
    package func removeAttribute(_ name: [UInt8], of item: Int64, value: [UInt8]) throws(FileSystemError) {
        try statements[.removeAttribute].run {
            $0.bind(1, item)
            $0.bind(2, name)
        }
        digest.subtract(.attributes, digest.attribute(item, name, value))
        changes += 1
    }

    /// All attributes of an item, by name.
    package func attributes(of item: Int64) throws(FileSystemError) -> [(name: [UInt8], value: [UInt8])] {
        var result: [(name: [UInt8], value: [UInt8])] = []
        try statements[.attributes].each(
            { $0.bind(1, item) },
            { row throws(FileSystemError) in
                result.append((row.bytes(0), row.bytes(1)))
                return true
            })
        return result
    }

    /// Whether an item has any attribute.
    package func hasAttributes(of item: Int64) throws(FileSystemError) -> Bool {
        var isFound = false
        try statements[.attributes].each(
            { $0.bind(1, item) },
            { _ throws(FileSystemError) in
                isFound = true
                return false
            })
        return isFound
    }
}

// Items without a name that are still in use.
extension Index {
    /// The items without a name.
    package func orphans() throws(FileSystemError) -> [Int64] {
        var result: [Int64] = []
        try statements[.orphans].each(
            { _ in },
            { row throws(FileSystemError) in
                result.append(row.integer(0))
                return true
            })
        return result
    }

    /// Records that an item has no name any more.
    package func insertOrphan(_ item: Int64) throws(FileSystemError) {
        try statements[.insertOrphan].run { $0.bind(1, item) }
        digest.add(.orphans, digest.orphan(item))
        changes += 1
    }

    /// Records that an item without a name was removed, or has a name again.
    package func removeOrphan(_ item: Int64) throws(FileSystemError) {
        try statements[.removeOrphan].run { $0.bind(1, item) }
        digest.subtract(.orphans, digest.orphan(item))
        changes += 1
    }
}
