internal import CofferCrypto
internal import CofferFormat
internal import CofferStore
internal import CofferSystem

/// The state that a vault's lock protects.
package struct VaultState: ~Copyable {
    /// The number of rows at which a commit does not wait for the end of its second.
    private static let urgentChangeCount = 20_000
    /// The number of bytes that it frees at which it does not wait either; an eighth of the live bytes, if that is
    /// more.
    private static let urgentUnfreedByteCount = 32 << 20

    /// Names, items, and attributes.
    var tree: ItemTree
    let packs: PackStore
    /// The space on the disk.
    var space: FreeSpace
    /// Sealed bytes whose space can be freed after the next commit.
    var discards: [Discard] = []
    /// Space that can be freed once the last commit is on disk.
    var dead = Dead()
    /// Items with many small ranges, for compaction to unite.
    var fragmented: Set<Int64> = []
    /// Whether all but a few frames of the write-ahead log are in the database.
    var logIsNearlyMoved = false
    /// The number of bytes in packs that died since compaction last looked for waste.
    var deadByteCount: Int64 = 0
    /// The number of sealed bytes that the next commit frees.
    var unfreedByteCount = 0
    /// The facts in memory, while changes are exchanged.
    var facts: IndexFactStore?
    /// Whether a commit is being made from the facts without the lock.
    var factsAreLent = false
    /// Whether names may not change at present, because changes from other devices are half applied.
    var holdsNames = false
    /// Whether a thread waits to hold the names; no request of a mount then begins to change any.
    var wantsNames = false
    /// The number of a mount's requests that are changing names.
    var nameChanges = 0
    /// Why nothing may be written any more; nil if writing is allowed.
    var stopped: String? {
        didSet { if oldValue == nil, stopped != nil { readAhead.endAll() } }
    }
    /// Whether the transaction was found to be rolled back.
    private var isRolledBack = false
    /// The streams, which end when the content that they read ahead changes.
    let readAhead: ReadAhead
    /// Shows a change to programs at once, without waiting; nil if nothing shows the vault.
    var showAtOnce: (@Sendable (VaultChange) -> Void)?

    /// Disk space that no committed row refers to.
    struct Dead {
        var packs: [PackID] = []
        var discards: [Discard] = []
        /// Whether that commit removes something.
        var removes = false
    }

    struct Discard {
        let pack: Int64
        let position: Int
        var count: Int

        var end: Int { position + count }
    }

    init(index: Index, packs: PackStore, orphans: [Int64], space: FreeSpace, readAhead: ReadAhead) {
        tree = ItemTree(index: index, orphans: orphans)
        self.readAhead = readAhead
        self.packs = packs
        self.space = space
    }

    /// The index; its open transaction has the latest rows.
    var index: Index { tree.index }

    /// Whether there is anything to commit.
    var hasChanges: Bool {
        !tree.dirtyItems.isEmpty || index.changes > 0 || !packs.pending.isEmpty || !packs.isSynced
    }

    /// Whether the next commit, which frees what died, should come at once.
    var isCommitUrgent: Bool {
        index.changes + tree.dirtyItems.count >= Self.urgentChangeCount
            || unfreedByteCount >= max(Self.urgentUnfreedByteCount, Int(packs.liveByteCount / 8))
    }

    /// Stops writing if the transaction was rolled back, and drops what belonged to it.
    mutating func noticeRollback() {
        guard !tree.index.isInTransaction else { return }
        stopped = stopped ?? "the disk failed to read or write the index"
        tree.dropChanges()
        facts = nil
        if isRolledBack { return }
        isRolledBack = true
        readAhead.endAll()
    }

    mutating func ensureWritable() throws(FileSystemError) {
        noticeRollback()
        if stopped != nil { throw .readOnly }
    }

    /// A number and id for a new pack.
    func newPack() -> (Int64, PackID) {
        (index.nextPackNumber(), PackID(low: Random.number(), high: Random.number()))
    }
}
