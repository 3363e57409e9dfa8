internal import CofferFormat
internal import CofferStore

/// The changes since the last record of the intent log, as far as a record can contain them.
///
/// A record can contain extents in the tail, and rows of items that the last commit has. Other changes need
/// no mark of their own: they change index rows that are not accounted for here.
struct PendingIntents {
    /// An extent in the tail.
    struct Write {
        let write: IntentRecord.Write
        let pack: Int64
        let position: Int
        /// The number of sealed bytes.
        let count: Int
    }

    /// The number of items above which a commit is cheaper.
    private static let itemCountMax = 256

    /// The writes, in order.
    private(set) var writes: [Write] = []
    /// Items whose rows changed.
    private(set) var items: Set<Int64> = []
    /// The number of row changes that writes have made since the last commit of the index, in records or not
    /// yet.
    private(set) var accountedChanges = 0
    /// Whether all changes are here; if not, there is no record before the next commit of the index.
    private(set) var isWhole = true
    private var byteCount = 0

    /// Whether nothing changed.
    var isEmpty: Bool { writes.isEmpty && items.isEmpty }

    /// Adds a write.
    ///
    /// - Parameter changes: The number of index rows that it changed.
    mutating func note(_ write: Write, changes: Int) {
        accountedChanges += changes
        guard isWhole else { return }
        writes.append(write)
        byteCount += write.count
        if byteCount > IntentLayout.recordByteCountMax { giveUp() }
    }

    /// Adds a change of an item's row.
    mutating func note(item: Int64) {
        guard isWhole else { return }
        items.insert(item)
        if items.count > Self.itemCountMax { giveUp() }
    }

    /// Records a change that no record can contain.
    mutating func giveUp() {
        isWhole = false
        writes = []
        items = []
    }

    /// Removes the changes that went into a record.
    mutating func clear() {
        writes.removeAll(keepingCapacity: true)
        items.removeAll(keepingCapacity: true)
        byteCount = 0
    }
}

extension VaultState {
    /// Whether all changes since the last record fit the next one, except for what `fill` finds.
    var isLoggable: Bool {
        tree.intents.isWhole && index.changes == tree.intents.accountedChanges && !index.hasNewNumbers
            && packs.isSynced && tree.orphansAreStored
    }

    /// Builds the body of the next record.
    ///
    /// - Returns: Whether it contains everything.
    func fill(_ writer: inout IntentWriter) -> Bool {
        for write in tree.intents.writes {
            let isIn = packs.withTailBytes(write.pack, at: write.position, count: write.count) { sealed in
                writer.append(write.write, sealed: sealed)
            }
            guard isIn == true else { return false }
        }
        for number in tree.intents.items {
            guard let fields = tree.storedItem(number)?.row.fields,
                unsafe writer.append(row: fields.span.bytes)
            else { return false }
        }
        return true
    }
}
