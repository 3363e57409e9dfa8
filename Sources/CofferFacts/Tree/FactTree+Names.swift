internal import CofferFormat

// Which entry has a name: directories with the same name become one, and one file keeps it.
extension FactTree {
    /// Decides which entry has the name of a slot.
    mutating func resolve(_ slot: Place, _ pass: inout Pass) throws(Store.Failure) {
        var directories: [(order: UnionOrder, entry: EntryID)] = []
        var files: [(stamp: Stamp, entry: EntryID)] = []
        for id in try store.entries(inSlot: slot) {
            guard let state = try store.entry(id) else { continue }
            if state.isDirectory, let stamp = try store.item(state.item)?.kindStamp {
                directories.append((UnionOrder(stamp: stamp, item: state.item), id))
            } else {
                files.append((state.stamp, id))
            }
        }
        if let first = directories.min(by: { $0.order < $1.order }) {
            for directory in directories {
                try unite(directory.entry, with: first.order.item, slot, &pass)
            }
        } else if let winner = files.max(by: { $0 < $1 }) {
            files.removeAll { $0.entry == winner.entry }
            try giveName(of: slot, to: winner.entry, &pass)
        }
        for file in files {
            guard var state = try store.entry(file.entry) else { continue }
            if let before = state.wanted { pass.names.insert(before) }
            let name = try conflictName(slot, state.stamp)
            pass.names.insert(name)
            guard state.wanted != name else { continue }
            state.wanted = name
            try store.setEntry(state, file.entry)
        }
        // Names by rule give way to stated names.
        if let name = ConflictName.wanted(from: slot.name) {
            pass.names.insert(Place(parent: slot.parent, name: name))
        }
    }

    /// Shows a directory, or makes it part of the one that is shown.
    private mutating func unite(
        _ id: EntryID, with first: ItemID, _ slot: Place, _ pass: inout Pass
    ) throws(Store.Failure) {
        guard let state = try store.entry(id), var item = try store.item(state.item) else { return }
        let united = first == state.item ? nil : first
        if item.united != united {
            item.united = united
            try store.setItem(item, state.item)
            pass.leaving.append(state.item)
        }
        try giveName(of: united == nil ? slot : nil, to: id, &pass)
    }

    /// Shows an entry in a slot, or not at all, and removes its name by rule.
    mutating func giveName(of slot: Place?, to id: EntryID, _ pass: inout Pass) throws(Store.Failure) {
        guard var state = try store.entry(id) else { return }
        if let wanted = state.wanted { pass.names.insert(wanted) }
        state.wanted = nil
        try show(slot, id, &state, &pass)
    }

    /// The name by rule, without a number, of an entry or content that lost a slot; the stamp is that of the
    /// loser.
    func conflictName(_ slot: Place, _ stamp: Stamp) throws(Store.Failure) -> Place {
        let name = ConflictName.wanted(
            for: slot.name, label: try store.label(of: stamp.dot.log), milliseconds: stamp.milliseconds)
        return Place(parent: slot.parent, name: name)
    }

    /// Numbers the entries that want the same name by rule, the lowest stamp first; skips stated names.
    mutating func number(_ wanted: Place, _ pass: inout Pass) throws(Store.Failure) {
        var claims: [(stamp: Stamp, entry: EntryID, state: EntryState)] = []
        for id in try store.entries(wanting: wanted) {
            guard let state = try store.entry(id) else { continue }
            claims.append((state.stamp, id, state))
        }
        claims.sort { ($0.stamp, $0.entry) < ($1.stamp, $1.entry) }
        var number = 0
        for var claim in claims {
            var shown: Place
            repeat {
                number += 1
                let name = ConflictName.numbered(wanted.name, number)
                shown = Place(parent: wanted.parent, name: name)
            } while try !store.entries(inSlot: shown).isEmpty
            try show(shown, claim.entry, &claim.state, &pass)
        }
    }
}

/// Orders directories of one name; the lowest, which was made first, is shown.
private struct UnionOrder: Comparable {
    let stamp: Stamp
    let item: ItemID

    static func < (left: Self, right: Self) -> Bool { (left.stamp, left.item) < (right.stamp, right.item) }
}
