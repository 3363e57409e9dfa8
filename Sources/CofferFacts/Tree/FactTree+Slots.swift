internal import CofferFormat

// Which entries are in which slots. First, all entries whose slot changes leave their old one; then they
// enter the new one, from the root downwards. In between, two directories are one only if they are in the
// same slot. So no information about directories is out of date, and none seems to lie in itself.
extension FactTree {
    /// The slot of an entry, as far as the directories above it are known.
    private func slot(of state: EntryState) throws(Store.Failure) -> Place? {
        guard state.isActive, let place = state.place else { return nil }
        return Place(parent: try store.item(place.parent)?.united ?? place.parent, name: place.name)
    }

    /// The depth of a directory; 0 for the root, and for a directory that lies nowhere.
    func depth(of directory: ItemID, _ pass: inout Pass) throws(Store.Failure) -> Int {
        var path: [ItemID] = []
        var current = directory
        while current != root, pass.depths[current] == nil {
            // This ends the loop if the store is damaged, and the directory lies in itself.
            pass.depths[current] = 0
            path.append(current)
            guard let entry = try store.item(current)?.entry, let place = try store.entry(entry)?.place else {
                break
            }
            current = place.parent
        }
        var depth = pass.depths[current] ?? 0
        if path.last == current { path.removeLast() }
        for below in path.reversed() {
            depth += 1
            pass.depths[below] = depth
        }
        return pass.depths[directory] ?? 0
    }

    // MARK: Leaving

    /// Removes entries from slots in which they no longer belong, and queues those that will enter one.
    mutating func leaveSlots(_ pass: inout Pass) throws(Store.Failure) {
        for id in pass.restless.sorted() {
            guard let state = try store.entry(id) else { continue }
            let slot = try slot(of: state)
            if slot != state.slot { try leave(id, &pass) }
            if slot == nil {
                if state.shown != nil || state.wanted != nil { try giveName(of: nil, to: id, &pass) }
            } else if let place = state.place {
                pass.levels.add(id, at: try depth(of: place.parent, &pass) + 1)
            }
        }
        try leaveChildren(&pass)
    }

    /// Removes an entry from its slot; directories that were one with it become separate.
    mutating func leave(_ id: EntryID, _ pass: inout Pass) throws(Store.Failure) {
        guard var state = try store.entry(id), let slot = state.slot else { return }
        state.slot = nil
        try store.setEntry(state, id)
        pass.vacated.insert(slot)
        pass.copies.insert(state.item)
        guard state.isDirectory, try store.item(state.item)?.entry == id else { return }
        for directory in [state.item] + (try store.united(with: state.item)) {
            guard var item = try store.item(directory), item.united != nil else { continue }
            item.united = nil
            try store.setItem(item, directory)
            pass.leaving.append(directory)
        }
    }

    /// Empties the slots in directories that are now shown as part of another directory than before.
    private mutating func leaveChildren(_ pass: inout Pass) throws(Store.Failure) {
        while let directory = pass.leaving.popLast() {
            let below = try depth(of: directory, &pass) + 1
            guard pass.levels.add(childrenOf: directory, at: below) else { continue }
            var last: EntryID?
            repeat {
                let page = try store.entries(placedIn: directory, after: last, limit: Self.pageCount)
                last = page.count == Self.pageCount ? page.last : nil
                for child in page { try leave(child, &pass) }
                try vacate(&pass)
            } while last != nil
        }
        try vacate(&pass)
    }

    /// Queues the slots that entries left.
    private func vacate(_ pass: inout Pass) throws(Store.Failure) {
        for slot in pass.vacated { pass.levels.add(left: slot, at: try depth(of: slot.parent, &pass) + 1) }
        pass.vacated.removeAll(keepingCapacity: true)
    }

    // MARK: Entering

    /// Enters the remaining entries into their slots, and decides which entry has each name, from the root
    /// downwards.
    mutating func enterSlots(_ pass: inout Pass) throws(Store.Failure) {
        while !pass.levels.isEmpty {
            let (entries, parents) = pass.levels.descend()
            try enter(entries, &pass)
            for directory in parents {
                var last: EntryID?
                repeat {
                    let page = try store.entries(placedIn: directory, after: last, limit: Self.pageCount)
                    last = page.count == Self.pageCount ? page.last : nil
                    try enter(page, &pass)
                } while last != nil
            }
        }
    }

    private mutating func enter(_ entries: [EntryID], _ pass: inout Pass) throws(Store.Failure) {
        for id in entries {
            guard var state = try store.entry(id), let slot = try slot(of: state) else { continue }
            pass.levels.add(entered: slot)
            guard state.slot != slot else { continue }
            state.slot = slot
            try store.setEntry(state, id)
            pass.copies.insert(state.item)
        }
        for slot in pass.levels.takeSlots() { try resolve(slot, &pass) }
        try leaveChildren(&pass)
        try finishNamesIfMany(&pass)
    }
}
