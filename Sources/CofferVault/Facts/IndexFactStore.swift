internal import CofferFacts
package import CofferFormat
package import CofferStore
internal import CofferSystem

/// The facts of a vault, kept in its index: `FactTree` works on it inside the index's open transaction.
///
/// What a pass reads and changes stays in memory, so that a row is read once and written once, however often a
/// pass comes back to it. `flush` writes the rest, and belongs before each commit of the index; memory is
/// bounded, as all is written and forgotten when it grows. Nobody else may change the tables of facts.
///
/// For one thread at a time: under the vault's lock, or with `lock` set, while nobody commits the index. After an
/// error the transaction is to be undone, unless nothing was written; the store is not to be used afterwards.
package final class IndexFactStore: FactStore {
    /// What the index throws.
    package typealias Failure = StoreError

    let index: Index
    /// The vault's lock, taken for each look into the index; nil while the caller has it.
    var lock: Condition<VaultState>?
    /// Whether something was written since this was last set to false.
    var hasWritten = false
    /// Items and entries in memory, by id.
    private(set) var items: [ItemID: CachedFactItem] = [:]
    private(set) var entries: [EntryID: CachedFactEntry] = [:]
    /// The highest that have rows, of those that tell when they were made: what is new lies behind.
    private var lastItem: ItemID?
    private var lastEntry: EntryID?
    var dirtyItems: [ItemID] = []
    var dirtyEntries: [EntryID] = []
    /// Who is in a slot, wants a name, is shown at a place that is not its slot: complete for each key.
    var slots: [Place: [EntryID]] = [:]
    var wanting: [Place: [EntryID]] = [:]
    var shownElsewhere: [Place: [EntryID]] = [:]
    /// Of the entries that are not written yet, those that are shown otherwise than when they were taken.
    var changedHere: Set<EntryID> = []
    /// Of the entries that are not written yet: which came to lie, or to be claimed to lie, in a directory.
    var arrivedHere: [ItemID: [EntryID]] = [:]
    /// The directories that do not lie where facts say.
    var putBack: Set<ItemID>
    var logs: [LogID: LogRow] = [:]
    var vector = VersionVector()
    var highestClock: UInt64
    var hash: StateHash
    var isStateDirty = false
    /// Bytes of contents and names in memory, about.
    var byteCount = 0
    /// When to write and forget all.
    private let countMax: Int
    private static let byteCountMax = 16 << 20

    /// The facts of an index, which must have the tables for them.
    ///
    /// - Parameter cachedCountMax: Items and entries that are kept in memory.
    package init(_ index: Index, cachedCountMax: Int = 16_384) throws(StoreError) {
        self.index = index
        countMax = cachedCountMax
        putBack = Set(try index.putBackFactItems())
        lastItem = try index.lastFactItem(below: .endOfTimes)
        lastEntry = try index.lastFactEntry(below: .endOfTimes)
        let state = try index.factState()
        highestClock = state.clock
        hash = state.hash
        for log in try index.logs() {
            logs[log.id] = log
            vector[log.id] = log.sequence
        }
    }

    /// Whether something is not in the index's transaction yet.
    package var hasChanges: Bool { !dirtyItems.isEmpty || !dirtyEntries.isEmpty || isStateDirty }

    /// Writes all that was changed into the index's transaction.
    package func flush() throws(StoreError) {
        try flushItems()
        try flushEntries()
        guard isStateDirty else { return }
        try write(index.put(clock: highestClock, stateHash: hash))
        isStateDirty = false
    }

    /// Writes and forgets all, if there is much of it; between calls only.
    func bound() throws(StoreError) {
        guard items.count + entries.count + slots.count > countMax || byteCount > Self.byteCountMax else {
            return
        }
        try flushItems()
        try flushEntries()
        items.removeAll(keepingCapacity: true)
        entries.removeAll(keepingCapacity: true)
        slots.removeAll(keepingCapacity: true)
        wanting.removeAll()
        shownElsewhere.removeAll()
        byteCount = 0
    }

    func flushItems() throws(StoreError) {
        dirtyItems.sort()
        for id in dirtyItems {
            guard let item = items[id] else { continue }
            item.isDirty = false
            let row = item.row
            if !row.isVoid {
                item.stored = try write(index.put(row, replacing: item.stored))
                if id.isBehind(lastItem) { lastItem = id }
            } else if let stored = item.stored {
                try write(index.removeFactItem(id, stored))
                item.stored = nil
            }
        }
        dirtyItems.removeAll(keepingCapacity: true)
    }

    func flushEntries() throws(StoreError) {
        dirtyEntries.sort()
        for id in dirtyEntries {
            guard let entry = entries[id] else { continue }
            entry.isDirty = false
            let row = entry.row
            if !row.isVoid {
                entry.stored = try write(index.put(row, replacing: entry.stored))
                if id.isBehind(lastEntry) { lastEntry = id }
            } else if let stored = entry.stored {
                try write(index.removeFactEntry(id, stored))
                entry.stored = nil
            }
        }
        dirtyEntries.removeAll(keepingCapacity: true)
        changedHere.removeAll(keepingCapacity: true)
        arrivedHere.removeAll(keepingCapacity: true)
    }

    // MARK: The index

    /// Looks into the index.
    func read<Result>(_ look: @autoclosure () throws(StoreError) -> Result) throws(StoreError) -> Result {
        guard let lock else { return try look() }
        return try lock.withLock { state throws(StoreError) in
            state.noticeRollback()
            if let reason = state.stopped { throw .stopped(reason: reason) }
            return try look()
        }
    }

    /// Writes into the index's transaction.
    func write<Result>(_ change: @autoclosure () throws(StoreError) -> Result) throws(StoreError) -> Result {
        hasWritten = true
        return try read(change())
    }

    // MARK: What is in memory

    /// An item, from memory or its row.
    func cached(_ id: ItemID) throws(StoreError) -> CachedFactItem {
        if let item = items[id] { return item }
        let item: CachedFactItem
        if !id.isBehind(lastItem), let stored = try read(index.factItem(id)) {
            item = CachedFactItem(stored.row, stored: stored.hash)
            byteCount += stored.byteCount
        } else {
            item = CachedFactItem(FactItemRow(id: id), stored: nil)
        }
        items[id] = item
        return item
    }

    /// An entry, from memory or its row.
    func cached(_ id: EntryID) throws(StoreError) -> CachedFactEntry {
        if let entry = entries[id] { return entry }
        let entry: CachedFactEntry
        if !id.isBehind(lastEntry), let stored = try read(index.factEntry(id)) {
            entry = CachedFactEntry(stored.row, stored: stored.hash)
            byteCount += stored.byteCount
        } else {
            entry = CachedFactEntry(FactEntryRow(id: id), stored: nil)
        }
        entries[id] = entry
        return entry
    }

    func touch(_ item: CachedFactItem, _ id: ItemID) {
        guard !item.isDirty else { return }
        item.isDirty = true
        dirtyItems.append(id)
    }

    func touch(_ entry: CachedFactEntry, _ id: EntryID) {
        guard !entry.isDirty else { return }
        entry.isDirty = true
        dirtyEntries.append(id)
    }

    // MARK: Numbers

    /// The number of an item in the index's `items`; nil if it has none.
    package func number(of id: ItemID) throws(StoreError) -> Int64? { try cached(id).row.number }

    /// Keeps which number an item has in the index's `items`; nil if it has none any more.
    package func setNumber(_ number: Int64?, of id: ItemID) throws(StoreError) {
        try bound()
        let item = try cached(id)
        guard item.row.number != number else { return }
        item.row.number = number
        touch(item, id)
    }
}

extension Identifier {
    /// Behind all that `made(at:)` gives until the year 2109; almost all that are random lie behind it.
    fileprivate static var endOfTimes: Identifier { Identifier(low: 0, high: 1 << 58) }

    /// Whether it tells a time, and is higher than the highest that does and has a row.
    fileprivate func isBehind(_ last: Identifier?) -> Bool {
        guard self < .endOfTimes else { return false }
        return last.map { self > $0 } ?? true
    }
}
