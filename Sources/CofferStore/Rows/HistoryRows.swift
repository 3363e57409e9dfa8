package import CofferFormat

/// What there is once for a vault's history (docs/format.md, table `history`).
package struct HistoryRow: Equatable, Sendable {
    /// How long states are kept, in seconds; 0 for none, and less for ever.
    package var kept: Int64
    /// When the vault last changed, in nanoseconds since 1970.
    package var changed: Int64
    /// The number of the last moment that there was; 0 if there was none.
    package var last: Int64

    package init(kept: Int64, changed: Int64, last: Int64 = 0) {
        self.kept = kept
        self.changed = changed
        self.last = last
    }

    init(_ row: Statement) {
        kept = row.integer(0)
        changed = row.integer(1)
        last = row.integer(2)
    }

    func write(to columns: inout some ColumnSink) {
        columns.integer(1)
        columns.integer(kept)
        columns.integer(changed)
        columns.integer(last)
    }
}

/// A state of the vault that is kept (docs/format.md, table `moments`).
package struct MomentRow: Equatable, Sendable {
    /// Ascending with time.
    package var number: Int64
    /// From when on the vault was in this state, in nanoseconds since 1970.
    package var since: Int64
    /// When the first change of the state came, in nanoseconds since 1970.
    package var begun: Int64
    /// All items of the state have lower numbers.
    package var nextItem: Int64
    /// All names of the state have lower cookies.
    package var nextCookie: Int64

    package init(number: Int64, since: Int64, begun: Int64, nextItem: Int64, nextCookie: Int64) {
        self.number = number
        self.since = since
        self.begun = begun
        self.nextItem = nextItem
        self.nextCookie = nextCookie
    }

    static let columns = "number, since, begun, next_item, next_cookie"

    init(_ row: Statement) {
        number = row.integer(0)
        since = row.integer(1)
        begun = row.integer(2)
        nextItem = row.integer(3)
        nextCookie = row.integer(4)
    }

    func write(to columns: inout some ColumnSink) {
        for value in [number, since, begun, nextItem, nextCookie] { columns.integer(value) }
    }
}

/// An item as it was up to a moment (docs/format.md, table `versions`).
package struct VersionRow: Equatable, Sendable {
    /// The item's number.
    package var item: Int64
    /// The last moment in which the item was like this.
    package var until: Int64
    /// The number of the row of `items` that says how it was.
    package var version: Int64
    /// The number of names that it had.
    package var links: Int64

    package init(item: Int64, until: Int64, version: Int64, links: Int64) {
        self.item = item
        self.until = until
        self.version = version
        self.links = links
    }

    static let columns = "item, until, version, links"

    init(_ row: Statement) {
        item = row.integer(0)
        until = row.integer(1)
        version = row.integer(2)
        links = row.integer(3)
    }

    func write(to columns: inout some ColumnSink) {
        for value in [item, until, version, links] { columns.integer(value) }
    }
}

/// A device that changed an item in the time of a moment (docs/format.md, table `authors`).
package struct AuthorRow: Hashable, Sendable {
    /// The moment whose changes the change belongs to.
    package var moment: Int64
    /// The item's number.
    package var item: Int64
    /// The device's log; nil for this device.
    package var log: LogID?
    /// Whether the device brought the item into the vault.
    package var isCreation: Bool

    package init(moment: Int64, item: Int64, log: LogID?, isCreation: Bool) {
        self.moment = moment
        self.item = item
        self.log = log
        self.isCreation = isCreation
    }

    static let columns = "moment, item, log, created"

    /// Reads a row; nil if `write` writes no such row.
    init?(_ row: Statement) {
        moment = row.integer(0)
        item = row.integer(1)
        isCreation = row.integer(3) != 0
        if !row.bytes(2).isEmpty {
            guard let log = row.identifier(2, LogID.self) else { return nil }
            self.log = log
        }
    }

    func write(to columns: inout some ColumnSink) {
        columns.integer(moment)
        columns.integer(item)
        if let log { columns.identifier(log) } else { columns.bytes([]) }
        columns.integer(isCreation ? 1 : 0)
    }
}

/// A state of the vault that has a name (docs/format.md, table `snapshots`).
package struct SnapshotRow: Equatable, Sendable {
    /// Ascending, in the order in which they were made.
    package var number: Int64
    /// The name, of which there is one.
    package var name: [UInt8]
    /// The number of the moment; one more than the last one for the present state, whose moment has not begun.
    package var moment: Int64
    /// When the snapshot was made, in nanoseconds since 1970.
    package var made: Int64

    package init(number: Int64, name: [UInt8], moment: Int64, made: Int64) {
        self.number = number
        self.name = name
        self.moment = moment
        self.made = made
    }

    static let columns = "number, name, moment, made"

    init(_ row: Statement) {
        number = row.integer(0)
        name = row.bytes(1)
        moment = row.integer(2)
        made = row.integer(3)
    }

    func write(to columns: inout some ColumnSink) {
        columns.integer(number)
        columns.bytes(name)
        columns.integer(moment)
        columns.integer(made)
    }
}

/// A range that was a hole in a version, and is content in a later one (docs/format.md, table `holes`).
struct HoleRow: Equatable {
    let version: Int64
    let range: Range<Int64>

    func write(to columns: inout some ColumnSink) {
        columns.integer(version)
        columns.integer(range.lowerBound)
        columns.integer(Int64(range.count))
    }
}
