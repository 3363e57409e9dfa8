package import CofferFormat

// Lookups of items and entries by keys other than their ids. Names of directories are as in rows.
extension Index {
    /// The names of an item's extended attributes about which there are facts, ascending.
    package func attributeNames(of item: ItemID) throws(FileSystemError) -> [[UInt8]] {
        var names: [[UInt8]] = []
        try factStatements[.attributeNames].each(
            { $0.bind(1, item) },
            { row throws(FileSystemError) in
                names.append(row.bytes(0))
                return true
            })
        return names
    }

    /// The directories that are shown as part of this one, ascending.
    package func factItems(unitedWith item: ItemID) throws(FileSystemError) -> [ItemID] {
        try identifiers(.united) { $0.bind(1, item) }
    }

    /// The directories that were put back from their stated places.
    package func putBackFactItems() throws(FileSystemError) -> [ItemID] {
        try identifiers(.putBack) { _ in }
    }

    /// The entries of an item, except its `first`.
    package func otherFactEntries(of item: ItemID) throws(FileSystemError) -> [EntryID] {
        try identifiers(.others) { $0.bind(1, item) }
    }

    /// The copies by rule of an item.
    package func factEntries(copyOf item: ItemID) throws(FileSystemError) -> [EntryID] {
        try identifiers(.copies) { $0.bind(1, item) }
    }

    /// Entries whose place is in a directory, after `last`; ascending.
    package func factEntries(
        placedIn parent: ItemID, after last: EntryID?, limit: Int
    ) throws(FileSystemError) -> [EntryID] {
        try identifiers(.placed) {
            $0.bind(1, parent)
            if let last { $0.bind(2, last) } else { $0.bind(2, []) }
            $0.bind(3, Int64(limit))
        }
    }

    /// Whether the place of any active entry is in a directory.
    package func hasActiveFactEntries(placedIn parent: ItemID) throws(FileSystemError) -> Bool {
        try factStatements[.activePlaced].first({ $0.bind(1, parent) }, { _ in true }) ?? false
    }

    /// The entries that claim a place in an item, but have another one; ascending.
    package func orphanedFactEntries(of parent: ItemID) throws(FileSystemError) -> [EntryID] {
        try identifiers(.orphans) { $0.bind(1, parent) }
    }

    /// The entries that compete for a name.
    package func factEntries(inSlot slot: Place) throws(FileSystemError) -> [EntryID] {
        try entries(.inSlot, at: slot)
    }

    /// The entries that compete for a name by rule.
    package func factEntries(wanting name: Place) throws(FileSystemError) -> [EntryID] {
        try entries(.wanting, at: name)
    }

    /// The entries that are shown at a place other than their slot.
    package func factEntries(shownElsewhereAt place: Place) throws(FileSystemError) -> [EntryID] {
        try entries(.shownElsewhere, at: place)
    }

    /// Entries shown in a directory, with names after `last`; by ascending name.
    package func factEntries(
        shownIn parent: ItemID, after last: EntryName?, limit: Int
    ) throws(FileSystemError) -> [EntryID] {
        try identifiers(.shownIn) {
            $0.bind(1, parent)
            $0.bind(2, last?.bytes ?? [])
            $0.bind(3, Int64(limit))
        }
    }

    /// Entries that are shown differently than when they were last taken; ascending.
    package func changedFactEntries(limit: Int) throws(FileSystemError) -> [EntryID] {
        try identifiers(.changed) { $0.bind(1, Int64(limit)) }
    }

    /// Items about which there are facts, after `last`; ascending.
    package func factItems(after last: ItemID?, limit: Int) throws(FileSystemError) -> [ItemID] {
        try identifiers(.itemIDs) {
            if let last { $0.bind(1, last) } else { $0.bind(1, []) }
            $0.bind(2, Int64(limit))
        }
    }

    /// Entries about which there are facts, after `last`; ascending.
    package func factEntries(after last: EntryID?, limit: Int) throws(FileSystemError) -> [EntryID] {
        try identifiers(.entryIDs) {
            if let last { $0.bind(1, last) } else { $0.bind(1, []) }
            $0.bind(2, Int64(limit))
        }
    }

    /// The highest item below an identifier about which there are facts; nil if there is none.
    package func lastFactItem(below end: ItemID) throws(FileSystemError) -> ItemID? {
        let found: [ItemID] = try identifiers(.lastItem) { $0.bind(1, end) }
        return found.first
    }

    /// The highest entry below an identifier about which there are facts; nil if there is none.
    package func lastFactEntry(below end: EntryID) throws(FileSystemError) -> EntryID? {
        let found: [EntryID] = try identifiers(.lastEntry) { $0.bind(1, end) }
        return found.first
    }

    private func entries(_ query: FactQuery, at place: Place) throws(FileSystemError) -> [EntryID] {
        try identifiers(query) {
            $0.bind(1, place.parent)
            $0.bind(2, place.name.bytes)
        }
    }

    private func identifiers<Kind>(
        _ query: FactQuery, _ bind: (Statement) -> Void
    ) throws(FileSystemError) -> [Identifier<Kind>] {
        var found: [Identifier<Kind>] = []
        try factStatements[query].each(
            bind,
            { row throws(FileSystemError) in
                guard let id = row.identifier(0, Identifier<Kind>.self) else {
                    throw .damaged(place: "an identifier in the facts of the index")
                }
                found.append(id)
                return true
            })
        return found
    }
}
