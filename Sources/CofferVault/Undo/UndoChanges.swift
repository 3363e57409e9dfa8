internal import CofferFormat
internal import CofferStore
internal import CofferSystem

/// Makes settled changes, all at once: no program sees one without the others, and no commit has only a part of them.
///
/// What has to go elsewhere while its place is taken waits in the directory of the drafts.
struct UndoChanges {
    let vault: Vault
    let settlement: UndoSettlement
    let drafts: UndoDrafts
    /// The changes to show to programs.
    private(set) var changes: [VaultChange] = []

    private var numbers: [ItemID: Int64] = [:]
    private var moves: [Move] = []
    /// Further names of items, once they have one.
    private var links: [(number: Int64, place: UndoItem.Place)] = []
    private var parkedCount = 0
    /// The files that are replaced, or that go.
    private var outdated: Set<Int64> = []

    private struct Move {
        let number: Int64
        let isDirectory: Bool
        var name: Vault.Name
        let place: UndoItem.Place
    }

    /// The room that a change of a name needs in the index, in bytes; more than enough.
    private static let nameByteCount = 2 << 10
    /// The room for which a link, and an extended attribute beside its value, ask.
    private static let linkByteCount = 8192, attributeByteCount = 4096

    init(_ vault: Vault, _ plan: UndoPlan, _ settlement: UndoSettlement, _ drafts: UndoDrafts) {
        self.vault = vault
        self.settlement = settlement
        self.drafts = drafts
        numbers = plan.directories.mapValues(\.number)
        for (id, item) in settlement.items {
            guard let row = item.present?.row else { continue }
            numbers[id] = row.number
            if FileType(mode: row.mode) == .regular { outdated.insert(row.number) }
        }
        for (id, draft) in drafts.made { self.numbers[id] = draft.number }
    }

    /// - Throws: `.noSpace`, or `.busy` if somebody has touched the drafts; with nothing changed.
    mutating func make(_ state: inout VaultState) throws(FileSystemError) {
        let items = settlement.items.sorted { $0.key < $1.key }
        try drafts.check(state)
        for (id, item) in items {
            let places = (item.past?.places ?? []).union(item.present?.places ?? [])
            let isMade = !item.needsDraft || drafts.made[id] != nil
            guard isMade, places.allSatisfy({ numbers[$0.parent] != nil }) else { throw .busy }
        }
        // A change that fails half-way stops the vault, so there has to be room for all of it.
        let byteCount = items.reduce(0) { $0 + Self.byteCount(of: $1.value) }
        try state.space.ensure(for: byteCount)
        state.space.budget = (byteCount, .max)
        defer { state.space.budget = (0, 0) }
        for (id, item) in items { try takeNames(of: item, id, &state) }
        try move(&state)
        try removeDirectories(&state)
        for index in moves.indices { try place(index, &state) }
        for link in links {
            let name = name(of: link.place)
            _ = try state.tree.link(link.number, as: name.name, in: name.parent, &state.space)
            noteArrived(link.number, at: name, &state)
        }
        for (id, item) in items {
            try setAttributes(of: item, id, &state)
            noteAttributes(of: item, id)
        }
    }

    /// The room that the changes of an item need, in bytes.
    private static func byteCount(of item: UndoItem) -> Int {
        let present = item.present?.places.count ?? 0
        guard let past = item.past else { return present * nameByteCount }
        var count = (present + past.places.count) * nameByteCount
        count += max(past.places.count - 1, 0) * linkByteCount
        for attribute in past.extendedAttributes { count += attribute.value.count + attributeByteCount }
        return count
    }

    private func name(of place: UndoItem.Place) -> Vault.Name {
        Vault.Name(place.name, in: numbers[place.parent] ?? 0)
    }

    // MARK: Names

    /// Takes away the names that an item does not keep, but for those that move; plans the moves.
    private mutating func takeNames(
        of item: UndoItem, _ id: ItemID, _ state: inout VaultState
    ) throws(FileSystemError) {
        let present = item.present?.places ?? []
        let past = item.past?.places ?? []
        var leaving = present.subtracting(past).sorted()
        var coming = past.subtracting(present).sorted()
        if let draft = drafts.made[id] {
            let kept = past.intersection(present).sorted()
            if let first = kept.first {
                try replace(first, with: draft, &state)
            } else if let first = coming.first {
                moves.append(
                    Move(
                        number: draft.number, isDirectory: item.isDirectory, name: draft.name, place: first))
                coming.removeFirst()
            }
            links += (kept.dropFirst() + coming).map { (draft.number, $0) }
            for place in kept.dropFirst() + leaving { try unlink(name(of: place), &state) }
            return
        }
        guard let number = item.present?.row.number else { return }
        while let from = leaving.first, let to = coming.first {
            moves.append(
                Move(number: number, isDirectory: item.isDirectory, name: name(of: from), place: to))
            leaving.removeFirst()
            coming.removeFirst()
        }
        links += coming.map { (number, $0) }
        if item.isDirectory { return }
        for place in leaving { try unlink(name(of: place), &state) }
    }

    private mutating func replace(
        _ place: UndoItem.Place, with draft: UndoDrafts.Draft, _ state: inout VaultState
    ) throws(FileSystemError) {
        let name = name(of: place)
        let replaced = try state.tree.rename(
            draft.name.name, in: draft.name.parent, to: name.name, in: name.parent, .replace)
        changes.append(.entry(draft.name))
        noteArrived(draft.number, at: name, &state)
        if let replaced { noteNameless(replaced, at: name, isReplaced: true, &state) }
    }

    private mutating func unlink(_ name: Vault.Name, _ state: inout VaultState) throws(FileSystemError) {
        let removed = try state.tree.unlink(name.name, in: name.parent)
        changes.append(.entry(name))
        if removed.isLast { noteNameless(removed.number, at: name, isReplaced: false, &state) }
    }

