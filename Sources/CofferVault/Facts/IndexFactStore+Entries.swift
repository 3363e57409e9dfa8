package import CofferFacts
package import CofferFormat
internal import CofferStore

// Entries, and the ways to find them.
//
// A list in memory is complete: it is read before an entry is added or removed, and kept up to date from then
// on. Anything without a list in memory is looked up in the index, after all entries have been written. For a
// directory without written entries, memory has everything.
extension IndexFactStore {
    /// The state of an entry; nil if the entry is unknown.
    package func entry(_ id: EntryID) throws(FileSystemError) -> EntryState? { try cached(id).row.state }

    /// Stores the state of an entry; nil removes it.
    package func setEntry(_ state: EntryState?, _ id: EntryID) throws(FileSystemError) {
        try bound()
        let entry = try cached(id)
        let before = entry.row.state
        guard before != state else { return }
        if before?.item != state?.item {
            if let item = before?.item { try detach(entry, id, from: item) }
            if let item = state?.item { try attach(entry, id, to: item) }
        }
        if before?.copied?.item != state?.copied?.item {
            if let item = before?.copied?.item { try changeCopies(of: item) { $0.remove(id) } }
            if let item = state?.copied?.item { try changeCopies(of: item) { $0.insertSorted(id) } }
        }
        if before?.slot != state?.slot {
            if let slot = before?.slot { slots[slot] = try entries(inSlot: slot).filter { $0 != id } }
            if let slot = state?.slot { slots[slot] = try entries(inSlot: slot).inserting(id) }
        }
        if before?.wanted != state?.wanted {
            if let name = before?.wanted { wanting[name] = try entries(wanting: name).filter { $0 != id } }
            if let name = state?.wanted { wanting[name] = try entries(wanting: name).inserting(id) }
        }
        let (elsewhere, newElsewhere) = (before?.shownElsewhere, state?.shownElsewhere)
        if elsewhere != newElsewhere {
            if let place = elsewhere {
                shownElsewhere[place] = try entries(shownElsewhereAt: place).filter { $0 != id }
            }
            if let place = newElsewhere {
                shownElsewhere[place] = try entries(shownElsewhereAt: place).inserting(id)
            }
        }
        noteArrival(of: id, before, state)
        entry.row.state = state
        touch(entry, id)
        if let state, state.showing != state.taken { changedHere.insert(id) } else { changedHere.remove(id) }
    }

    /// Records in which directory an entry lies now, or claims to lie.
    private func noteArrival(of id: EntryID, _ before: EntryState?, _ state: EntryState?) {
        let (place, target) = (state?.place?.parent, state?.target?.parent)
        if let place, place != before?.place?.parent { arrivedHere[place, default: []].append(id) }
        if let target, target != place, target != before?.target?.parent || target == before?.place?.parent {
            arrivedHere[target, default: []].append(id)
        }
    }

    /// The unwritten entries that newly lie in a directory, ascending.
    private func arrived(in parent: ItemID, _ counts: (EntryState) -> Bool) throws(FileSystemError)
        -> [EntryID]
    {
        var found: [EntryID] = []
        for id in Set(arrivedHere[parent] ?? []).sorted() {
            if let state = try entry(id), counts(state) { found.append(id) }
        }
        return found
    }

    private func attach(_ entry: CachedFactEntry, _ id: EntryID, to itemID: ItemID) throws(FileSystemError) {
        let list = try entries(of: itemID)
        let item = try cached(itemID)
        entry.row.isOther = item.row.first != nil
        if entry.row.isOther { item.row.others += 1 } else { item.row.first = id }
        item.entryList = list.inserting(id)
        touch(item, itemID)
    }

    private func detach(_ entry: CachedFactEntry, _ id: EntryID, from itemID: ItemID) throws(FileSystemError)
    {
        let list = try entries(of: itemID)
        let item = try cached(itemID)
        if entry.row.isOther { item.row.others -= 1 } else { item.row.first = nil }
        entry.row.isOther = false
        item.entryList = list.filter { $0 != id }
        touch(item, itemID)
    }

    private func changeCopies(of itemID: ItemID, _ change: (inout [EntryID]) -> Void) throws(FileSystemError)
    {
        var list = try copies(of: itemID)
        let item = try cached(itemID)
        change(&list)
        item.row.copies = Int64(list.count)
        item.copyList = list
        touch(item, itemID)
    }

