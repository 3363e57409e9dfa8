internal import CofferFormat
internal import CofferStore
internal import CofferSystem

// What is back already, as another item: an undo or a restore brought it, or somebody did.
extension UndoReader {
    /// Passes over items that are gone and whose likes are in their places; what was in a directory comes into its like.
    func passOverRestored() throws(FileSystemError) {
        let names = Dictionary(
            plan.directories.compactMap { id, directory in directory.place.map { ($0, id) } },
            uniquingKeysWith: { one, _ in one })
        var likes: [ItemID: ItemID] = [:]
        for id in plan.items.keys.sorted() { _ = like(of: id, names, &likes) }
        for (id, item) in plan.items {
            for place in item.past?.places ?? [] {
                guard let parent = likes[place.parent], parent != place.parent else { continue }
                plan.items[id]?.past?.places.remove(place)
                plan.items[id]?.past?.places.insert(UndoItem.Place(parent: parent, name: place.name))
            }
        }
        for (id, item) in plan.items where item.present == nil {
            if let like = likes[id], like != id {
                plan.items[id] = nil
                // A directory that stays in its place after all.
                if plan.items[like]?.past == nil { plan.items[like] = nil }
            } else if let backs = try doubles(of: item) {
                plan.items[id] = nil
                for back in backs where plan.items[back]?.past == nil { plan.items[back] = nil }
            }
        }
    }

    /// The directory that is where a directory was that is gone; otherwise, the directory itself.
    private func like(
        of id: ItemID, _ names: [UndoItem.Place: ItemID], _ known: inout [ItemID: ItemID]
    ) -> ItemID {
        var path: [ItemID] = []
        var passed: Set<ItemID> = []
        var current = id
        while known[current] == nil, let item = plan.items[current], item.present == nil, item.isDirectory,
            let place = item.past?.places.first, passed.insert(current).inserted
        {
            path.append(current)
            current = place.parent
        }
        for id in path.reversed() {
            known[id] = id
            guard let place = plan.items[id]?.past?.places.first else { continue }
            let parent = known[place.parent] ?? place.parent
            guard let like = names[UndoItem.Place(parent: parent, name: place.name)] else { continue }
            // One that these devices brought there goes again, but one that they made may as well stay.
            if let item = plan.items[like], item.changes, item.changesPlaces, !isLike(id, item) { continue }
            known[id] = like
        }
        return known[id] ?? id
    }

    /// Whether a directory that these devices made has the attributes of one that is gone.
    private func isLike(_ id: ItemID, _ made: UndoItem) -> Bool {
        guard made.past == nil, let present = made.present, let past = plan.items[id]?.past else {
            return false
        }
        var attributes: [[UInt8]: [UInt8]] = [:]
        for (name, value) in past.extendedAttributes { attributes[name] = value }
        return past.attributes.hasSameRights(as: Attributes(present.row))
            && present.extendedAttributes == attributes
    }

    /// What has all the names of an item that is gone, and is like it; nil if nothing is.
    private func doubles(of item: UndoItem) throws(FileSystemError) -> Set<ItemID>? {
        try awaitCaller()
        guard let past = item.past, !past.places.isEmpty else { return nil }
        var likes: Set<ItemID> = []
        let target =
            past.attributes.type == .symbolicLink ? try past.view.readLink(past.attributes.number) : []
        for place in past.places {
            guard let parent = plan.directories[place.parent]?.number else { return nil }
            let row = try vault.reading { state throws(FileSystemError) -> ItemRow? in
                guard let entry = try state.index.entry(place.name, in: parent) else { return nil }
                return try state.tree.row(entry.item)
            }
            guard let row else { return nil }
            let (old, new) = (past.attributes, Attributes(row))
            guard old.hasSameRights(as: new), old.size == new.size,
                old.type == .symbolicLink ? target == row.target : old.modified == new.modified
            else { return nil }
            if let known = plan.items[row.id], known.changes {
                // What goes elsewhere is not it, and what these devices made only if nobody can tell them apart.
                guard known.past == nil, try isSame(old, past.view, new) else { return nil }
            }
            likes.insert(row.id)
        }
        return likes
    }

    private func isSame(
        _ past: Attributes, _ view: HistoryView, _ present: Attributes
    ) throws(FileSystemError) -> Bool {
        do throws(FileSystemError) {
            return try copies.isSame(past, in: view, present, isAwaited: step)
        } catch {
            try awaitCaller()
            switch error {
            case .unreachable, .notArrived, .timedOut, .damaged, .stale: return false
            default: throw error
            }
        }
    }
}
