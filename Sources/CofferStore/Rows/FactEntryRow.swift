package import CofferFacts
package import CofferFormat

/// A row of the table `fact_entries` (docs/format.md): the facts of an entry, and what follows from them.
package struct FactEntryRow: Equatable, Sendable {
    /// The entry.
    package var id: EntryID
    /// What follows from facts; nil if nothing is known.
    package var state: EntryState?
    /// The values of the register of its place, by ascending stamp.
    package var places: [RegisterValue] = []
    /// Whether it leads to an item that has another entry as its `first`.
    package var isOther = false

    /// The bits of the column `flags`.
    private struct Flags: OptionSet {
        let rawValue: Int64

        /// There is an `EntryState`.
        static let state = Flags(rawValue: 1)
        static let directory = Flags(rawValue: 2)
        static let live = Flags(rawValue: 4)
        static let active = Flags(rawValue: 8)
        static let other = Flags(rawValue: 16)
        /// It is shown otherwise than when it was last taken.
        static let changed = Flags(rawValue: 32)
        // The columns of one place are NULL if another column has it.
        static let targetIsPlace = Flags(rawValue: 64)
        static let placeHasName = Flags(rawValue: 128)
        static let shownInSlot = Flags(rawValue: 256)
        static let takenAsShown = Flags(rawValue: 512)
    }

    package init(id: EntryID) {
        self.id = id
    }

    /// Whether nothing is known of the entry.
    package var isVoid: Bool { self == FactEntryRow(id: id) }

    static let columns = """
        id, item, flags, stamp, target, target_name, place, place_name, slot, slot_name, wanted, wanted_name, \
        shown, shown_name, taken, taken_name, taken_item, copied, copied_dot, facts
        """

    /// Reads a row; nil if `write` writes no such row.
    init?(_ row: Statement) {
        guard let id = row.identifier(0, EntryID.self), let stamp = FactStamp(row, 3),
            let parts = unsafe try? RegisterRecord.parts(row.bytes(19).span.bytes)
        else { return nil }
        self.id = id
        places = RegisterValue.values(of: parts)
        for value in places {
            guard case .place(id, _) = value.assertion else { return nil }
        }
        let flags = Flags(rawValue: row.integer(2))
        guard let item = row.identifier(1, ItemID.self) else {
            if flags.contains(.state) { return nil }
            return
        }
        guard flags.contains(.state), let stamp = stamp.stamp(places),
            let state = Self.state(row, of: item, stamp, flags)
        else { return nil }
        isOther = flags.contains(.other)
        self.state = state
    }

    private static func state(
        _ row: Statement, of item: ItemID, _ stamp: Stamp, _ flags: Flags
    ) -> EntryState? {
        guard let target = place(row, 4), let slot = place(row, 8), let wanted = place(row, 10),
            let shown = place(row, 12), let taken = place(row, 14)
        else { return nil }
        var state = EntryState(item: item, stamp: stamp)
        state.isDirectory = flags.contains(.directory)
        state.isLive = flags.contains(.live)
        state.isActive = flags.contains(.active)
        state.slot = slot
        if flags.contains(.placeHasName) {
            guard let parent = row.identifier(6, ItemID.self), let slot else { return nil }
            state.place = Place(parent: parent, name: slot.name)
        } else {
            guard let own = place(row, 6) else { return nil }
            state.place = own
        }
        state.target = flags.contains(.targetIsPlace) ? state.place : target
        state.wanted = wanted
        state.shown = flags.contains(.shownInSlot) ? slot : shown
        let takenItem = row.identifier(16, ItemID.self)
        if flags.contains(.takenAsShown) {
            state.taken = state.showing
        } else if let taken {
            guard let takenItem else { return nil }
            state.taken = Showing(place: taken, item: takenItem)
        } else if takenItem != nil {
            return nil
        }
        let copied = row.identifier(17, ItemID.self)
        let dot = row.isNull(18) ? nil : unsafe try? Dot(bytes: row.bytes(18).span.bytes)
        guard (copied == nil) == (dot == nil) else { return nil }
        if let copied, let dot { state.copied = CopySource(item: copied, dot: dot) }
        return state
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
        var flags: Flags = []
        if let state {
            flags.insert(.state)
            if state.isDirectory { flags.insert(.directory) }
            if state.isLive { flags.insert(.live) }
            if state.isActive { flags.insert(.active) }
            if isOther { flags.insert(.other) }
            if state.taken != state.showing { flags.insert(.changed) }
            if let target = state.target, target == state.place { flags.insert(.targetIsPlace) }
            if let place = state.place, place.name == state.slot?.name { flags.insert(.placeHasName) }
            if let shown = state.shown, shown == state.slot { flags.insert(.shownInSlot) }
            if state.shown != nil, state.taken == state.showing { flags.insert(.takenAsShown) }
        }
        let taken = flags.contains(.takenAsShown) ? nil : state?.taken
        columns.identifier(id)
        columns.identifier(state?.item)
        columns.integer(flags.rawValue)
        FactStamp(state?.stamp, places).write(to: &columns)
        columns.place(flags.contains(.targetIsPlace) ? nil : state?.target)
        columns.identifier(state?.place?.parent)
        columns.bytes(flags.contains(.placeHasName) ? nil : state?.place?.name.bytes)
        columns.place(state?.slot)
        columns.place(state?.wanted)
        columns.place(flags.contains(.shownInSlot) ? nil : state?.shown)
        columns.place(taken?.place)
        columns.identifier(taken?.item)
        columns.identifier(state?.copied?.item)
        columns.bytes(state?.copied?.dot.bytes)
        columns.bytes(RegisterRecord.bytes(RegisterRecord.Part.parts([places])))
    }
}
