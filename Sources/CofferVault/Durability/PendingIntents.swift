internal import CofferFormat
internal import CofferStore

/// What changed since the last record of the intent log, as far as a record can hold it.
///
/// A record can hold extents that were put into the tail, and rows of items that the last commit has. All
/// other changes need no mark of their own: they change rows of the index that nobody accounts for here.
struct PendingIntents {
    /// An extent in the tail.
    struct Write {
        let write: IntentRecord.Write
        let pack: Int64
        let position: Int
        /// Sealed bytes.
        let count: Int
    }

    /// Items beyond which a commit is cheaper.
    private static let itemCountMax = 256

    /// In the order in which they were made.
    private(set) var writes: [Write] = []
    /// Items whose rows changed.
    private(set) var items: Set<Int64> = []
    /// Row changes since the last commit of the index that writes, in records or not yet, have made.
    private(set) var accountedChanges = 0
    /// Whether nothing is missing; if not, there is no record before the next commit of the index.
    private(set) var isWhole = true
    private var byteCount = 0

    /// Whether nothing changed.
    var isEmpty: Bool { writes.isEmpty && items.isEmpty }

    /// Notes a write.
    ///
    /// - Parameter changes: Rows of the index that it changed.
    mutating func note(_ write: Write, changes: Int) {
        accountedChanges += changes
        guard isWhole else { return }
        writes.append(write)
        byteCount += write.count
        if byteCount > IntentLayout.recordByteCountMax { giveUp() }
    }

    /// Notes that the row of an item changed.
    mutating func note(item: Int64) {
        guard isWhole else { return }
        items.insert(item)
        if items.count > Self.itemCountMax { giveUp() }
    }

    /// Notes a change that no record can hold.
    mutating func giveUp() {
        isWhole = false
        writes = []
        items = []
    }

    /// Forgets what went into a record.
    mutating func clear() {
        writes.removeAll(keepingCapacity: true)
        items.removeAll(keepingCapacity: true)
        byteCount = 0
    }
}

extension VaultState {
    /// Whether all that changed since the last record fits the next one, but for what `fill` finds.
    var isLoggable: Bool {
        intents.isWhole && index.changes == intents.accountedChanges && !index.hasNewNumbers
            && packs.isSynced && orphansAreStored && discards.isEmpty
    }

    /// Puts together the body of the next record.
    ///
    /// - Returns: Whether everything is in it.
    func fill(_ writer: inout IntentWriter) -> Bool {
        for write in intents.writes {
            let isIn = packs.withTailBytes(write.pack, at: write.position, count: write.count) { sealed in
                writer.append(write.write, sealed: sealed)
            }
            guard isIn == true else { return false }
        }
        for number in intents.items {
            guard let fields = storedItem(number)?.row.fields,
                unsafe writer.append(row: fields.span.bytes)
            else { return false }
        }
        return true
    }
}
