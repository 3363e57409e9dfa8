internal import CofferFormat
internal import CofferStore

extension ItemRow.Aspects {
    /// What is sent of an item; that it exists is told by its names.
    static let sent: ItemRow.Aspects = [.mode, .times, .content, .attributes]
}

// What a vault with a remote remembers of changes, until they are facts.
extension VaultState {
    /// Bytes of records in memory above which they go into the index.
    private static let journalByteCountMax = 16 << 10

    /// Whether changes are remembered.
    var isTracking: Bool { journal != nil }

    /// Remembers that an item was made, which says what there is of it, too.
    func noteMade(_ item: CachedItem, _ name: [UInt8], in directory: CachedItem) throws(FileSystemError) {
        guard journal != nil else { return }
        let row = item.row
        journal?.make(
            number: row.number, row.id, mode: row.mode, modified: row.modified, device: row.device,
            target: row.target, at: .init(name, in: directory.row.id))
        item.isMarked = true
        try boundJournal()
    }

    /// Remembers that an item got another name.
    func noteLinked(_ item: CachedItem, _ name: [UInt8], in directory: CachedItem) throws(FileSystemError) {
        guard journal != nil else { return }
        journal?.link(item.row.id, at: .init(name, in: directory.row.id))
        try boundJournal()
    }

    /// Remembers that a name was moved, in the place of what was there.
    func noteMoved(
        _ name: [UInt8], in directory: CachedItem, to newName: [UInt8], in newDirectory: CachedItem
    ) throws(FileSystemError) {
        guard journal != nil else { return }
        journal?.move(.init(name, in: directory.row.id), to: .init(newName, in: newDirectory.row.id))
        try boundJournal()
    }

    /// Remembers that two names changed places.
    func noteExchanged(
        _ name: [UInt8], in directory: CachedItem, _ otherName: [UInt8], in otherDirectory: CachedItem
    ) throws(FileSystemError) {
        guard journal != nil else { return }
        journal?.exchange(.init(name, in: directory.row.id), .init(otherName, in: otherDirectory.row.id))
        try boundJournal()
    }

    /// Remembers that a name was taken away.
    func noteRemoved(_ name: [UInt8], in directory: CachedItem) throws(FileSystemError) {
        guard journal != nil else { return }
        journal?.remove(.init(name, in: directory.row.id))
        try boundJournal()
    }

    @inline(__always)
    private func boundJournal() throws(FileSystemError) {
        localChanges &+= 1
        listener?()
        if let journal, journal.byteCount >= Self.journalByteCountMax { try storeJournal() }
    }

    /// Writes what is remembered of names into the index's transaction, as one row.
    func storeJournal() throws(FileSystemError) {
        guard let count = journal?.count, count > 0, let record = journal?.take() else { return }
        _ = try storing { () throws(StoreError) in try index.appendToJournal(record) }
    }

    /// As the journal begins: all that is there is told by its records.
    func markAll() {
        for number in items.keys { items[number]?.isMarked = true }
    }

    /// Notes in the index that an item has something to be sent.
    func mark(_ item: CachedItem) throws(FileSystemError) {
        guard journal != nil, !item.isMarked, !item.row.unsent.isDisjoint(with: .sent) else { return }
        try storing { () throws(StoreError) in try index.noteUnsent(item.row.number) }
        item.isMarked = true
    }
}
