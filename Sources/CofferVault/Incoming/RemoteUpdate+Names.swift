internal import CofferFacts
internal import CofferFormat
internal import CofferStore
internal import CofferSystem

// Changing one name at a time.
extension RemoteUpdate {
    /// Removes an entry from the place where it was shown, unless that is done.
    func leave(_ showing: Showing, _ id: EntryID, _ state: inout VaultState) throws(FileSystemError) {
        if parked.remove(id) != nil { return }
        if holders[showing.place] == id { holders[showing.place] = nil }
        guard let parent = try state.row(showing.place.parent, .directory) else { throw misfit(showing) }
        let name = showing.place.name.bytes
        let found = try state.index.entry(name, in: parent.number)
        guard let entry = found, try state.tree.peek(entry.item).id == showing.item else {
            throw misfit(showing)
        }
        let directory = try state.tree.item(parent.number)
        let item = try state.tree.item(entry.item)
        try state.tree.remove(entry)
        let time = Clock.fileTime
        directory.row.changed = time
        item.row.changed = time
        if item.type == .directory {
            directory.row.links -= 1
        } else {
            item.row.links -= 1
        }
        state.tree.touch(directory, [])
        state.tree.touch(item, [])
        bereft.insert(entry.item)
        if item.type == .regular { left[entry.item] = showing.place }
        changes.append(.entry(.init(name, in: parent.number)))
    }

    /// Puts an entry at the place where it is shown now; an entry that has the name, and will get another,
    /// makes room.
    func arrive(_ showing: Showing, _ state: inout VaultState) throws(FileSystemError) {
        guard let parent = try state.row(showing.place.parent, .directory) else { throw misfit(showing) }
        if let holder = holders[showing.place], let change = pending[holder], let before = change.before {
            try leave(before, holder, &state)
            parked.insert(holder)
        }
        let name = showing.place.name.bytes
        let occupant = try state.index.entry(name, in: parent.number)
        guard occupant == nil else { throw misfit(showing) }
        let item = try item(showing, in: parent, &state)
        guard let type = item.type else { throw misfit(showing) }
        let directory = try state.tree.item(parent.number)
        let row = EntryRow(
            parent: parent.number, name: name, item: item.row.number, type: type.rawValue,
            cookie: state.index.nextCookie())
        try state.tree.insert(row)
        let time = Clock.fileTime
        directory.row.changed = time
        item.row.changed = time
        if type == .directory {
            directory.row.links += 1
            item.row.parent = parent.number
            bereft.remove(item.row.number)
        } else {
            item.row.links += 1
        }
        state.tree.touch(directory, [])
        state.tree.touch(item, [])
        let arrived = Vault.Name(name, in: parent.number)
        if type != .directory { noteUnseen(arrived, leadingTo: item, &state) }
        changes.append(.entry(arrived))
    }

    /// Records that programs do not know yet what a name leads to.
    func noteUnseen(_ name: Vault.Name, leadingTo item: CachedItem, _ state: inout VaultState) {
        guard let sink = vault.sink.withLock({ $0 }), sink.knows(name.parent) else { return }
        state.tree.unseen.insert(name, leadingTo: item.row.number)
    }

    /// The item of an entry that arrives; created if there is none.
    private func item(
        _ showing: Showing, in parent: ItemRow, _ state: inout VaultState
    ) throws(FileSystemError) -> CachedItem {
        let id = showing.item
        let tree = try state.factTree(participant.hashKey)
        let shown = try tree.shownItem(id)
        guard let shown else { throw .damaged(place: "the facts of item \(id)") }
        guard let row = try state.row(id, shown.kind.type) else { return try make(id, shown, &state) }
        let item = try state.tree.item(row.number)
        if divided.remove(id) != nil {
            if let local, local.has(row.number) {
                // Its local content gets its name back, as a file of its own.
                try local.separate(item, &state)
                return try make(id, shown, &state)
            }
            // It was removed on this device.
            item.row.unsent.remove(.content)
        }
        // What this update itself took the last name from only moves, and is up to date.
        if row.links > 0 || bereft.contains(row.number) { return item }
        // It was about to be removed, or its names were set aside.
        let isRemoved = state.tree.orphans.remove(row.number) != nil
        if item.type == .regular, isRemoved || unapplied.contains(id),
            vault.sink.withLock({ $0 })?.knows(row.number) == true
        {
            // What an undo here has replaced or removed stays marked.
            let mark = state.tree.outdated[row.number]
            leaveOpen(
                item, isRemoved ? mark : Vault.Name(showing.place.name.bytes, in: parent.number), &state)
            replaced[id] = row.number
            return try make(id, shown, &state)
        }
        state.tree.outdated[row.number] = nil
        state.tree.removedElsewhere.remove(row.number)
        if item.type == .directory { item.row.links = 2 }
        try update(item, to: shown, nil, &state)
        return item
    }

