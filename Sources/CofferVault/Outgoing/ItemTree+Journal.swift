internal import CofferFormat
internal import CofferStore

extension ItemRow.Aspects {
    /// The aspects of an item that are sent; its names show that it exists.
    static let sent: ItemRow.Aspects = [.mode, .times, .content, .attributes]
}

// Changes that a vault with a remote remembers until they become facts.
extension ItemTree {
    /// The number of record bytes in memory above which they go into the index.
    private static let journalByteCountMax = 16 << 10

    /// Whether changes are remembered.
    var isTracking: Bool { journal != nil }

    /// Records that an item was created; the record covers all of its unsent aspects, too.
    mutating func noteMade(_ item: CachedItem, _ name: [UInt8], in directory: CachedItem)
        throws(FileSystemError)
    {
        guard journal != nil else { return }
        let row = item.row
        journal?.make(
            number: row.number, row.id, mode: row.mode, modified: row.modified, device: row.device,
            target: row.target, at: .init(name, in: directory.row.id))
        item.isMarked = true
        try boundJournal()
    }

    /// Records that an item got another name.
    mutating func noteLinked(_ item: CachedItem, _ name: [UInt8], in directory: CachedItem)
        throws(FileSystemError)
    {
        guard journal != nil else { return }
        journal?.link(item.row.id, at: .init(name, in: directory.row.id))
        try boundJournal()
    }

    /// Records that a name was moved, replacing an existing one.
    mutating func noteMoved(
        _ name: [UInt8], in directory: CachedItem, to newName: [UInt8], in newDirectory: CachedItem
    ) throws(FileSystemError) {
        guard journal != nil else { return }
        journal?.move(.init(name, in: directory.row.id), to: .init(newName, in: newDirectory.row.id))
        try boundJournal()
    }

    /// Records that two names were exchanged.
    mutating func noteExchanged(
        _ name: [UInt8], in directory: CachedItem, _ otherName: [UInt8], in otherDirectory: CachedItem
    ) throws(FileSystemError) {
        guard journal != nil else { return }
        journal?.exchange(.init(name, in: directory.row.id), .init(otherName, in: otherDirectory.row.id))
        try boundJournal()
    }

    /// Records that a name was removed.
    mutating func noteRemoved(_ name: [UInt8], in directory: CachedItem) throws(FileSystemError) {
        guard journal != nil else { return }
        journal?.remove(.init(name, in: directory.row.id))
        try boundJournal()
    }

    @inline(__always)
    private mutating func boundJournal() throws(FileSystemError) {
        localChanges &+= 1
        listener?()
        if let journal, journal.byteCount >= Self.journalByteCountMax { try storeJournal() }
    }

    /// Writes the recorded changes of names into the index's transaction, as one row.
    mutating func storeJournal() throws(FileSystemError) {
        guard let count = journal?.count, count > 0, let record = journal?.take() else { return }
        _ = try index.appendToJournal(record)
    }

    /// Called when the journal begins: its records will describe all existing items.
    mutating func markAll() {
        for number in items.keys { items[number]?.isMarked = true }
    }

    /// Records in the index that an item has unsent changes.
    mutating func mark(_ item: CachedItem) throws(FileSystemError) {
        guard journal != nil, !item.isMarked, !item.row.unsent.isDisjoint(with: .sent) else { return }
        try index.noteUnsent(item.row.number)
        item.isMarked = true
    }
}
