package import CofferFormat

/// What an index keeps of an item's facts, and of what follows from them.
///
/// docs/format.md, table `fact_items`.
package struct FactItemRow: Equatable, Sendable {
    /// The item.
    package var id: ItemID
    /// Its number in `items`; nil if it has none.
    package var number: Int64?
    /// What is known of it.
    package var flags: Flags = []
    /// Entries of it that are shown.
    package var shown: Int64 = 0
    /// One of the entries that lead to it; nil if there is none, or only others.
    package var first: EntryID?
    /// Entries that lead to it, without `first`.
    package var others: Int64 = 0
    /// Copies by rule of it.
    package var copies: Int64 = 0
    /// Rows in `fact_attributes`.
    package var attributes: Int64 = 0
    /// Of a directory: the entry that counts.
    package var entry: EntryID?
    /// The directory that is shown in its stead.
    package var united: ItemID?
    /// When it was said what it is.
    package var kindStamp: FactStamp = .none
    /// What it adds to the hash of what is shown: 32 bytes.
    package var hash: [UInt8]?
    /// The values of its registers, but for extended attributes, as a `RegisterRecord`.
    package var facts: [UInt8] = []

    /// What is known of an item.
    package struct Flags: OptionSet, Sendable {
        package let rawValue: Int64
        package init(rawValue: Int64) { self.rawValue = rawValue }

        /// Something follows from facts: what is here, but for `number`, `facts` and the counts.
        package static let state = Flags(rawValue: 1)
        /// It is a directory.
        package static let directory = Flags(rawValue: 2)
        /// It is a directory that lies where it was before.
        package static let previous = Flags(rawValue: 4)
        /// It is a directory that lies in the root.
        package static let root = Flags(rawValue: 8)
        /// The entry that counts is `first`; not in the API.
        static let entryIsFirst = Flags(rawValue: 16)
    }

    package init(id: ItemID) {
        self.id = id
    }

    /// Whether nothing is known of it.
    package var isVoid: Bool { self == FactItemRow(id: id) }

    static let columns = """
        id, number, flags, shown, first, others, copies, attributes, entry, united, kind_stamp, hash, facts
        """

    /// Reads a row; nil if it is none that `write` writes.
    init?(_ row: Statement) {
        guard let id = row.identifier(0, ItemID.self), let stamp = FactStamp(row, 10) else { return nil }
        self.id = id
        number = row.isNull(1) ? nil : row.integer(1)
        flags = Flags(rawValue: row.integer(2))
        (shown, others, copies, attributes) = (row.integer(3), row.integer(5), row.integer(6), row.integer(7))
        first = row.identifier(4, EntryID.self)
        entry = flags.remove(.entryIsFirst) == nil ? row.identifier(8, EntryID.self) : first
        united = row.identifier(9, ItemID.self)
        kindStamp = stamp
        hash = row.isNull(11) ? nil : row.bytes(11)
        facts = row.bytes(12)
        guard shown >= 0, others >= 0, copies >= 0, attributes >= 0, hash == nil || hash?.count == 32 else {
            return nil
        }
    }

    func write(to columns: inout some ColumnSink) {
        let entryIsFirst = entry != nil && entry == first
        columns.identifier(id)
        columns.integer(number)
        columns.integer(flags.union(entryIsFirst ? .entryIsFirst : []).rawValue)
        columns.integer(shown)
        columns.identifier(first)
        columns.integer(others)
        columns.integer(copies)
        columns.integer(attributes)
        columns.identifier(entryIsFirst ? nil : entry)
        columns.identifier(united)
        kindStamp.write(to: &columns)
        columns.bytes(hash)
        columns.bytes(facts)
    }
}

/// A stamp beside facts, of which it mostly is one.
package enum FactStamp: Equatable, Sendable {
    /// There is none.
    case none
    /// The highest of the facts' stamps.
    case last
    /// Another.
    case other(Stamp)

    /// NULL, no bytes, or a stamp.
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

    func write(to columns: inout some ColumnSink) {
        switch self {
        case .none: columns.null()
        case .last: columns.bytes([])
        case .other(let stamp): columns.bytes(stamp.bytes)
        }
    }
}
