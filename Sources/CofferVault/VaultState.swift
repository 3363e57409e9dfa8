internal import CofferCrypto
internal import CofferFormat
internal import CofferStore
internal import CofferSystem

/// All that the lock of a vault protects.
final class VaultState {
    let index: Index
    let packs: PackStore
    private(set) var items: [Int64: CachedItem] = [:]
    private(set) var dirtyItems: Set<Int64> = []
    /// Items without a name that somebody may still use.
    var orphans: Set<Int64> = []
    /// Those of them that are old versions of files, with a name of the new one.
    var outdated: [Int64: Vault.Name] = [:]
    /// Those of them that have no new version: the file was removed elsewhere.
    var removedElsewhere: Set<Int64> = []
    /// As the index has them.
    private var storedOrphans: Set<Int64>
    /// Sealed bytes whose place can be given back after the next commit.
    var discards: [Discard] = []
    /// Whether something was taken away since the last commit: that is to make room.
    var removes = false
    /// What can be given back once the last commit is on disk.
    var dead = Dead()
    /// Items with many small ranges, to be united by compaction.
    var fragmented: Set<Int64> = []
    /// Bytes that may be written before the free space is looked at again, and until when.
    var budget: (bytes: Int, end: Int64) = (0, 0)
    /// Whether all but a few frames of the index's log are in the database.
    var logIsNearlyMoved = false
    /// What is to go into the next record of the intent log.
    var intents = PendingIntents()
    /// Bytes in packs that died since compaction last looked.
    var deadByteCount: Int64 = 0
    /// What was done to names since the last commit; nil if nobody wants to know, as there is no remote.
    var journal: JournalWriter?
    /// Counts what is changed here.
    var localChanges: UInt64 = 0
    /// What it was when all that is unsent was set aside; nil if it was not.
    var asideChanges: UInt64?
    /// What is in memory of the facts, while changes are exchanged.
    var facts: IndexFactStore?
    /// Items whose contents are being read for a remote, unless they changed since.
    var publishing: Set<Int64> = []
    /// Items that were too busy to be sent, and since when.
    var busy: [Int64: Int64] = [:]
    /// Told when there is something new to be sent.
    var listener: (@Sendable () -> Void)?
    /// Whether names may not be changed for now, as changes from elsewhere are half made.
    var holdsNames = false
    /// Whether somebody waits to hold them: no request of a mount begins to change any.
    var wantsNames = false
    /// Requests of a mount that are changing names.
    var nameChanges = 0
    /// Why nothing may be written any more.
    var stopped: String?

    /// Disk space that no committed row refers to.
    struct Dead {
        var packs: [PackID] = []
        var discards: [Discard] = []
        /// Whether that commit takes something away.
        var removes = false
    }

    struct Discard {
        let pack: Int64
        let position: Int
        let count: Int
    }

    /// Items that are kept in memory although nothing was changed in them.
    private static let cleanItemsMax = 16_384

    init(index: Index, packs: PackStore, orphans: [Int64]) {
        self.index = index
        self.packs = packs
        storedOrphans = Set(orphans)
        self.orphans = storedOrphans
    }

    /// Whether there is anything to commit.
    var hasChanges: Bool {
        !dirtyItems.isEmpty || index.changes > 0 || !packs.pending.isEmpty || !packs.isSynced
    }

    /// Rows that the next commit will write, about.
    var changeCount: Int { index.changes + dirtyItems.count }

    /// An item as it is now, without keeping it in memory.
    func peek(_ number: Int64) throws(FileSystemError) -> ItemRow {
        guard let row = try row(number) else { throw .stale }
        return row
    }

    /// An item as it is now; nil if there is none.
    func row(_ number: Int64) throws(FileSystemError) -> ItemRow? {
        if let cached = items[number] { return cached.row }
        return try storing { () throws(StoreError) in try index.item(number) }
    }

