internal import CofferFormat
internal import CofferStore
internal import CofferSystem

/// Which of the planned changes can be made together, so that nothing of others goes.
///
/// Afterwards, no two items have one name, every directory that holds something is there, and none lies in itself. An
/// item whose change does not fit stays as it is, which can keep others from changing, too.
struct UndoSettlement {
    /// What changes.
    private(set) var items: [ItemID: UndoItem]
    /// The items that stay as they are, and why.
    private(set) var conflicts: [ItemID: Undo.Conflict.Reason] = [:]

    private let plan: UndoPlan
    /// The items that had a name and are gone.
    private var losers: [UndoItem.Place: [ItemID]] = [:]
    /// What has the names now that are to be given or taken away, and what is in directories that are to go.
    private var occupants: [UndoItem.Place: ItemID] = [:]
    /// Who gets a name.
    private var claims: [UndoItem.Place: ItemID] = [:]
    /// The names in directories that are to be made, or to go.
    private var inside: [ItemID: Set<UndoItem.Place>] = [:]

    /// Call it while no commit is made or applied.
    ///
    /// - Parameter conflicts: Items that stay as they are, whatever the plan says.
    init(
        _ plan: UndoPlan, without conflicts: [ItemID: Undo.Conflict.Reason] = [:],
        _ state: inout VaultState
    ) throws(FileSystemError) {
        self.plan = plan
        items = plan.items.filter { $0.value.changes && conflicts[$0.key] == nil }
        self.conflicts = conflicts
        for (id, item) in plan.items where item.present == nil {
            for place in item.past?.places ?? [] { losers[place, default: []].append(id) }
        }
        try dropChanged(&state)
        try readOccupants(state)
        claimPlaces()
        for id in items.keys.sorted() {
            if succeeds(id) { drop(id, nil) }
            if let reason = try obstacle(of: id, state) { drop(id, reason) }
        }
        try dropCycles(state)
    }

    // MARK: Looking

    /// Drops items that somebody has changed since they were looked at.
    private mutating func dropChanged(_ state: inout VaultState) throws(FileSystemError) {
        for (id, item) in items {
            guard let present = item.present else {
                // Another device's change may have brought it back.
                if state.tree.isTracking, let row = try state.row(id, nil), row.links > 0 {
                    items[id] = nil
                    conflicts[id] = .changedMeanwhile
                }
                continue
            }
            var isKnown = try present.isUnchanged(since: plan.lastMoment, state)
            let isRoot = present.row.number == Vault.rootNumber
            let count = item.isDirectory ? (isRoot ? 0 : 1) : Int(present.row.links)
            if present.places.count != count { isKnown = false }
            for place in present.places {
                guard let parent = try number(of: place.parent, state) else {
                    isKnown = false
                    continue
                }
                let entry = try state.index.entry(place.name, in: parent)
                isKnown = isKnown && entry?.item == present.row.number
            }
            if !isKnown {
                items[id] = nil
                conflicts[id] = .changedMeanwhile
            }
        }
    }

    /// The number of a directory that is there; nil if it is gone.
    private func number(
        of directory: ItemID, _ state: borrowing VaultState
    ) throws(FileSystemError) -> Int64? {
        guard let number = plan.directories[directory]?.number, let row = try state.tree.row(number),
            row.id == directory, row.links > 0
        else { return nil }
        return number
    }

    private mutating func readOccupants(_ state: borrowing VaultState) throws(FileSystemError) {
        for (id, item) in items {
            for place in item.present?.places ?? [] { occupants[place] = id }
            for place in item.past?.places ?? [] where occupants[place] == nil {
                guard let parent = try number(of: place.parent, state),
                    let entry = try state.index.entry(place.name, in: parent)
                else { continue }
                occupants[place] = try state.tree.peek(entry.item).id
            }
            guard item.isDirectory, item.past == nil, let number = item.present?.row.number else { continue }
            var cookie: Int64 = 0
            while true {
                let rows = try state.index.entries(in: number, after: cookie, limit: 1024)
                for row in rows {
                    let place = UndoItem.Place(parent: id, name: row.name)
                    occupants[place] = try state.tree.peek(row.item).id
                    inside[id, default: []].insert(place)
                }
                guard rows.count == 1024, let last = rows.last else { break }
                cookie = last.cookie
            }
        }
    }

    // MARK: Settling

    /// Of several items that had one name, the one that had it last gets it.
    private mutating func claimPlaces() {
        let latest = items.sorted {
            let (one, other) = (
                $0.value.past?.view.moment.number ?? 0, $1.value.past?.view.moment.number ?? 0
            )
            return one == other ? $0.key < $1.key : one > other
        }
        for (id, item) in latest {
            for place in item.past?.places ?? [] where claims[place] == nil {
                claims[place] = id
                inside[place.parent, default: []].insert(place)
            }
        }
    }

