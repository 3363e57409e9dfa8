internal import CofferFormat

extension FactTree {
    /// Why a local change is not possible; nil if it is.
    func refusal(of change: LocalChange) throws(Store.Failure) -> LocalChangeRefusal? {
        switch change {
        case .create(let item, _, _, _, let entry, let place):
            guard try isNew(item), try isNew(entry) else { return .exists }
            return try refusal(ofNew: place)
        case .link(let item, let entry, let place):
            guard try isShown(item) else { return .itemNotShown(item) }
            guard try kind(of: item)?.kind != .directory else { return .wrongKind(item) }
            guard try isNew(entry) else { return .exists }
            return try refusal(ofNew: place)
        case .move(let entry, let place):
            return try refusal(ofMoving: entry, to: place)
        case .exchange(let first, let second):
            guard let one = try store.entry(first)?.showing else { return .entryNotShown(first) }
            guard let other = try store.entry(second)?.showing else { return .entryNotShown(second) }
            if try lies(other.place.parent, in: one.item) { return .intoItself(one.item) }
            if try lies(one.place.parent, in: other.item) { return .intoItself(other.item) }
            return nil
        case .remove(let entry):
            guard let showing = try store.entry(entry)?.showing else { return .entryNotShown(entry) }
            return try refusal(ofRemoving: showing.item)
        case .setContent(let item, _):
            guard try isShown(item) else { return .itemNotShown(item) }
            return try shownItem(item)?.kind == .file ? nil : .wrongKind(item)
        case .setMode(let item, _), .setModified(let item, _), .setExtendedAttribute(let item, _, _):
            return try isShown(item) ? nil : .itemNotShown(item)
        }
    }

    private func isNew(_ item: ItemID) throws(Store.Failure) -> Bool {
        guard try store.values(.kind(item)).isEmpty else { return false }
        return item == root ? false : try store.item(item) == nil
    }

    private func isNew(_ entry: EntryID) throws(Store.Failure) -> Bool {
        guard try store.values(.place(entry)).isEmpty else { return false }
        return try store.entry(entry) == nil
    }

    private func isShown(_ item: ItemID) throws(Store.Failure) -> Bool {
        guard item != root, let state = try store.item(item) else { return item == root }
        return state.shownEntries > 0
    }

    private func refusal(ofNew place: Place) throws(Store.Failure) -> LocalChangeRefusal? {
        guard try isShownDirectory(place.parent) else { return .noDirectory(place.parent) }
        return try store.entry(shownAt: place) == nil ? nil : .nameTaken(place)
    }

    private func isShownDirectory(_ item: ItemID) throws(Store.Failure) -> Bool {
        guard item != root, let state = try store.item(item) else { return item == root }
        return state.isParent && state.shownEntries > 0
    }

    private func refusal(
        ofMoving entry: EntryID, to place: Place
    ) throws(Store.Failure) -> LocalChangeRefusal? {
        guard let showing = try store.entry(entry)?.showing else { return .entryNotShown(entry) }
        guard try isShownDirectory(place.parent) else { return .noDirectory(place.parent) }
        if try lies(place.parent, in: showing.item) { return .intoItself(showing.item) }
        guard let taken = try store.entry(shownAt: place), taken != entry,
            let replaced = try store.entry(taken)
        else { return nil }
        let isDirectory = try store.entry(entry)?.isDirectory
        guard replaced.isDirectory == isDirectory else { return .nameTaken(place) }
        return try refusal(ofRemoving: replaced.item)
    }

    private func refusal(ofRemoving item: ItemID) throws(Store.Failure) -> LocalChangeRefusal? {
        guard try kind(of: item)?.kind == .directory else { return nil }
        let inside = try store.entries(shownIn: item, after: nil, limit: 1)
        return inside.isEmpty ? nil : .directoryNotEmpty(item)
    }

    /// Whether a shown directory is another one, or lies in it.
    private func lies(_ directory: ItemID, in other: ItemID) throws(Store.Failure) -> Bool {
        var current = directory
        while current != root {
            if current == other { return true }
            guard let entry = try store.item(current)?.entry, let place = try store.entry(entry)?.shown else {
                return false
            }
            current = place.parent
        }
        return false
    }
}