    /// An item, to be read often or changed.
    func item(_ number: Int64) throws(FileSystemError) -> CachedItem {
        if let cached = items[number] { return cached }
        guard let row = try storing({ () throws(StoreError) in try index.item(number) }) else { throw .stale }
        let item = CachedItem(row, stored: index.hash(of: row))
        item.isMarked = journal != nil && !row.unsent.isDisjoint(with: .sent)
        items[number] = item
        return item
    }

    /// An item in memory that the last commit has.
    func storedItem(_ number: Int64) -> CachedItem? {
        guard let item = items[number], item.stored != nil else { return nil }
        return item
    }

    /// Takes in an item that is new.
    func add(_ row: ItemRow) -> CachedItem {
        let item = CachedItem(row, stored: nil)
        items[row.number] = item
        dirtyItems.insert(row.number)
        intents.giveUp()
        return item
    }

    /// Notes that an item was changed.
    func touch(_ item: CachedItem, _ aspects: ItemRow.Aspects) {
        item.row.unsent.formUnion(aspects)
        if !aspects.isEmpty { localChanges &+= 1 }
        if let listener, !aspects.isEmpty { listener() }
        if !publishing.isEmpty, aspects.contains(.content) { publishing.remove(item.row.number) }
        dirtyItems.insert(item.row.number)
        intents.note(item: item.row.number)
    }

    /// Forgets an item for good.
    func erase(_ item: CachedItem) throws(FileSystemError) {
        let number = item.row.number
        removes = true
        if let stored = item.stored {
            try storing { () throws(StoreError) in
                try index.removeItem(number, stored)
                if journal != nil { try index.removeUnsent(number) }
            }
        }
        items[number] = nil
        dirtyItems.remove(number)
        orphans.remove(number)
        outdated[number] = nil
        removedElsewhere.remove(number)
        fragmented.remove(number)
        busy[number] = nil
    }

    /// Forgets items in which nothing was changed, if there are many.
    ///
    /// Only between operations: what one of them still holds would be changed without being stored.
    func forgetCleanItems() {
        guard items.count >= Self.cleanItemsMax + dirtyItems.count else { return }
        items = items.filter { dirtyItems.contains($0.key) }
    }

    /// A directory that is not removed.
    func directory(_ number: Int64) throws(FileSystemError) -> CachedItem {
        let item = try item(number)
        guard item.type == .directory else { throw .notDirectory }
        guard item.row.links > 0 else { throw .notFound }
        return item
    }

    /// Writes changed items and orphans to the index.
    func storeItems() throws(FileSystemError) {
        for number in dirtyItems {
            guard let item = items[number] else {
                throw .store(.stopped(reason: "item \(number) was changed and is not in memory"))
            }
            item.stored = try storing { () throws(StoreError) in
                try index.put(item.row, replacing: item.stored)
            }
            try mark(item)
        }
        try storeJournal()
        dirtyItems.removeAll(keepingCapacity: true)
        forgetCleanItems()
        guard orphans != storedOrphans else { return }
        for number in orphans.subtracting(storedOrphans) {
            try storing { () throws(StoreError) in try index.insertOrphan(number) }
        }
        for number in storedOrphans.subtracting(orphans) {
            try storing { () throws(StoreError) in try index.removeOrphan(number) }
        }
        storedOrphans = orphans
    }

    /// Whether the index has all items without a name, and no other.
    var orphansAreStored: Bool { orphans == storedOrphans }

    /// Stops writing if the transaction was rolled back, and forgets what belonged to it.
    func noticeRollback() {
        guard !index.isInTransaction else { return }
        stopped = stopped ?? "the disk failed to read or write the index"
        items = [:]
        dirtyItems = []
        if journal != nil { journal = JournalWriter() }
        publishing = []
        facts = nil
        orphans = storedOrphans
        outdated = [:]
        removedElsewhere = []
    }

    func ensureWritable() throws(FileSystemError) {
        noticeRollback()
        if stopped != nil { throw .readOnly }
    }

    /// A number and id for a new pack.
    func newPack() -> (Int64, PackID) {
        (index.nextPackNumber(), PackID(low: Random.number(), high: Random.number()))
    }
}
