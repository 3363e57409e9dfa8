internal import CofferFacts
internal import CofferFormat
internal import CofferStore
internal import CofferSystem

/// Local changes of names that are in no commit, while the facts change without them.
///
/// Usually these changes become a commit first. If this device cannot make one, they are set aside, so that
/// the names are as the facts last showed them. Afterwards, new items come back: to their old place, or next
/// to an item that is there now. Moves and removals are undone, so that nothing is lost by them: those items
/// are where the facts show them. Files that were written on this device, and changed or removed on another,
/// come back as files of their own. Names must be held from `setAside` to `putBack`.
final class LocalNames {
    private struct Name {
        let place: Place
        let number: Int64
    }

    private let vault: Vault
    /// The names that were set aside.
    private var names: [Name] = []
    /// Items that were created on this device, with their numbers.
    private(set) var made: [ItemID: Int64] = [:]
    /// Entries that the facts show and that have no name at the moment.
    private(set) var absent: Set<EntryID> = []
    /// The items of those entries.
    private var absentItems: Set<ItemID> = []
    /// Whether new items do not come back, because they are kept in another place.
    private let areGivenUp: Bool

    /// - Parameter areGivenUp: Whether new items do not come back, because they are kept in another place.
    init(of vault: Vault, areGivenUp: Bool = false) {
        self.vault = vault
        self.areGivenUp = areGivenUp
    }

    // MARK: Setting aside

    /// Removes the journal, and the names that are not as the facts last showed them.
    func setAside(_ state: inout VaultState) throws(FileSystemError) {
        var touched: Set<Place> = []
        let last = try state.tree.forEachJournalRecord { record throws(FileSystemError) in
            touched.formUnion(note(record))
        }
        let facts = try state.openFacts()
        for (id, number) in made where try state.tree.row(number) != nil {
            try facts.setNumber(number, of: id)
        }
        for place in touched.sorted() { try setAside(place, facts, &state) }
        try state.index.removeJournal(upTo: last)
    }

    /// The places that a record mentions.
    private func note(_ record: JournalRecord) -> [Place] {
        switch record {
        case .make(let item, let place):
            made[item.item] = item.number
            return [place]
        case .link(_, let place), .remove(let place): return [place]
        case .move(let one, let other), .exchange(let one, let other): return [one, other]
        }
    }

    private func setAside(
        _ place: Place, _ facts: IndexFactStore, _ state: inout VaultState
    ) throws(FileSystemError) {
        var item: ItemID?
        let shown = try facts.entry(shownAt: place)
        if let shown { item = try facts.entry(shown)?.item }
        let parent = try state.row(place.parent, .directory)
        var found: EntryRow?
        if let parent {
            found = try state.index.entry(place.name.bytes, in: parent.number)
        }
        if let found, let item, try state.tree.peek(found.item).id == item { return }
        if let shown, let item {
            absent.insert(shown)
            absentItems.insert(item)
        }
        guard let found, let parent else { return }
        let directory = try state.tree.item(parent.number)
        let taken = try state.tree.item(found.item)
        try state.tree.remove(found)
        if taken.type == .directory { directory.row.links -= 1 } else { taken.row.links -= 1 }
        state.tree.touch(directory, [])
        state.tree.touch(taken, [])
        names.append(Name(place: place, number: found.item))
    }

    /// Whether a name of an item was set aside.
    func has(_ number: Int64) -> Bool { names.contains { $0.number == number } }

    /// Adds a file that no longer has a name, and stays as a file of its own.
    func keep(_ item: CachedItem, at place: Place, _ state: inout VaultState) throws(FileSystemError) {
        names.append(Name(place: place, number: item.row.number))
        try separate(item, &state)
    }

    /// Gives a file without a name a new identity, of which nothing has been sent.
    func separate(_ item: CachedItem, _ state: inout VaultState) throws(FileSystemError) {
        if item.type == .regular { try state.noteLacking(item.row.number, asDoes: item.row.number) }
        item.row.id = .random()
        state.tree.orphans.remove(item.row.number)
        state.tree.outdated[item.row.number] = nil
        state.tree.touch(item, [.existence, .mode, .times, .content, .attributes])
    }

    // MARK: Putting back