    /// Leaves a file without a name as it is, as programs may have it open.
    ///
    /// - Parameter name: The name of its new version, if a program that writes to it must get a file of its own.
    private func leaveOpen(_ item: CachedItem, _ name: Vault.Name?, _ state: inout VaultState) {
        item.row.unsent = []
        state.tree.touch(item, [])
        state.tree.orphans.insert(item.row.number)
        state.tree.outdated[item.row.number] = name
        changes.append(.nameless(item: item.row.number))
    }

    private func make(
        _ id: ItemID, _ shown: ShownItem, _ state: inout VaultState
    ) throws(FileSystemError) -> CachedItem {
        let root = try state.tree.peek(Vault.rootNumber)
        let type = shown.kind.type
        var row = ItemRow(
            number: state.index.nextItemNumber(), id: id, mode: type.modeBits | Self.mode(of: shown),
            user: root.user, group: root.group, time: Clock.fileTime)
        row.unsent = []
        row.links = type == .directory ? 2 : 0
        row.modified = shown.modified ?? row.modified
        row.accessed = row.modified
        switch shown.kind {
        case .symlink(let target):
            row.target = target
            row.size = Int64(target.count)
        case .characterDevice(let device), .blockDevice(let device): row.device = device
        default: break
        }
        if let old = replaced[id] { try state.tree.passAuthors(of: old, to: row.number) }
        let item = state.tree.add(row)
        try update(item, to: shown, nil, like: replaced[id], &state)
        let facts = try state.openFacts()
        try facts.setNumber(row.number, of: id)
        return item
    }

    private static func mode(of shown: ShownItem) -> UInt32 {
        if let mode = shown.mode { return UInt32(mode) & ModeBits.permissions }
        switch shown.kind {
        case .directory: return 0o755
        case .symlink: return 0o777
        default: return 0o644
        }
    }

    /// The error if the index does not have what the facts say: damage.
    private func misfit(_ showing: Showing) -> FileSystemError {
        .damaged(place: "the index, in which “\(showing.place.name)” differs from the facts,")
    }

    /// Marks items without a name as removed, once all names are in place.
    func end(_ state: inout VaultState) throws(FileSystemError) {
        let time = Clock.fileTime
        for number in bereft.sorted() {
            let item = try state.tree.item(number)
            if item.type == .directory {
                let isEmpty = try state.index.isEmpty(number)
                guard isEmpty else { throw .damaged(place: "directory \(number), which is to be removed,") }
                item.row.links = 0
            }
            guard item.row.links == 0 else { continue }
            item.row.changed = time
            try forget(item, &state)
            if let place = left[number], isKeptHere(item.row) {
                try keepHere(item, at: place, &state)
                continue
            }
            item.row.unsent = []
            state.tree.touch(item, [])
            state.tree.orphans.insert(number)
            // A program that has it open does not know that it was removed, and may write to it.
            if let place = left[number] {
                let parent = try state.row(place.parent, .directory)?.number ?? Vault.rootNumber
                state.tree.outdated[number] = Vault.Name(place.name.bytes, in: parent)
                state.tree.removedElsewhere.insert(number)
            }
            changes.append(.nameless(item: number))
        }
        for id in changedItems.sorted() { try noteNames(of: id, &state) }
        if let local {
            changes += try local.putBack(&state)
            self.local = nil
        }
        try state.facts?.flush()
    }

    /// Removes the number of an item without a name; if it is shown again, it gets another.
    private func forget(_ item: CachedItem, _ state: inout VaultState) throws(FileSystemError) {
        let (id, number) = (item.row.id, item.row.number)
        // The history, or a program, may go on needing what the item is owed.
        if item.type == .regular { try state.noteLacking(number, asDoes: number) }
        let facts = try state.openFacts()
        if try facts.number(of: id) == number { try facts.setNumber(nil, of: id) }
    }

    /// Makes programs look at an item again, by each of its names.
    private func noteNames(of id: ItemID, _ state: inout VaultState) throws(FileSystemError) {
        guard let row = try state.row(id, nil) else { return }
        let facts = try state.openFacts()
        for entry in try facts.entries(of: id) {
            let shown = try facts.entry(entry)?.shown
            guard let place = shown, let parent = try state.row(place.parent, .directory)
            else { continue }
            changes.append(.attributes(item: row.number, .init(place.name.bytes, in: parent.number)))
        }
    }
}
