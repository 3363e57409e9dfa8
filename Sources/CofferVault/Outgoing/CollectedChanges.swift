internal import CofferFacts
internal import CofferFormat
internal import CofferStore
internal import CofferSystem

/// Which changes become facts now.
enum CollectionScope {
    /// Names, and items that have been left alone, or have waited for long.
    case settled
    /// All changes.
    case all
    /// Names, and these items.
    case items(Set<ItemID>)
}

/// Changes that become one commit: records of the journal, and items with unsent changes.
struct CollectedChanges {
    /// The approximate number of journal records, and of items, at which the rest waits for the next commit.
    static let countMax = 512
    /// The number of content and attribute bytes at which the rest waits for the next commit.
    static let byteCountMax = 4 << 20
    /// How long a file must have been left alone, in nanoseconds: a small file, and any other.
    static let quietMin: Int64 = 200_000_000, quiet: Int64 = 2_000_000_000
    /// The maximum size of a small file, in bytes.
    static let smallByteCountMax: Int64 = 1 << 20
    /// How long an item can be kept waiting, in nanoseconds.
    static let patience: Int64 = 30_000_000_000
    /// The number of items that are looked at under the lock.
    private static let candidatesMax = 4096

    /// Changes of names.
    var records: [JournalRecord] = []
    /// The last journal row that the records come from.
    var lastRow: Int64?
    /// Items that the records create.
    var made: [Int64] = []
    /// Items to send.
    var items: [Int64] = []
    /// The files among them whose content must be sent.
    var files: [Int64] = []

    var isEmpty: Bool { lastRow == nil && items.isEmpty }

    /// Collects the changes to send.
    init(_ scope: CollectionScope, _ state: inout VaultState) throws(FileSystemError) {
        try state.tree.storeItems()
        let now = Clock.realTime
        try readJournal(scope, now, &state)
        var looked = 0
        func isDue(_ row: ItemRow) -> Bool {
            switch scope {
            case .all: return true
            case .items(let ids): return ids.contains(row.id)
            case .settled:
                guard row.unsent.contains(.content) else { return true }
                let quiet = row.size <= Self.smallByteCountMax ? Self.quietMin : Self.quiet
                let changed = max(row.changed, state.tree.items[row.number]?.written ?? 0)
                if changed < now - quiet || changed > now { return true }
                if let since = state.tree.busy[row.number] { return since < now - Self.patience }
                state.tree.busy[row.number] = now
                return false
            }
        }
        for number in made {
            if let row = try state.tree.row(number), row.links > 0, isDue(row) { add(row) }
        }
        if case .items(let ids) = scope {
            for id in ids.sorted() {
                if let row = try state.row(id, nil), !row.unsent.isDisjoint(with: .sent) { add(row) }
            }
            return
        }
        var last: Int64 = 0
        while items.count < Self.countMax, looked < Self.candidatesMax {
            let page = try state.index.unsentItems(after: last, limit: Self.countMax)
            for number in page where items.count < Self.countMax {
                last = number
                looked += 1
                if let row = try state.tree.row(number), isDue(row) { add(row) }
            }
            if page.count < Self.countMax { break }
        }
    }

    private mutating func add(_ row: ItemRow) {
        items.append(row.number)
        if row.unsent.contains(.content), FileType(mode: row.mode) == .regular, row.links > 0 {
            files.append(row.number)
        }
    }

    /// Reads changes of names; new files wait, so that their contents are sent with them.
    private mutating func readJournal(
        _ scope: CollectionScope, _ now: Int64, _ state: inout VaultState
    ) throws(FileSystemError) {
        while self.records.count < Self.countMax {
            let row = try state.index.journal(after: lastRow ?? 0, limit: 1).first
            guard let row else { break }
            let records: [JournalRecord]
            do throws(FormatError) {
                records = try unsafe JournalRecord.records(row.record.span.bytes)
            } catch {
                throw .damaged(place: "the journal in the index")
            }
            if case .settled = scope, Self.areFresh(records, now) { break }
            self.records += records
            lastRow = row.number
        }
        for case .make(let made, _) in records { self.made.append(made.number) }
    }

    private static func areFresh(_ records: [JournalRecord], _ now: Int64) -> Bool {
        for case .make(let made, _) in records.reversed() where made.kind == .file {
            return (now - quietMin..<now).contains(made.modified)
        }
        return false
    }
}
