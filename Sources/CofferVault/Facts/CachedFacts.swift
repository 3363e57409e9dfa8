internal import CofferFacts
internal import CofferFormat
internal import CofferStore

/// What is known of an item, in memory: as its row has it, or changed since.
final class CachedFactItem {
    var state: ItemState?
    var number: Int64?
    /// The registers, but for extended attributes.
    var kind: [RegisterValue] = []
    var mode: [RegisterValue] = []
    var modified: [RegisterValue] = []
    var content: [RegisterValue] = []
    /// One of the entries that lead to it, and how many others do.
    var first: EntryID?
    var others: Int64 = 0
    /// Copies by rule of it.
    var copies: Int64 = 0
    /// Extended attributes of which there are facts.
    var attributes: Int64 = 0
    /// All entries that lead to it, ascending; nil if they were not read yet.
    var entryList: [EntryID]?
    /// All copies by rule of it, ascending; nil if they were not read yet.
    var copyList: [EntryID]?
    /// The names of its extended attributes, ascending; nil if they were not read yet.
    var attributeNames: [[UInt8]]?
    /// The hash of its row; nil if it has none.
    var stored: RowHash?
    var isDirty = false

    /// An item of which nothing is known.
    init() {}

    init(_ row: FactItemRow, _ hash: RowHash) throws(FormatError) {
        stored = hash
        number = row.number
        (first, others, copies, attributes) = (row.first, row.others, row.copies, row.attributes)
        let parts = try unsafe RegisterRecord.parts(row.facts.span.bytes)
        for part in parts {
            for assertion in part.assertions {
                let value = RegisterValue(stamp: part.stamp, assertion: assertion)
                guard assertion.item == row.id else { throw .invalid(field: "item") }
                switch assertion {
                case .kind: kind.append(value)
                case .mode: mode.append(value)
                case .modified: modified.append(value)
                case .content: content.append(value)
                case .extendedAttribute, .place: throw .invalid(field: "attribute")
                }
            }
        }
        guard row.flags.contains(.state) else { return }
        var state = ItemState()
        state.isDirectory = row.flags.contains(.directory)
        state.kindStamp = row.kindStamp.stamp(kind)
        state.entry = row.entry
        state.level = row.flags.contains(.root) ? .root : row.flags.contains(.previous) ? .previous : .claimed
        state.united = row.united
        state.shownEntries = Int(row.shown)
        state.hash = row.hash.flatMap { StateHash(bytes: $0) }
        self.state = state
    }

    /// The row that holds all this.
    func row(_ id: ItemID) -> FactItemRow {
        var row = FactItemRow(id: id)
        row.number = number
        (row.first, row.others, row.copies, row.attributes) = (first, others, copies, attributes)
        row.facts = RegisterRecord.bytes(RegisterRecord.Part.parts([kind, mode, modified, content]))
        guard let state else { return row }
        row.flags.insert(.state)
        if state.isDirectory { row.flags.insert(.directory) }
        switch state.level {
        case .claimed: break
        case .previous: row.flags.insert(.previous)
        case .root: row.flags.insert(.root)
        }
        row.shown = Int64(state.shownEntries)
        row.entry = state.entry
        row.united = state.united
        row.kindStamp = FactStamp(state.kindStamp, kind)
        row.hash = state.hash?.bytes
        return row
    }
}

/// What is known of an entry, in memory: as its row has it, or changed since.
final class CachedFactEntry {
    var state: EntryState?
    /// The values of its place.
    var places: [RegisterValue] = []
    /// Whether it leads to an item that has another entry as its first.
    var isOther = false
    /// The hash of its row; nil if it has none.
    var stored: RowHash?
    var isDirty = false

    /// An entry of which nothing is known.
    init() {}

    init(_ row: FactEntryRow, _ hash: RowHash) throws(FormatError) {
        stored = hash
        isOther = row.flags.contains(.other)
        let parts = try unsafe RegisterRecord.parts(row.facts.span.bytes)
        for part in parts {
            for assertion in part.assertions {
                guard case .place(row.id, _) = assertion else { throw .invalid(field: "attribute") }
                places.append(RegisterValue(stamp: part.stamp, assertion: assertion))
            }
        }
        guard let item = row.item else { return }
        guard let stamp = row.stamp.stamp(places) else { throw .invalid(field: "stamp") }
        var state = EntryState(item: item, stamp: stamp)
        if let copied = row.copied, let dot = row.copiedDot {
            state.copied = CopySource(item: copied, dot: dot)
        }
        state.isDirectory = row.flags.contains(.directory)
        state.isLive = row.flags.contains(.live)
        state.isActive = row.flags.contains(.active)
        (state.target, state.place, state.slot) = (row.target, row.place, row.slot)
        (state.wanted, state.shown) = (row.wanted, row.shown)
        if let place = row.taken, let item = row.takenItem { state.taken = Showing(place: place, item: item) }
        self.state = state
    }

    /// The row that holds all this.
    func row(_ id: EntryID) -> FactEntryRow {
        var row = FactEntryRow(id: id)
        row.facts = RegisterRecord.bytes(RegisterRecord.Part.parts([places]))
        guard let state else { return row }
        row.item = state.item
        row.flags.insert(.state)
        if state.isDirectory { row.flags.insert(.directory) }
        if state.isLive { row.flags.insert(.live) }
        if state.isActive { row.flags.insert(.active) }
        if isOther { row.flags.insert(.other) }
        row.stamp = FactStamp(state.stamp, places)
        (row.target, row.place, row.slot) = (state.target, state.place, state.slot)
        (row.wanted, row.shown) = (state.wanted, state.shown)
        (row.taken, row.takenItem) = (state.taken?.place, state.taken?.item)
        (row.copied, row.copiedDot) = (state.copied?.item, state.copied?.dot)
        return row
    }
}

extension FactStamp {
    /// A stamp beside the values of a register.
    init(_ stamp: Stamp?, _ values: [RegisterValue]) {
        guard let stamp else {
            self = .none
            return
        }
        self = stamp == values.last?.stamp ? .last : .other(stamp)
    }

    /// The stamp beside the values of a register.
    func stamp(_ values: [RegisterValue]) -> Stamp? {
        switch self {
        case .none: nil
        case .last: values.last?.stamp
        case .other(let stamp): stamp
        }
    }
}

extension RegisterRecord.Part {
    /// The values of some registers, put together by stamp.
    static func parts(_ registers: [[RegisterValue]]) -> [Self] {
        var parts: [Self] = []
        for values in registers {
            for value in values {
                // Mostly there is one stamp, or few.
                let index = parts.lastIndex { $0.stamp <= value.stamp }
                if let index, parts[index].stamp == value.stamp {
                    parts[index].assertions.append(value.assertion)
                } else {
                    parts.insert(
                        Self(stamp: value.stamp, assertions: [value.assertion]), at: index.map { $0 + 1 } ?? 0
                    )
                }
            }
        }
        return parts
    }
}
