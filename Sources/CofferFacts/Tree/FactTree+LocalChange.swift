internal import CofferFormat

// Turns a user's actions into facts. First it states what is shown by rule, and would otherwise change with
// them.
extension FactTree {
    /// Adds a change to the pending commit; everything else that is shown stays as it is.
    ///
    /// - Throws: `.refused`, with nothing changed, or `.store`.
    package mutating func perform(_ change: LocalChange) throws(LocalChangeError<Store.Failure>) {
        precondition(pending != nil, "no commit is being made")
        let refusal: LocalChangeRefusal?
        do throws(Store.Failure) {
            refusal = try self.refusal(of: change)
            if refusal == nil {
                var pass = Pass()
                try carryOut(change, &pass)
                try evaluate(&pass)
            }
        } catch {
            throw .store(error)
        }
        if let refusal { throw .refused(refusal) }
    }

    private mutating func carryOut(_ change: LocalChange, _ pass: inout Pass) throws(Store.Failure) {
        switch change {
        case .create(let item, let kind, let mode, let modified, let entry, let place):
            try stateKept(place.parent, &pass)
            try say(.kind(item, kind), &pass)
            try say(.mode(item, mode), &pass)
            try say(.modified(item, modified), &pass)
            try say(.place(entry, .init(item: item, place: place, previous: nil)), &pass)
        case .link(let item, let entry, let place):
            try stateItem(item, &pass)
            try stateKept(place.parent, &pass)
            try say(.place(entry, .init(item: item, place: place, previous: nil)), &pass)
        case .move(let entry, let place):
            try move(entry, to: place, &pass)
        case .exchange(let first, let second):
            try exchange(first, second, &pass)
        case .remove(let entry):
            pass.stated.insert(entry)
            try stateAround([entry], &pass)
            try remove(entry, &pass)
        case .setContent(let item, let content):
            try setContent(of: item, content, &pass)
        case .setMode(let item, let mode):
            try stateItem(item, &pass)
            try say(.mode(item, mode), &pass)
        case .setModified(let item, let time):
            try stateItem(item, &pass)
            try say(.modified(item, time), &pass)
        case .setExtendedAttribute(let item, let name, let value):
            try stateItem(item, &pass)
            try say(.extendedAttribute(item, name: name, value: value), &pass)
        }
    }

    private mutating func move(
        _ id: EntryID, to place: Place, _ pass: inout Pass
    ) throws(Store.Failure) {
        guard let before = try store.entry(id)?.showing, before.place != place else { return }
        let replaced = try store.entry(shownAt: place)
        if let replaced {
            // If both are names of one item, rename(2) leaves both.
            guard try store.entry(replaced)?.item != before.item else { return }
            pass.stated.insert(replaced)
            try stateAround([replaced, id], &pass)
            // This comes before the removal, as the entry may be a copy of what is removed.
            try stateIfCopy(id, &pass)
            try remove(replaced, &pass)
        } else {
            try stateAround([id], &pass)
        }
        try stateKept(place.parent, &pass)
        try put(id, before, at: place, &pass)
    }

    private mutating func exchange(
        _ first: EntryID, _ second: EntryID, _ pass: inout Pass
    ) throws(Store.Failure) {
        guard let one = try store.entry(first)?.showing, let other = try store.entry(second)?.showing else {
            return
        }
        try stateAround([first, second], &pass)
        try put(first, one, at: other.place, &pass)
        try put(second, other, at: one.place, &pass)
    }

    /// States an entry's new place; for a directory, also the places of all that are shown as one with it.
    private mutating func put(
        _ id: EntryID, _ before: Showing, at place: Place, _ pass: inout Pass
    ) throws(Store.Failure) {
        try stateIfCopy(id, &pass)
        pass.stated.insert(id)
        try say(.place(id, .init(item: before.item, place: place, previous: before.place)), &pass)
        for directory in try store.united(with: before.item) {
            guard let entry = try store.item(directory)?.entry else { continue }
            pass.stated.insert(entry)
            try say(.place(entry, .init(item: directory, place: place, previous: before.place)), &pass)
        }
    }

    private mutating func remove(_ id: EntryID, _ pass: inout Pass) throws(Store.Failure) {
        guard let state = try store.entry(id), let place = state.shown else { return }
        if let source = state.copied {
            try giveUp(source, &pass)
        } else if state.isDirectory {
            for directory in [state.item] + (try store.united(with: state.item)) {
                for entry in try store.entries(of: directory) {
                    try remove(entry, of: directory, from: place, seenContents: [], &pass)
                }
            }
        } else {
            var isLast = true
            for other in try store.entries(of: state.item) where other != id {
                guard let sibling = try store.entry(other), sibling.copied == nil else { continue }
                if sibling.isActive { isLast = false }
            }
            let seen = isLast ? try store.values(.content(state.item)).contents.map(\.stamp.dot).sorted() : []
            try remove(id, of: state.item, from: place, seenContents: seen, &pass)
        }
    }

    /// States the removal of an entry, or, if no other device knows the entry, takes it back.
    private mutating func remove(
        _ id: EntryID, of item: ItemID, from place: Place, seenContents: [Dot], _ pass: inout Pass
    ) throws(Store.Failure) {
        pass.stated.insert(id)
        if pending?.made(.place(id)) == true {
            try unsay(id, of: item, &pass)
            return try removeAgain(item, seenContents, &pass)
        }
        let placement = Fact.Placement(item: item, place: nil, previous: place, seenContents: seenContents)
        try say(.place(id, placement), &pass)
    }

    /// States which contents were seen, in the removal of the name that was last removed before this one.
    ///
    /// The name whose removal would normally say so was never in a commit.
    private mutating func removeAgain(
        _ item: ItemID, _ seenContents: [Dot], _ pass: inout Pass
    ) throws(Store.Failure) {
        guard !seenContents.isEmpty else { return }
        var removals: [(entry: EntryID, placement: Fact.Placement, stamp: Stamp)] = []
        for other in try store.entries(of: item) {
            guard let value = try placement(of: other), value.placement.place == nil else { continue }
            removals.append((other, value.placement, value.stamp))
        }
        guard var last = Self.best(removals) else { return }
        last.placement.seenContents = seenContents
        try say(.place(last.entry, last.placement), &pass)
    }

    private mutating func setContent(
        of item: ItemID, _ content: Fact.Content, _ pass: inout Pass
    ) throws(Store.Failure) {
        if let (copy, source, place) = try copy(leadingTo: item) { try stateCopy(copy, source, place, &pass) }
        try stateKeptEntry(of: item, &pass)
        // Replaces only the content that the user saw; copies by rule stay as they are.
        try say(.content(item, content), replacing: contents(of: item).first?.dots ?? [], &pass)
    }
}
