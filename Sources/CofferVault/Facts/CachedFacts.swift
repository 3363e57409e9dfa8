internal import CofferFacts
internal import CofferFormat
internal import CofferStore

/// A row of a table of facts.
protocol FactRow {
    /// What its identifier identifies.
    associatedtype Kind

    /// The row of something of which nothing is known.
    init(id: Identifier<Kind>)
    /// Whether nothing is known.
    var isVoid: Bool { get }
}

extension FactItemRow: FactRow {}
extension FactEntryRow: FactRow {}

/// A row in memory.
class CachedFactRow<Row: FactRow> {
    var row: Row
    /// The hash of its row in the index; nil if it has none.
    fileprivate var stored: RowHash?
    fileprivate var isDirty = false

    required init(_ row: Row, stored: RowHash?) {
        self.row = row
        self.stored = stored
    }
}

/// An item's row in memory, with values that were read or changed since.
final class CachedFactItem: CachedFactRow<FactItemRow> {
    /// All entries of the item, ascending; nil if they have not been read yet.
    var entryList: [EntryID]?
    /// All copies by rule of the item, ascending; nil if they have not been read yet.
    var copyList: [EntryID]?
    /// The names of its extended attributes, ascending; nil if they have not been read yet.
    var attributeNames: [[UInt8]]?
}

/// An entry's row in memory.
final class CachedFactEntry: CachedFactRow<FactEntryRow> {}

/// The rows of a table of facts that are in memory, by identifier.
struct CachedFacts<Row: FactRow, Cached: CachedFactRow<Row>> {
    private var rows: [Identifier<Row.Kind>: Cached] = [:]
    private var dirty: [Identifier<Row.Kind>] = []
    /// The highest time-based identifier with a row; higher ones are new.
    private var last: Identifier<Row.Kind>?

    init(last: Identifier<Row.Kind>?) {
        self.last = last
    }

    var count: Int { rows.count }
    /// Whether some changes are not in the index.
    var hasChanges: Bool { !dirty.isEmpty }

    /// A row, from memory or the index.
    mutating func row(
        _ id: Identifier<Row.Kind>, _ read: () throws(FileSystemError) -> StoredFacts<Row>?
    ) throws(FileSystemError) -> Cached {
        if let cached = rows[id] { return cached }
        let stored = id.isBehind(last) ? nil : try read()
        let cached = Cached(stored?.row ?? Row(id: id), stored: stored?.hash)
        rows[id] = cached
        return cached
    }

    /// Records that a row was changed.
    mutating func touch(_ cached: Cached, _ id: Identifier<Row.Kind>) {
        guard !cached.isDirty else { return }
        cached.isDirty = true
        dirty.append(id)
    }

    /// Writes all changes, by ascending identifier.
    mutating func flush(
        put: (Row, RowHash?) throws(FileSystemError) -> RowHash,
        remove: (Identifier<Row.Kind>, RowHash) throws(FileSystemError) -> Void
    ) throws(FileSystemError) {
        dirty.sort()
        for id in dirty {
            guard let cached = rows[id] else { continue }
            cached.isDirty = false
            if !cached.row.isVoid {
                cached.stored = try put(cached.row, cached.stored)
                if id.isBehind(last) { last = id }
            } else if let stored = cached.stored {
                try remove(id, stored)
                cached.stored = nil
            }
        }
        dirty.removeAll(keepingCapacity: true)
    }

    /// Drops all rows, which must be written.
    mutating func drop() {
        rows.removeAll(keepingCapacity: true)
    }
}

extension Identifier {
    /// Higher than all ids of `made(at:)` until the year 2109; almost all random ids are higher.
    static var endOfTimes: Identifier { Identifier(low: 0, high: 1 << 58) }

    /// Whether the id is time-based, and higher than the highest such id with a row.
    fileprivate func isBehind(_ last: Identifier?) -> Bool {
        guard self < .endOfTimes else { return false }
        return last.map { self > $0 } ?? true
    }
}