    /// Why an item cannot become what it was; nil if it can.
    private func obstacle(
        of id: ItemID, _ state: borrowing VaultState
    ) throws(FileSystemError) -> Undo.Conflict.Reason? {
        guard let item = items[id] else { return nil }
        guard let past = item.past else {
            let stays = inside[id]?.contains { place in
                occupants[place].map { !leaves($0, place) } ?? false
            }
            return item.isDirectory && stays == true ? .holdsOthers : nil
        }
        // Not all of its names are known.
        let isRoot = past.attributes.number == Vault.rootNumber
        let count = item.isDirectory ? (isRoot ? 0 : 1) : Int(past.attributes.links)
        if past.places.count != count { return .placeTaken }
        for place in past.places {
            if claims[place] != id { return .placeTaken }
            if let occupant = occupants[place] {
                // Somebody may have brought it back meanwhile.
                let isItself = occupant == id && item.present?.places.contains(place) == true
                if !isItself, !leaves(occupant, place) { return .placeTaken }
            }
            if try !isThere(place.parent, state) { return .placeTaken }
        }
        return nil
    }

    /// Whether an item that is to go has taken the name of one that does not come back, as a file that an editor saves.
    private func succeeds(_ id: ItemID) -> Bool {
        guard let item = items[id], item.past == nil, let present = item.present else { return false }
        return present.places.contains { losers[$0]?.contains { items[$0] == nil } == true }
    }

    /// Whether an item loses a name that it has.
    private func leaves(_ id: ItemID, _ place: UndoItem.Place) -> Bool {
        guard let item = items[id] else { return false }
        return item.past?.places.contains(place) != true
    }

    /// Whether there will be a directory.
    private func isThere(_ id: ItemID, _ state: borrowing VaultState) throws(FileSystemError) -> Bool {
        if let item = items[id] { return item.past != nil }
        return try number(of: id, state) != nil
    }

    /// Leaves an item as it is, and all others that depend on its change.
    ///
    /// - Parameter reason: Nil if a predecessor is listed with the same name.
    private mutating func drop(_ id: ItemID, _ reason: Undo.Conflict.Reason?) {
        var waiting = [(id, reason)]
        while let (id, reason) = waiting.popLast() {
            guard let item = items.removeValue(forKey: id) else { continue }
            conflicts[id] = conflicts[id] ?? reason
            for place in item.past?.places ?? [] {
                if claims[place] == id { claims[place] = nil }
                if let occupant = occupants[place], succeeds(occupant) { waiting.append((occupant, nil)) }
            }
            for place in item.present?.places ?? [] {
                if let other = claims[place] { waiting.append((other, .placeTaken)) }
                if let parent = items[place.parent], parent.past == nil {
                    waiting.append((place.parent, .holdsOthers))
                }
            }
            if item.isDirectory, item.present == nil {
                for place in inside[id] ?? [] {
                    if let other = claims[place] { waiting.append((other, .placeTaken)) }
                }
            }
        }
    }

    /// Drops moves of directories that would put one into itself.
    private mutating func dropCycles(_ state: borrowing VaultState) throws(FileSystemError) {
        var known: Set<ItemID> = []
        for id in items.keys.sorted() {
            while let moved = try cycle(from: id, &known, state) { drop(moved, .placeTaken) }
        }
    }

    /// A directory that moves into itself; nil if the way from a directory leads to the root.
    ///
    /// - Parameter known: The directories from which it does.
    private func cycle(
        from id: ItemID, _ known: inout Set<ItemID>, _ state: borrowing VaultState
    ) throws(FileSystemError) -> ItemID? {
        guard items[id]?.isDirectory == true, items[id]?.past != nil else { return nil }
        var path: Set<ItemID> = []
        var current = (id: id, number: plan.directories[id]?.number)
        while !known.contains(current.id) {
            guard path.insert(current.id).inserted else {
                // Of those that form the cycle, one at least moves.
                guard let moved = path.sorted().first(where: { items[$0]?.changesPlaces == true }) else {
                    throw .damaged(place: "the place of a directory")
                }
                return moved
            }
            if let place = items[current.id]?.past?.places.first {
                current = (place.parent, plan.directories[place.parent]?.number)
            } else if let number = current.number, number != Vault.rootNumber {
                // It may have come after the plan was made.
                let parent = try state.tree.peek(try state.tree.peek(number).parent)
                current = (parent.id, parent.number)
            } else {
                break
            }
        }
        known.formUnion(path)
        return nil
    }

    // MARK: Paths

    /// The path of a name, once all is done.
    func path(of place: UndoItem.Place) -> [UInt8] {
        var parts = [place.name]
        var parent = place.parent
        while parts.count < 4096 {
            let next =
                items[parent]?.past?.places.first ?? plan.directories[parent]?.place
                ?? plan.items[parent]?.past?.places.first
            guard let next else { break }
            parts.append(next.name)
            parent = next.parent
        }
        return Array(parts.reversed().joined(separator: [UInt8(ascii: "/")]))
    }
}