    /// The entries of an item, including copies by rule; ascending.
    package func entries(of id: ItemID) throws(FileSystemError) -> [EntryID] {
        let item = try cached(id)
        if let list = item.entryList { return list }
        var list = item.row.others == 0 ? [] : try read(index.otherFactEntries(of: id))
        if let first = item.row.first { list.append(first) }
        list.sort()
        item.entryList = list
        return list
    }

    /// The copies by rule of an item.
    package func copies(of id: ItemID) throws(FileSystemError) -> [EntryID] {
        let item = try cached(id)
        if let list = item.copyList { return list }
        let list = item.row.copies == 0 ? [] : try read(index.factEntries(copyOf: id)).sorted()
        item.copyList = list
        return list
    }

    /// Up to `limit` entries whose place is in a directory, after `last`; ascending.
    package func entries(
        placedIn parent: ItemID, after last: EntryID?, limit: Int
    ) throws(FileSystemError) -> [EntryID] {
        if entries.hasChanges {
            let first = try read(index.factEntries(placedIn: parent, after: nil, limit: 1))
            if first.isEmpty {
                let all = try arrived(in: parent) { $0.place?.parent == parent }
                return Array(all.lazy.filter { id in last.map { id > $0 } ?? true }.prefix(limit))
            }
            try flushEntries()
        }
        return try read(index.factEntries(placedIn: parent, after: last, limit: limit))
    }

    /// Whether the place of an active entry is in a directory.
    package func hasActiveEntries(placedIn parent: ItemID) throws(FileSystemError) -> Bool {
        try flushEntries()
        return try read(index.hasActiveFactEntries(placedIn: parent))
    }

    /// The entries that claim a place in this item, but have another.
    package func orphans(of parent: ItemID) throws(FileSystemError) -> [EntryID] {
        let written = try read(index.orphanedFactEntries(of: parent))
        if !entries.hasChanges { return written }
        if written.isEmpty {
            return try arrived(in: parent) { $0.target?.parent == parent && $0.place?.parent != parent }
        }
        try flushEntries()
        return try read(index.orphanedFactEntries(of: parent))
    }

    /// The entries in one slot.
    package func entries(inSlot slot: Place) throws(FileSystemError) -> [EntryID] {
        if let list = slots[slot] { return list }
        let list = try read(index.factEntries(inSlot: slot)).sorted()
        slots[slot] = list
        return list
    }

    /// The entries that are named by rule after one wanted name.
    package func entries(wanting name: Place) throws(FileSystemError) -> [EntryID] {
        if let list = wanting[name] { return list }
        let list = try read(index.factEntries(wanting: name)).sorted()
        wanting[name] = list
        return list
    }

    private func entries(shownElsewhereAt place: Place) throws(FileSystemError) -> [EntryID] {
        if let list = shownElsewhere[place] { return list }
        let list = try read(index.factEntries(shownElsewhereAt: place)).sorted()
        shownElsewhere[place] = list
        return list
    }

    /// The entry that is shown at a place.
    package func entry(shownAt place: Place) throws(FileSystemError) -> EntryID? {
        var found = try entries(shownElsewhereAt: place).first
        for id in try entries(inSlot: place) where found.map({ id < $0 }) ?? true {
            if try entry(id)?.shown == place { found = id }
        }
        return found
    }

    /// Up to `limit` entries that are shown in a directory, with names after `last`; by ascending name.
    package func entries(
        shownIn parent: ItemID, after last: EntryName?, limit: Int
    ) throws(FileSystemError) -> [EntryID] {
        try flushEntries()
        return try read(index.factEntries(shownIn: parent, after: last, limit: limit))
    }

    /// Up to `limit` entries that are shown differently than when they were last taken.
    ///
    /// Entries that are only in memory come first, so that their rows are written once.
    package func changedEntries(limit: Int) throws(FileSystemError) -> [EntryID] {
        if !changedHere.isEmpty { return Array(changedHere.prefix(limit)) }
        try flushEntries()
        return try read(index.changedFactEntries(limit: limit))
    }
}

extension EntryState {
    /// The place where it is shown, if that is not its slot.
    fileprivate var shownElsewhere: Place? { shown == slot ? nil : shown }
}

extension [EntryID] {
    /// The list with one more entry, in order.
    fileprivate func inserting(_ id: EntryID) -> [EntryID] {
        var copy = self
        copy.insertSorted(id)
        return copy
    }

    fileprivate mutating func insertSorted(_ id: EntryID) {
        insert(id, at: firstIndex { $0 > id } ?? endIndex)
    }

    fileprivate mutating func remove(_ id: EntryID) {
        removeAll { $0 == id }
    }
}
