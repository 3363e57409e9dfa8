internal import CofferFormat

// Facts that state what is shown by rule, so that it stays when the reason for it changes.
extension FactTree {
    /// States what would be shown differently if some entries were not in their places.
    mutating func stateAround(_ entries: [EntryID], _ pass: inout Pass) throws(Store.Failure) {
        for id in entries {
            guard let state = try store.entry(id) else { continue }
            if state.isDirectory {
                try statePutBackDirectories(except: entries, &pass)
            } else if state.copied == nil {
                try stateItem(state.item, except: entries, &pass)
            }
            try stateNeighbours(of: state, except: entries, &pass)
            if let parent = state.place?.parent { pass.unstated.append(parent) }
            guard state.isDirectory else { continue }
            // All directories that are shown as one leave together, each from its own parent.
            for directory in try store.united(with: state.item) {
                guard let entry = try store.item(directory)?.entry,
                    let parent = try store.entry(entry)?.place?.parent
                else { continue }
                pass.unstated.append(parent)
            }
        }
        try stateKept(&pass)
    }

    /// States the names of the entries that would get this entry's name, or another number.
    private mutating func stateNeighbours(
        of state: EntryState, except: [EntryID], _ pass: inout Pass
    ) throws(Store.Failure) {
        var neighbours: [EntryID] = []
        var wanted = state.wanted.map { [$0] } ?? []
        if let slot = state.slot, state.shown == slot {
            neighbours += try store.entries(inSlot: slot)
            if let name = ConflictName.wanted(from: slot.name) {
                wanted.append(Place(parent: slot.parent, name: name))
            }
        }
        for name in wanted { neighbours += try store.entries(wanting: name) }
        for id in neighbours where !except.contains(id) {
            guard let neighbour = try store.entry(id), let place = neighbour.shown else { continue }
            if let source = neighbour.copied {
                try stateCopy(id, source, place, &pass)
            } else if neighbour.wanted != nil {
                try stateItem(neighbour.item, except: except, &pass)
                try statePlace(id, neighbour.item, place, &pass)
            }
        }
    }

    /// States what is shown of an item by rule: the item itself if it is a copy, its copies, and its kept
    /// entry.
    mutating func stateItem(
        _ item: ItemID, except: [EntryID] = [], _ pass: inout Pass
    ) throws(Store.Failure) {
        if let (copy, source, place) = try copy(leadingTo: item) { try stateCopy(copy, source, place, &pass) }
        for copy in try store.copies(of: item) where !except.contains(copy) {
            try stateIfCopy(copy, &pass)
        }
        try stateKeptEntry(of: item, except: except, &pass)
    }

    /// States the place of a file that is shown although all its entries were removed.
    mutating func stateKeptEntry(
        of item: ItemID, except: [EntryID] = [], _ pass: inout Pass
    ) throws(Store.Failure) {
        for id in try store.entries(of: item) where !except.contains(id) && !pass.stated.contains(id) {
            guard let state = try store.entry(id), !state.isDirectory, let place = state.shown,
                let placement = try placement(of: id)?.placement, placement.place == nil
            else { continue }
            try statePlace(id, item, place, &pass)
            // Copies get names from the name that the entry wants, which changes here.
            guard place != state.slot else { continue }
            for copy in try store.copies(of: item) where !except.contains(copy) {
                try stateIfCopy(copy, &pass)
            }
        }
        try stateKept(&pass)
    }

    /// States the place of a directory that is shown although it was removed.
    mutating func stateKept(_ directory: ItemID, _ pass: inout Pass) throws(Store.Failure) {
        pass.unstated.append(directory)
        try stateKept(&pass)
    }

    /// States the places of all queued directories that are shown although they were removed.
    private mutating func stateKept(_ pass: inout Pass) throws(Store.Failure) {
        while let directory = pass.unstated.popLast() {
            guard directory != root, let item = try store.item(directory), let id = item.entry,
                let state = try store.entry(id), !state.isLive, state.isActive,
                let place = try shownPlace(ofDirectory: directory)
            else { continue }
            // Otherwise its new stamp would be the highest in a cycle.
            try statePutBackDirectories(except: [id], &pass)
            try statePlace(id, directory, place, &pass)
        }
    }

    /// States the places of directories that were put back.
    private mutating func statePutBackDirectories(
        except: [EntryID], _ pass: inout Pass
    ) throws(Store.Failure) {
        for directory in try store.putBackDirectories() {
            guard let id = try store.item(directory)?.entry, !except.contains(id),
                let state = try store.entry(id), state.isActive,
                let place = try shownPlace(ofDirectory: directory)
            else { continue }
            try statePlace(id, directory, place, &pass)
        }
    }

    /// The place where a directory, or the one that it is part of, is shown.
    private func shownPlace(ofDirectory directory: ItemID) throws(Store.Failure) -> Place? {
        let shown = try store.item(directory)?.united ?? directory
        guard let entry = try store.item(shown)?.entry else { return nil }
        return try store.entry(entry)?.shown
    }

    private mutating func statePlace(
        _ id: EntryID, _ item: ItemID, _ place: Place, _ pass: inout Pass
    ) throws(Store.Failure) {
        guard pass.stated.insert(id).inserted else { return }
        // It leaves a directory that is shown as part of another one.
        if let parent = try store.entry(id)?.place?.parent, parent != place.parent {
            pass.unstated.append(parent)
        }
        try say(.place(id, .init(item: item, place: place, previous: place)), &pass)
    }

    // MARK: Copies

    /// The copy by rule that leads to an item.
    func copy(leadingTo item: ItemID) throws(Store.Failure) -> (EntryID, CopySource, Place)? {
        for id in try store.entries(of: item) {
            if let state = try store.entry(id), let source = state.copied, let place = state.shown {
                return (id, source, place)
            }
        }
        return nil
    }

    /// Turns an entry into an item of its own, if it is a copy by rule.
    mutating func stateIfCopy(_ id: EntryID, _ pass: inout Pass) throws(Store.Failure) {
        guard let state = try store.entry(id), let source = state.copied, let place = state.shown else {
            return
        }
        try stateCopy(id, source, place, &pass)
    }

    /// Turns a copy by rule into an item of its own.
    mutating func stateCopy(
        _ id: EntryID, _ source: CopySource, _ place: Place, _ pass: inout Pass
    ) throws(Store.Failure) {
        let copy = source.ids.item
        guard pass.stated.insert(id).inserted, try store.values(.kind(copy)).isEmpty,
            let item = try shownItem(copy)
        else { return }
        for fact in item.facts(copy) { try say(fact.assertion, &pass) }
        try say(.place(id, .init(item: copy, place: place, previous: nil)), &pass)
        try giveUp(source, &pass)
    }

    /// States that a losing content is no longer wanted.
    mutating func giveUp(_ source: CopySource, _ pass: inout Pass) throws(Store.Failure) {
        let choice = try contents(of: source.item).first { $0.dots.contains(source.dot) }
        guard let choice else { return }
        // The content may be the reason why the item is shown at all.
        try stateKeptEntry(of: source.item, &pass)
        try say(.content(source.item, nil), replacing: choice.dots, &pass)
    }
}
