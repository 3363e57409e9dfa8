internal import CofferFormat
internal import CofferStore
internal import CofferSystem

/// The tree of a vault under its lock: names, items, and attributes, and which of their changes are not sent yet.
///
/// It knows nothing of contents and packs. Code that changes both has the whole `VaultState`.
struct ItemTree: ~Copyable {
    let index: Index
    private(set) var items: [Int64: CachedItem] = [:]
    var dirtyItems: Set<Int64> = []
    /// Items without a name that programs or the kernel may still use.
    var orphans: Set<Int64> = []
    /// The orphans that are old versions of files, with a name of the new version.
    var outdated: [Int64: Vault.Name] = [:]
    /// The orphans without a new version: another device removed the file.
    var removedElsewhere: Set<Int64> = []
    /// Names that lead to other files than the kernel knows.
    var unseen = UnseenNames()
    /// Files that are longer than the kernel knows.
    var growing: [Int64: GrowingFile] = [:]
    /// The orphans that the index has.
    private var storedOrphans: Set<Int64>
    /// Whether something was removed since the last commit, which will free space.
    var removes = false
    /// The changes for the next record of the intent log.
    var intents = PendingIntents()
    /// The changes of names since the last commit; nil if the vault does not track changes, as it has no
    /// remote.
    var journal: JournalWriter?
    /// The number of local changes so far.
    var localChanges: UInt64 = 0
    /// The value of `localChanges` when all unsent changes were set aside; nil if they were not.
    var asideChanges: UInt64?
    /// Items whose contents are being read for a remote and have not changed since.
    var publishing: Set<Int64> = []
    /// Items that were too busy to be sent, and since when.
    var busy: [Int64: Int64] = [:]
    /// Files whose content could not be sent when that was last tried, as parts of it are damaged or missing.
    var unsendable: Set<Int64> = []
    /// Records the history; nil if the vault keeps none.
    var history: HistoryRecorder?
    /// Called when there is something new to send.
    var listener: (@Sendable () -> Void)?

    /// The maximum number of unchanged items in memory.
    private static let cleanItemsMax = 16_384

    init(index: Index, orphans: [Int64]) {
        self.index = index
        storedOrphans = Set(orphans)
        self.orphans = storedOrphans
    }

    /// The current state of an item, without keeping it in memory.
    func peek(_ number: Int64) throws(FileSystemError) -> ItemRow {
        guard let row = try row(number) else { throw .stale }
        return row
    }

    /// The current state of an item; nil if there is no such item.
    func row(_ number: Int64) throws(FileSystemError) -> ItemRow? {
        if let cached = items[number] { return cached.row }
        return try index.item(number)
    }

    /// An item that will be read often, or changed; stays in memory.
    mutating func item(_ number: Int64) throws(FileSystemError) -> CachedItem {
        if let cached = items[number] { return cached }
        guard let row = try index.item(number) else { throw .stale }
        let item = CachedItem(row, stored: index.hash(of: row))
        item.isMarked = journal != nil && !row.unsent.isDisjoint(with: .sent)
        items[number] = item
        return item
    }

    /// An item in memory that the last commit contains; nil if there is none.
    func storedItem(_ number: Int64) -> CachedItem? {
        guard let item = items[number], item.stored != nil else { return nil }
        return item
    }

    /// Adds a new item.
    mutating func add(_ row: ItemRow) -> CachedItem {
        let item = CachedItem(row, stored: nil)
        items[row.number] = item
        dirtyItems.insert(row.number)
        intents.giveUp()
        return item
    }

    /// Records that an item was changed.
    mutating func touch(_ item: CachedItem, _ aspects: ItemRow.Aspects) {
        item.row.unsent.formUnion(aspects)
        if !aspects.isEmpty { localChanges &+= 1 }
        if let listener, !aspects.isEmpty { listener() }
        if aspects.contains(.content) {
            if !publishing.isEmpty { publishing.remove(item.row.number) }
            if !unsendable.isEmpty { unsendable.remove(item.row.number) }
        }
        dirtyItems.insert(item.row.number)
        intents.note(item: item.row.number)
    }

    /// Removes an item for good.
    mutating func erase(_ item: CachedItem) throws(FileSystemError) {
        let number = item.row.number
        removes = true
        if let stored = item.stored {
            try index.removeItem(number, stored)
            if journal != nil { try index.removeUnsent(number) }
        }
        items[number] = nil
        dirtyItems.remove(number)
        orphans.remove(number)
        outdated[number] = nil
        removedElsewhere.remove(number)
        busy[number] = nil
        unsendable.remove(number)
        growing[number] = nil
    }

    /// Drops unchanged items from memory if there are many.
    ///
    /// Call this only between operations: a change of an item that was dropped during one would be lost.
    mutating func forgetCleanItems() {
        guard items.count >= Self.cleanItemsMax + dirtyItems.count else { return }
        items = items.filter { dirtyItems.contains($0.key) }
    }

    /// A directory that has not been removed.
    mutating func directory(_ number: Int64) throws(FileSystemError) -> CachedItem {
        let item = try self.item(number)
        guard item.type == .directory else { throw .notDirectory }
        guard item.row.links > 0 else { throw .notFound }
        return item
    }

    /// Writes changed items and orphans to the index.
    mutating func storeItems() throws(FileSystemError) {
        try keepChangedItems()
        try storeHistory()
        for number in dirtyItems {
            guard let item = items[number] else {
                throw .stopped(reason: "item \(number) was changed but is not in memory")
            }
            item.stored = try index.put(item.row, replacing: item.stored)
            try mark(item)
        }
        try storeJournal()
        dirtyItems.removeAll(keepingCapacity: true)
        forgetCleanItems()
        guard orphans != storedOrphans else { return }
        for number in orphans.subtracting(storedOrphans) {
            try index.insertOrphan(number)
        }
        for number in storedOrphans.subtracting(orphans) {
            try index.removeOrphan(number)
        }
        storedOrphans = orphans
    }

    /// Whether the index has exactly the items that have no name now.
    var orphansAreStored: Bool { orphans == storedOrphans }

    /// Drops everything that is not in the index, after a rollback to its last commit.
    mutating func dropChanges() {
        items = [:]
        dirtyItems = []
        if journal != nil { journal = JournalWriter() }
        publishing = []
        orphans = storedOrphans
        outdated = [:]
        removedElsewhere = []
        unseen = UnseenNames()
        growing = [:]
        history = nil
    }
}