    /// Puts new items back.
    ///
    /// - Returns: The changes to show to programs.
    func putBack(_ state: inout VaultState) throws(FileSystemError) -> [VaultChange] {
        var changes: [VaultChange] = []
        var placed: Set<Int64> = []
        for name in try sorted(&state) {
            changes.append(contentsOf: try putBack(name, &placed, &state))
        }
        let facts = try state.openFacts()
        for id in made.keys where try facts.values(.kind(id)).isEmpty { try facts.setNumber(nil, of: id) }
        // Items that were removed both on this device and on another.
        for id in absentItems where try state.row(id, nil)?.links ?? 0 == 0 {
            try facts.setNumber(nil, of: id)
        }
        names = []
        return changes
    }

    /// The names, with those of directories before the names in them.
    private func sorted(_ state: inout VaultState) throws(FileSystemError) -> [Name] {
        var parents: [ItemID: ItemID] = [:]
        for name in names { parents[try state.tree.peek(name.number).id] = name.place.parent }
        func depth(_ name: Name) -> Int {
            var (depth, current) = (0, name.place.parent)
            while let next = parents[current], depth <= names.count {
                (depth, current) = (depth + 1, next)
            }
            return depth
        }
        return names.map { (depth($0), $0) }.sorted { ($0.0, $0.1.place) < ($1.0, $1.1.place) }.map(\.1)
    }

    private func putBack(
        _ name: Name, _ placed: inout Set<Int64>, _ state: inout VaultState
    ) throws(FileSystemError) -> [VaultChange] {
        let item = try state.tree.item(name.number)
        guard let type = item.type else { return [] }
        if areGivenUp { return try giveUp(item, &state) }
        let isKnown = try isKnown(item.row.id, &state)
        if isKnown, !placed.contains(name.number) {
            let isShown = try state.facts?.item(item.row.id)?.shownEntries ?? 0 > 0
            if isShown { return [] }
            if type == .directory {
                item.row.links = 0
                item.row.unsent = []
                state.tree.orphans.insert(name.number)
                return [.nameless(item: name.number)]
            }
            // Removed on another device and moved on this one: it stays, as a file of its own.
            try state.facts?.setNumber(nil, of: item.row.id)
            try separate(item, &state)
        }
        let directory = try home(of: name, placed, &state)
        let parent = directory.row.number
        let time = Clock.fileTime
        var bytes = name.place.name.bytes
        let other = try state.index.entry(bytes, in: parent)
        if other != nil { bytes = try state.conflictName(for: bytes, in: parent, at: time) }
        try state.tree.insertEntry(bytes, in: directory, to: name.number, type, time)
        if type == .directory {
            directory.row.links += 1
            item.row.parent = parent
        } else {
            item.row.links += 1
        }
        state.tree.touch(item, [])
        if placed.insert(name.number).inserted {
            try state.tree.noteMade(item, bytes, in: directory)
        } else {
            try state.tree.noteLinked(item, bytes, in: directory)
        }
        return [.entry(.init(bytes, in: parent)), .entry(.init(name.place.name.bytes, in: parent))]
    }

    /// Marks an item as removed if the facts do not show it, or show it as another item.
    private func giveUp(_ item: CachedItem, _ state: inout VaultState) throws(FileSystemError)
        -> [VaultChange]
    {
        let number = item.row.number
        let facts = try state.openFacts()
        var isShown = try facts.number(of: item.row.id) == number
        if isShown { isShown = try facts.item(item.row.id)?.shownEntries ?? 0 > 0 }
        // Apart from the names that were created on this device, it has one that other devices know.
        if isShown || item.type != .directory && item.row.links > 0 { return [] }
        item.row.links = 0
        item.row.unsent = []
        state.tree.touch(item, [])
        state.tree.orphans.insert(number)
        return [.nameless(item: number)]
    }

    /// Whether there are facts about an item.
    private func isKnown(_ id: ItemID, _ state: inout VaultState) throws(FileSystemError) -> Bool {
        let facts = try state.openFacts()
        return try !facts.values(.kind(id)).isEmpty
    }

    /// The directory that contained a name, if it still exists; otherwise the root.
    private func home(
        of name: Name, _ placed: Set<Int64>, _ state: inout VaultState
    ) throws(FileSystemError) -> CachedItem {
        guard let row = try state.row(name.place.parent, .directory), row.links > 0 else {
            return try state.tree.item(Vault.rootNumber)
        }
        let isThere = try state.facts?.item(row.id)?.shownEntries ?? 0 > 0
        let isHome = row.number == Vault.rootNumber || placed.contains(row.number) || isThere
        return try state.tree.item(isHome ? row.number : Vault.rootNumber)
    }
}
