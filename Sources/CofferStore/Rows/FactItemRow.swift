package import CofferFacts
package import CofferFormat

/// A row of the table `fact_items` (docs/format.md): the facts of an item, and what follows from them.
package struct FactItemRow: Equatable, Sendable {
    /// The item.
    package var id: ItemID
    /// Its number in `items`; nil if it has none.
    package var number: Int64?
    /// What follows from facts; nil if nothing is known.
    package var state: ItemState?
    /// The values of the register of the kind, by ascending stamp.
    package var kind: [RegisterValue] = []
    /// The values of the register of the mode, by ascending stamp.
    package var mode: [RegisterValue] = []
    /// The values of the register of the time, by ascending stamp.
    package var modified: [RegisterValue] = []
    /// The values of the register of the content, by ascending stamp.
    package var content: [RegisterValue] = []
    /// One of the entries that lead to it; nil if there is none, or only others.
    package var first: EntryID?
    /// How many entries lead to it, without `first`.
    package var others: Int64 = 0
    /// How many copies by rule it has.
    package var copies: Int64 = 0
    /// How many rows it has in `fact_attributes`.
    package var attributes: Int64 = 0

    /// The bits of the column `flags`.
    private struct Flags: OptionSet {
        let rawValue: Int64

        /// There is an `ItemState`.
        static let state = Flags(rawValue: 1)
        static let directory = Flags(rawValue: 2)
        /// A directory that lies where it was before.
        static let previous = Flags(rawValue: 4)
        /// A directory that lies in the root.
        static let root = Flags(rawValue: 8)
        /// The entry that counts is `first`.
        static let entryIsFirst = Flags(rawValue: 16)
    }

    package init(id: ItemID) {
        self.id = id
    }

    /// Whether nothing is known of the item.
    package var isVoid: Bool { self == FactItemRow(id: id) }

    static let columns = """
        id, number, flags, shown, first, others, copies, attributes, entry, united, kind_stamp, hash, facts
        """

    /// Reads a row; nil if `write` writes no such row.
    init?(_ row: Statement) {
        guard let id = row.identifier(0, ItemID.self), let kindStamp = FactStamp(row, 10) else { return nil }
        self.id = id
        number = row.isNull(1) ? nil : row.integer(1)
        first = row.identifier(4, EntryID.self)
        (others, copies, attributes) = (row.integer(5), row.integer(6), row.integer(7))
        let (flags, shown) = (Flags(rawValue: row.integer(2)), row.integer(3))
        guard shown >= 0, others >= 0, copies >= 0, attributes >= 0, readFacts(row.bytes(12)) else {
            return nil
        }
        guard flags.contains(.state) else { return }
        var state = ItemState()
        state.isDirectory = flags.contains(.directory)
        state.kindStamp = kindStamp.stamp(kind)
        state.entry = flags.contains(.entryIsFirst) ? first : row.identifier(8, EntryID.self)
        state.level = flags.contains(.root) ? .root : flags.contains(.previous) ? .previous : .claimed
        state.united = row.identifier(9, ItemID.self)
        state.shownEntries = Int(shown)
        if !row.isNull(11) {
            guard let hash = StateHash(bytes: row.bytes(11)) else { return nil }
            state.hash = hash
        }
        self.state = state
    }

    /// Reads the registers; false if they are not this item's.
    private mutating func readFacts(_ record: [UInt8]) -> Bool {
        guard let parts = unsafe try? RegisterRecord.parts(record.span.bytes) else { return false }
        for value in RegisterValue.values(of: parts) {
            guard value.assertion.item == id else { return false }
            switch value.assertion {
            case .kind: kind.append(value)
            case .mode: mode.append(value)
            case .modified: modified.append(value)
            case .content, .moved: content.append(value)
            case .extendedAttribute, .place: return false
            }
        }
        return true
    }

    func write(to columns: inout some ColumnSink) {
        var flags: Flags = []
        if let state {
            flags.insert(.state)
            if state.isDirectory { flags.insert(.directory) }
            switch state.level {
            case .claimed: break
            case .previous: flags.insert(.previous)
            case .root: flags.insert(.root)
            }
            if state.entry != nil, state.entry == first { flags.insert(.entryIsFirst) }
        }
        columns.identifier(id)
        columns.integer(number)
        columns.integer(flags.rawValue)
        columns.integer(Int64(state?.shownEntries ?? 0))
        columns.identifier(first)
        columns.integer(others)
        columns.integer(copies)
        columns.integer(attributes)
        columns.identifier(flags.contains(.entryIsFirst) ? nil : state?.entry)
        columns.identifier(state?.united)
        FactStamp(state?.kindStamp, kind).write(to: &columns)
        columns.bytes(state?.hash?.bytes)
        columns.bytes(RegisterRecord.bytes(RegisterRecord.Part.parts([kind, mode, modified, content])))
    }
}

/// A stamp in a row of facts; most often that of the highest value.
enum FactStamp {
    /// There is none.
    case none
    /// The highest of the values' stamps.
    case last
    /// Another.
    case other(Stamp)

    /// A stamp beside the values of a register.
    init(_ stamp: Stamp?, _ values: [RegisterValue]) {
        guard let stamp else {
            self = .none
            return
        }
        self = stamp == values.last?.stamp ? .last : .other(stamp)
    }

    /// Reads a column: NULL, no bytes, or a stamp.
    init?(_ row: Statement, _ column: Int32) {
        if row.isNull(column) {
            self = .none
            return
        }
        let bytes = row.bytes(column)
        if bytes.isEmpty {
            self = .last
        } else {
            guard let stamp = unsafe try? Stamp(bytes: bytes.span.bytes) else { return nil }
            self = .other(stamp)
        }
    }

    /// The stamp beside the values of a register.
    func stamp(_ values: [RegisterValue]) -> Stamp? {
        switch self {
        case .none: nil
        case .last: values.last?.stamp
        case .other(let stamp): stamp
        }
    }

    func write(to columns: inout some ColumnSink) {
        switch self {
        case .none: columns.null()
        case .last: columns.bytes([])
        case .other(let stamp): columns.bytes(stamp.bytes)
        }
    }
}
