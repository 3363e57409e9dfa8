package import CofferFormat

/// What an index keeps of an entry's facts, and of what follows from them.
///
/// docs/format.md, table `fact_entries`.
package struct FactEntryRow: Equatable, Sendable {
    /// The entry.
    package var id: EntryID
    /// What it leads to; nil if nothing follows from facts yet.
    package var item: ItemID?
    /// What is known of it.
    package var flags: Flags = []
    /// The stamp of the fact that counts.
    package var stamp: FactStamp = .none
    /// Where it claims to lie.
    package var target: Place?
    /// Where it lies.
    package var place: Place?
    /// The name that it competes for.
    package var slot: Place?
    /// The name by rule that it competes for.
    package var wanted: Place?
    /// Where it is shown.
    package var shown: Place?
    /// Where it was shown when it was last taken.
    package var taken: Place?
    /// To what it led when it was last taken; nil if it was not shown.
    package var takenItem: ItemID?
    /// Of a copy by rule: of which item.
    package var copied: ItemID?
    /// Of a copy by rule: the commit of the content; nil if it is none.
    package var copiedDot: Dot?
    /// The values of its register as a `RegisterRecord`.
    package var facts: [UInt8] = []

    /// What is known of an entry.
    package struct Flags: OptionSet, Sendable {
        package let rawValue: Int64
        package init(rawValue: Int64) { self.rawValue = rawValue }

        /// Something follows from facts: all that is here, but for `facts`.
        package static let state = Flags(rawValue: 1)
        /// It leads to a directory.
        package static let directory = Flags(rawValue: 2)
        /// It is shown whatever lies in it.
        package static let live = Flags(rawValue: 4)
        /// It is shown, or a part of a directory that is.
        package static let active = Flags(rawValue: 8)
        /// It is not the item's `first`.
        package static let other = Flags(rawValue: 16)

        // Set and heeded by `write` and `init`; not in the API.
        static let changed = Flags(rawValue: 32)
        static let targetIsPlace = Flags(rawValue: 64)
        static let placeHasName = Flags(rawValue: 128)
        static let shownInSlot = Flags(rawValue: 256)
        static let takenAsShown = Flags(rawValue: 512)
        static let stored: Flags = [.changed, .targetIsPlace, .placeHasName, .shownInSlot, .takenAsShown]
    }

    package init(id: EntryID) {
        self.id = id
    }

    /// Whether nothing is known of it.
    package var isVoid: Bool { self == FactEntryRow(id: id) }

    /// Whether it is shown otherwise than when it was last taken.
    private var isTaken: Bool { taken == shown && takenItem == (shown == nil ? nil : item) }

    static let columns = """
        id, item, flags, stamp, target, target_name, place, place_name, slot, slot_name, wanted, wanted_name, \
        shown, shown_name, taken, taken_name, taken_item, copied, copied_dot, facts
        """

    /// Reads a row; nil if it is none that `write` writes.
    init?(_ row: Statement) {
        guard let id = row.identifier(0, EntryID.self), let stamp = FactStamp(row, 3),
            let target = Self.place(row, 4), let slot = Self.place(row, 8), let wanted = Self.place(row, 10),
            let shown = Self.place(row, 12), let taken = Self.place(row, 14)
        else { return nil }
        let all = Flags(rawValue: row.integer(2))
        self.id = id
        self.stamp = stamp
        item = row.identifier(1, ItemID.self)
        flags = all.subtracting(.stored)
        self.slot = slot
        if all.contains(.placeHasName) {
            guard let parent = row.identifier(6, ItemID.self), let slot else { return nil }
            place = Place(parent: parent, name: slot.name)
        } else {
            guard let own = Self.place(row, 6) else { return nil }
            place = own
        }
        self.target = all.contains(.targetIsPlace) ? place : target
        self.wanted = wanted
        self.shown = all.contains(.shownInSlot) ? slot : shown
        self.taken = all.contains(.takenAsShown) ? self.shown : taken
        takenItem = row.identifier(16, ItemID.self)
        if all.contains(.takenAsShown), self.shown != nil { takenItem = item }
        copied = row.identifier(17, ItemID.self)
        copiedDot = row.isNull(18) ? nil : unsafe try? Dot(bytes: row.bytes(18).span.bytes)
        facts = row.bytes(19)
        guard (copied == nil) == (copiedDot == nil), (self.taken == nil) == (takenItem == nil),
            (item == nil) == !flags.contains(.state)
        else { return nil }
    }

    /// What two columns hold: a place or none; nil if it is neither.
    private static func place(_ row: Statement, _ column: Int32) -> Place?? {
        if row.isNull(column), row.isNull(column + 1) { return .some(nil) }
        guard let parent = row.identifier(column, ItemID.self), let name = EntryName(row.bytes(column + 1))
        else {
            return nil
        }
        return Place(parent: parent, name: name)
    }

    func write(to columns: inout some ColumnSink) {
        var all = flags
        if !isTaken { all.insert(.changed) }
        if let target, target == place { all.insert(.targetIsPlace) }
        if let place, place.name == slot?.name { all.insert(.placeHasName) }
        if let shown, shown == slot { all.insert(.shownInSlot) }
        if isTaken, shown != nil { all.insert(.takenAsShown) }
        columns.identifier(id)
        columns.identifier(item)
        columns.integer(all.rawValue)
        stamp.write(to: &columns)
        columns.place(all.contains(.targetIsPlace) ? nil : target)
        columns.identifier(place?.parent)
        columns.bytes(all.contains(.placeHasName) ? nil : place?.name.bytes)
        columns.place(slot)
        columns.place(wanted)
        columns.place(all.contains(.shownInSlot) ? nil : shown)
        columns.place(all.contains(.takenAsShown) ? nil : taken)
        columns.identifier(all.contains(.takenAsShown) ? nil : takenItem)
        columns.identifier(copied)
        columns.bytes(copiedDot?.bytes)
        columns.bytes(facts)
    }
}