    /// Notes that a name leads to another item, if to a file, which the kernel does not know yet.
    private mutating func noteArrived(_ file: Int64?, at name: Vault.Name, _ state: inout VaultState) {
        changes.append(.entry(name))
        guard let file else { return }
        if vault.sink.withLock({ $0 })?.knows(name.parent) == true {
            state.tree.unseen.insert(name, leadingTo: file)
        }
    }

    /// Notes that a file has lost its last name.
    ///
    /// A program that writes to it does not know that, and gets a file of its own.
    private mutating func noteNameless(
        _ number: Int64, at name: Vault.Name, isReplaced: Bool, _ state: inout VaultState
    ) {
        if outdated.contains(number) {
            state.tree.outdated[number] = name
            if !isReplaced { state.tree.removedElsewhere.insert(number) }
        }
        changes.append(.nameless(item: number))
    }

    /// Makes the moves to places that are free; what has to wait for its place is parked.
    private mutating func move(_ state: inout VaultState) throws(FileSystemError) {
        var waiting: [Move] = []
        for index in moves.indices {
            if try isFree(moves[index], state) {
                try place(index, &state)
            } else {
                waiting.append(moves[index])
            }
        }
        moves = waiting
        for index in moves.indices where moves[index].name.parent != drafts.number {
            let name = Vault.Name(Array("parked \(parkedCount)".utf8), in: drafts.number)
            parkedCount += 1
            try rename(moves[index].name, to: name, &state)
            changes.append(.entry(name))
            moves[index].name = name
        }
    }

    private func isFree(_ move: Move, _ state: borrowing VaultState) throws(FileSystemError) -> Bool {
        let name = name(of: move.place)
        guard try state.index.entry(name.name, in: name.parent) == nil else { return false }
        // Of a directory that is to be inside itself, one that it is in now has to move first.
        if !move.isDirectory { return true }
        return try !Self.way(from: name.parent, state).contains(move.number)
    }

    /// A directory, and all that it is in, up to the root.
    private static func way(
        from directory: Int64, _ state: borrowing VaultState
    ) throws(FileSystemError) -> Set<Int64> {
        var way: Set<Int64> = []
        var directory = directory
        while way.insert(directory).inserted, directory != Vault.rootNumber {
            directory = try state.tree.peek(directory).parent
        }
        // Pages from an older state of the index may form a cycle.
        guard directory == Vault.rootNumber else {
            throw .damaged(place: "the place of directory \(directory)")
        }
        return way
    }

    private mutating func place(_ index: Int, _ state: inout VaultState) throws(FileSystemError) {
        let (move, name) = (moves[index], name(of: moves[index].place))
        try rename(move.name, to: name, &state)
        noteArrived(move.isDirectory ? nil : move.number, at: name, &state)
    }

    private mutating func rename(
        _ name: Vault.Name, to other: Vault.Name, _ state: inout VaultState
    ) throws(FileSystemError) {
        _ = try state.tree.rename(name.name, in: name.parent, to: other.name, in: other.parent, .keep)
        changes.append(.entry(name))
    }

    /// Removes the directories that were not there, the innermost first.
    private mutating func removeDirectories(_ state: inout VaultState) throws(FileSystemError) {
        var depths: [(depth: Int, name: Vault.Name)] = []
        for item in settlement.items.values where item.isDirectory && item.past == nil {
            guard let row = item.present?.row, let place = item.place else { continue }
            depths.append((try Self.way(from: row.number, state).count, name(of: place)))
        }
        for (_, name) in depths.sorted(by: { $0.depth > $1.depth }) {
            let number = try state.tree.removeDirectory(name.name, in: name.parent)
            changes += [.entry(name), .nameless(item: number)]
        }
    }

    // MARK: Attributes

    /// Gives an item that stays the attributes that it had; a directory that was made has got other times meanwhile.
    private mutating func setAttributes(
        of item: UndoItem, _ id: ItemID, _ state: inout VaultState
    ) throws(FileSystemError) {
        guard let past = item.past, let number = numbers[id] else { return }
        let isMade = drafts.made[id] != nil
        guard isMade ? item.isDirectory : item.changesAttributes else { return }
        let cached = try state.tree.item(number)
        let time = Clock.fileTime
        if !isMade {
            for change in past.attributes.rightsChanges {
                try state.tree.setAttributes(of: cached, change, at: time, keepsTimes: false)
            }
            try setExtendedAttributes(of: number, past, &state)
        }
        if isMade || !item.isDirectory {
            var times = AttributeChanges()
            times.modified = .at(past.attributes.modified)
            try state.tree.setAttributes(of: cached, times, at: time, keepsTimes: false)
        }
    }

    /// Has programs look again at what an item is now: also the number of its names may have changed.
    private mutating func noteAttributes(of item: UndoItem, _ id: ItemID) {
        guard let past = item.past, let number = numbers[id] else { return }
        for place in past.places { changes.append(.attributes(item: number, name(of: place))) }
        if number == Vault.rootNumber {
            changes.append(.attributes(item: number, Vault.Name([], in: number)))
        }
    }

    private func setExtendedAttributes(
        of number: Int64, _ past: UndoItem.Past, _ state: inout VaultState
    ) throws(FileSystemError) {
        for (name, _) in try state.index.attributes(of: number)
        where ExtendedAttributeName.isKept(name)
            && !past.extendedAttributes.contains(where: { $0.name == name })
        {
            try state.tree.removeExtendedAttribute(name, of: number)
        }
        for (name, value) in past.extendedAttributes {
            try state.tree.setExtendedAttribute(
                name, of: number, to: value, .any, groups: { nil }, &state.space)
        }
    }
}
