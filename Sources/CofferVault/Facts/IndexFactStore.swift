internal import CofferFacts
package import CofferFormat
package import CofferStore
internal import CofferSystem

/// The facts of a vault, in its index: `FactTree` works on them inside the index's open transaction.
///
/// Rows that a pass reads and changes stay in memory, so that each is read once and written once, however
/// often the pass returns to it. `flush` writes the remaining changes; call it before each commit of the
/// index. Memory is bounded: when it grows too much, everything is written and dropped. No other code may
/// change the tables of facts.
///
/// For one thread at a time: under the vault's lock, or with `lock` set, while no other thread commits the
/// index. After an error, roll back the transaction unless nothing was written, and do not use the store any
/// more.
package final class IndexFactStore: FactStore {
    /// The index's error.
    package typealias Failure = FileSystemError

    let index: Index
    /// The vault's lock, taken for each access to the index; nil while the caller holds it.
    var lock: Condition<VaultState>?
    /// Whether something was written since this was last set to false.
    var hasWritten = false
    private var items: CachedFacts<FactItemRow, CachedFactItem>
    private(set) var entries: CachedFacts<FactEntryRow, CachedFactEntry>
    /// The entries in a slot, those that want a name, and those shown at a place other than their slot;
    /// complete for each key.
    var slots: [Place: [EntryID]] = [:]
    var wanting: [Place: [EntryID]] = [:]
    var shownElsewhere: [Place: [EntryID]] = [:]
    /// The unwritten entries that are shown differently than when they were last taken.
    var changedHere: Set<EntryID> = []
    /// The unwritten entries that newly lie in a directory, or claim to.
    var arrivedHere: [ItemID: [EntryID]] = [:]
    /// The directories that were put back, so do not lie where facts say.
    var putBack: Set<ItemID>
    var logs: [LogID: LogRow] = [:]
    var vector = VersionVector()
    var highestClock: UInt64
    var hash: StateHash
    var isStateDirty = false
    /// The approximate number of content and name bytes in memory.
    var byteCount = 0
    /// The number of rows at which everything is written and dropped.
    private let countMax: Int
    private static let byteCountMax = 16 << 20

    /// Opens the facts of an index, which must have the tables for them.
    ///
    /// - Parameter cachedCountMax: The maximum number of items and entries in memory.
    package init(_ index: Index, cachedCountMax: Int = 16_384) throws(FileSystemError) {
        self.index = index
        countMax = cachedCountMax
        putBack = Set(try index.putBackFactItems())
        items = CachedFacts(last: try index.lastFactItem(below: .endOfTimes))
        entries = CachedFacts(last: try index.lastFactEntry(below: .endOfTimes))
        let state = try index.factState()
        highestClock = state.clock
        hash = state.hash
        for log in try index.logs() {
            logs[log.id] = log
            vector[log.id] = log.sequence
        }
    }

    /// Whether some changes are not in the index's transaction yet.
    package var hasChanges: Bool { items.hasChanges || entries.hasChanges || isStateDirty }

    /// Writes all changes into the index's transaction.
    package func flush() throws(FileSystemError) {
        try flushItems()
        try flushEntries()
        guard isStateDirty else { return }
        try write(index.put(clock: highestClock, stateHash: hash))
        isStateDirty = false
    }

    /// Writes and drops everything if there is too much of it; only between calls.
    func bound() throws(FileSystemError) {
        guard items.count + entries.count + slots.count > countMax || byteCount > Self.byteCountMax else {
            return
        }
        try flushItems()
        try flushEntries()
        items.drop()
        entries.drop()
        slots.removeAll(keepingCapacity: true)
        wanting.removeAll()
        shownElsewhere.removeAll()
        byteCount = 0
    }

    func flushItems() throws(FileSystemError) {
        try items.flush { row, old throws(FileSystemError) in
            try write(index.put(row, replacing: old))
        } remove: { id, stored throws(FileSystemError) in
            try write(index.removeFactItem(id, stored))
        }
    }

    func flushEntries() throws(FileSystemError) {
        try entries.flush { row, old throws(FileSystemError) in
            try write(index.put(row, replacing: old))
        } remove: { id, stored throws(FileSystemError) in
            try write(index.removeFactEntry(id, stored))
        }
        changedHere.removeAll(keepingCapacity: true)
        arrivedHere.removeAll(keepingCapacity: true)
    }

    // MARK: The index

    /// Reads from the index.
    func read<Result>(_ look: @autoclosure () throws(FileSystemError) -> Result) throws(FileSystemError)
        -> Result
    {
        guard let lock else { return try look() }
        return try lock.withLock { state throws(FileSystemError) in
            try state.ensureWritable()
            return try look()
        }
    }

    /// Writes into the index's transaction.
    func write<Result>(_ change: @autoclosure () throws(FileSystemError) -> Result) throws(FileSystemError)
        -> Result
    {
        hasWritten = true
        return try read(change())
    }

    // MARK: Rows in memory

    /// An item, from memory or its row.
    func cached(_ id: ItemID) throws(FileSystemError) -> CachedFactItem {
        try items.row(id) { () throws(FileSystemError) in try counted(read(index.factItem(id))) }
    }

    /// An entry, from memory or its row.
    func cached(_ id: EntryID) throws(FileSystemError) -> CachedFactEntry {
        try entries.row(id) { () throws(FileSystemError) in try counted(read(index.factEntry(id))) }
    }

    /// Counts the bytes of a row that comes into memory.
    private func counted<Row>(_ stored: StoredFacts<Row>?) -> StoredFacts<Row>? {
        byteCount += stored?.byteCount ?? 0
        return stored
    }

    func touch(_ item: CachedFactItem, _ id: ItemID) { items.touch(item, id) }

    func touch(_ entry: CachedFactEntry, _ id: EntryID) { entries.touch(entry, id) }

    // MARK: Numbers

    /// The number of an item in the index's `items`; nil if it has none.
    package func number(of id: ItemID) throws(FileSystemError) -> Int64? { try cached(id).row.number }

    /// Stores the number of an item in the index's `items`; nil if it no longer has one.
    package func setNumber(_ number: Int64?, of id: ItemID) throws(FileSystemError) {
        try bound()
        let item = try cached(id)
        guard item.row.number != number else { return }
        item.row.number = number
        touch(item, id)
    }
}
