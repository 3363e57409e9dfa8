internal import CofferFormat
internal import CofferStore
internal import CofferSystem
internal import Glibc

/// Finds out what some devices changed since a state, and how the items were before.
final class UndoReader {
    /// What was found.
    var plan: UndoPlan

    let vault: Vault
    private let since: HistoryView
    let authors: Set<History.Author>
    /// Called often; returns whether the caller still waits.
    let step: () -> Bool
    /// The states that are kept from `since` on, ascending.
    private var moments: [MomentRow] = []
    /// The changes of each item, and the numbers that it has had.
    private var changes: [ItemID: [Change]] = [:]
    private var numbers: [ItemID: Set<Int64>] = [:]
    /// The ids that each number has had: a program that goes on writing to a replaced file makes it another item.
    private var ids: [Int64: Set<ItemID>] = [:]
    private var present: [ItemID: UndoItem.Present] = [:]
    /// The items that were first changed while the reader looked.
    private var missed: Set<ItemID> = []
    let copies: PastCopies

    /// A change of an item, in the time of a state.
    private struct Change {
        let moment: Int64
        let author: History.Author
        let isCreation: Bool
    }

    init(
        _ vault: Vault, since: HistoryView, by authors: Set<History.Author>, _ copies: PastCopies,
        step: @escaping () -> Bool
    ) {
        self.vault = vault
        self.copies = copies
        self.since = since
        plan = UndoPlan(views: UndoViews(vault, since: since))
        self.authors = authors
        self.step = step
    }

    /// Reads all there is to know.
    ///
    /// The present is noted before the changes are read, so that every change that is read of is in what was noted, or
    /// shows that it is out of date.
    func read() throws(FileSystemError) {
        try store()
        let changed = Set(try changesByNumber().keys)
        for number in changed { vault.flush(number) }
        try store()
        plan.lastMoment = vault.state.withLock { $0.tree.history?.row.last ?? 0 }
        let places = try readNames(of: changed)
        let noted = changed.union(places.keys)
        try notePresent(noted, at: places)
        try store()
        try group(try changesByNumber(), noted)
        for (id, known) in changes { try add(id, known) }
        let origins = try vault.facts.origins(of: plan.items.values.compactMap { $0.present?.row.number })
        // What lost a conflict is somebody else's work, and comes and goes by rule.
        for (id, item) in plan.items {
            if let number = item.present?.row.number, origins[number]?.isCopy == true { plan.items[id] = nil }
        }
        try findPastPlaces()
        try compare()
        keepWorkOfOthers(origins)
        try passOverRestored()
    }

    private func store() throws(FileSystemError) {
        if !vault.isReadOnly { try vault.history.keepPresent() }
        moments = try vault.reading { state throws(FileSystemError) in
            try state.index.moments().filter { $0.number >= since.moment.number }
        }
    }

    func awaitCaller() throws(FileSystemError) {
        if !step() { throw .system(SystemError("undo", code: EINTR)) }
    }

    // MARK: Changes

    /// Who changed which items since the state, in the time of which states.
    private func changesByNumber() throws(FileSystemError) -> [Int64: [Change]] {
        var changes: [Int64: [Change]] = [:]
        var recorded: Set<[Int64]> = []
        let first = since.moment.number
        try vault.history.forEachAuthor { row in
            guard row.moment >= first else { return }
            recorded.insert([row.moment, row.item])
            changes[row.item, default: []].append(
                Change(moment: floor(row.moment), author: History.Author(row.log), isCreation: row.isCreation)
            )
        }
        // What ended a version, and nobody is recorded for, did this device.
        try vault.history.forEachVersion { row in
            guard row.until >= first, !recorded.contains([row.until, row.item]) else { return }
            changes[row.item, default: []].append(
                Change(moment: floor(row.until), author: .thisDevice, isCreation: false))
        }
        return changes
    }

    /// The number of the latest state that is kept and does not come after a moment.
    private func floor(_ moment: Int64) -> Int64 {
        let count = moments.partitioningIndex { $0.number > moment }
        return count > 0 ? moments[count - 1].number : since.moment.number
    }

    private func next(after moment: Int64) -> Int64? {
        let place = moments.partitioningIndex { $0.number > moment }
        return place < moments.count ? moments[place].number : nil
    }

    /// Puts together what happened to each item that had a name.
    ///
    /// - Parameter noted: The numbers of the items of which the present has been noted.
    private func group(_ changes: [Int64: [Change]], _ noted: Set<Int64>) throws(FileSystemError) {
        for number in Set(changes.keys).union(noted) {
            try awaitCaller()
            var known = changes[number] ?? []
            // What nobody is recorded for, this device made.
            if number >= since.moment.nextItem, !known.contains(where: \.isCreation) {
                let count = moments.partitioningIndex { $0.nextItem > number }
                let moment = count > 0 ? moments[count - 1].number : since.moment.number
                known.append(Change(moment: moment, author: .thisDevice, isCreation: true))
            }
            known.sort { $0.moment < $1.moment }
            let row = try vault.reading { state throws(FileSystemError) -> ItemRow? in
                guard let row = try state.tree.row(number), !row.flags.contains(.isVersion) else {
                    return nil
                }
                return row
            }
            if let row, row.links > 0, !noted.contains(number) { missed.insert(row.id) }
            let present = row.flatMap { $0.links > 0 ? $0.id : nil }
            var befores: [ItemID?] = []
            for change in known {
                let past = try view(change.moment).item(number)
                befores.append(past.flatMap { $0.attributes.links > 0 ? $0.id : nil })
            }
            // No state has it, as those that had it have gone.
            let hidden = present == nil && !befores.contains { $0 != nil } ? try versionID(of: number) : nil
            for (place, change) in known.enumerated() {
                let later = known.firstIndex { $0.moment > change.moment }
                let after = later.map { befores[$0] } ?? present
                for id in Set([befores[place], after, hidden].compactMap(\.self)) {
                    ids[number, default: []].insert(id)
                    numbers[id, default: []].insert(number)
                    self.changes[id, default: []].append(change)
                }
            }
        }
    }

    /// The id of an item, as its first version has it; nil if it has no versions.
    private func versionID(of number: Int64) throws(FileSystemError) -> ItemID? {
        try vault.reading { state throws(FileSystemError) in
            guard let version = try state.index.versions(of: number, from: 0).first else { return nil }
            return try state.tree.row(version.version)?.id
        }
    }

    // MARK: The present

    /// Reads the names of directories, of items that were changed, and of those that came.
    private func readNames(of changed: Set<Int64>) throws(FileSystemError) -> [Int64: Set<UndoItem.Place>] {
        let root = try vault.reading { state throws(FileSystemError) in
            try state.tree.peek(Vault.rootNumber).id
        }
        plan.directories[root] = (Vault.rootNumber, nil)
        var places: [Int64: Set<UndoItem.Place>] = [:]
        var waiting = [(Vault.rootNumber, root)]
        while let (directory, id) = waiting.popLast() {
            try awaitCaller()
            var cookie: Int64 = 2
            while true {
                let page: [Vault.Entry]
                do throws(FileSystemError) {
                    page = try vault.readDirectory(directory, after: cookie, limit: 256, attributes: false)
                } catch {
                    // It was removed just now.
                    guard case .stale = error else { throw error }
                    break
                }
                for entry in page {
                    let place = UndoItem.Place(parent: id, name: entry.name)
                    if entry.item >= since.moment.nextItem || changed.contains(entry.item) {
                        places[entry.item, default: []].insert(place)
                    }
                    guard entry.type == FileType.directory.rawValue else { continue }
                    let row = try vault.reading { state throws(FileSystemError) in
                        try state.tree.row(entry.item)
                    }
                    guard let row else { continue }
                    plan.directories[row.id] = (entry.item, place)
                    waiting.append((entry.item, row.id))
                }
                guard let last = page.last else { break }
                cookie = last.cookie
            }
        }
        return places
    }

    /// Notes how items are now that have a name.
    private func notePresent(
        _ numbers: Set<Int64>, at places: [Int64: Set<UndoItem.Place>]
    ) throws(FileSystemError) {
        for number in numbers {
            let found = try vault.reading { state throws(FileSystemError) in
                try UndoItem.Present(number, places[number] ?? [], state)
            }
            if let found { present[found.row.id] = found }
        }
    }

    // MARK: The past

    private func view(_ moment: Int64) throws(FileSystemError) -> HistoryView { try plan.views.view(moment) }

    /// How an item was that had a name; nil if there was none.
    private func past(_ id: ItemID, in view: HistoryView) throws(FileSystemError) -> Attributes? {
        for number in numbers[id] ?? [] {
            if let past = try view.item(number), past.id == id, past.attributes.links > 0 {
                return past.attributes
            }
        }
        return nil
    }

    /// Decides what becomes of an item.
    private func add(_ id: ItemID, _ changes: [Change]) throws(FileSystemError) {
        guard changes.contains(where: { authors.contains($0.author) }) else { return }
        try awaitCaller()
        var item = UndoItem()
        item.present = present[id]
        var relevant = changes
        if try isDirectory(id, item, changes) {
            relevant = []
            for change in changes where try isChanged(id, item, at: change.moment) { relevant.append(change) }
        }
        let own = relevant.filter { authors.contains($0.author) }.map(\.moment).sorted()
        let others = relevant.filter { !authors.contains($0.author) }
        guard let first = own.first else { return }
        // Nobody knows what an item was between two changes of one minute, so these count as later ones.
        let last = others.map(\.moment).max() ?? -1
        let target = own.first { $0 > last }
        if target == nil { item.obstacle = .changedByOthers }
        if missed.contains(id) { item.obstacle = .changedMeanwhile }
        if target != first { item.others = Set(others.lazy.filter { $0.moment >= first }.map(\.author)) }
        let view = try view(target ?? first)
        if let attributes = try past(id, in: view) {
            item.past = UndoItem.Past(
                view: view, attributes: attributes,
                extendedAttributes: try view.extendedAttributes(of: attributes.number))
            // No honest device makes a file of a directory.
            if let present = item.present, FileType(mode: present.row.mode) != attributes.type {
                item.obstacle = .placeTaken
            }
        }
        plan.items[id] = item
    }

    private func isDirectory(
        _ id: ItemID, _ item: UndoItem, _ changes: [Change]
    ) throws(FileSystemError) -> Bool {
        if let present = item.present { return FileType(mode: present.row.mode) == .directory }
        for moment in changes.map(\.moment) + moments.map(\.number) {
            if let past = try past(id, in: view(moment)) { return past.type == .directory }
        }
        return false
    }

    /// Whether a directory itself changed in the time of a state, and not only names in it.
    private func isChanged(
        _ id: ItemID, _ item: UndoItem, at moment: Int64
    ) throws(FileSystemError) -> Bool {
        let view = try view(moment)
        let old = try past(id, in: view)
        guard let later = try next(after: moment).map(self.view) else {
            guard let old, let present = item.present else { return (old == nil) != (item.present == nil) }
            let attributes = Attributes(present.row)
            if !old.hasSameRights(as: attributes) { return true }
            if try !copies.hasSameExtendedAttributes(old, in: view, attributes) { return true }
            if old.number == Vault.rootNumber { return false }
            return present.places != (try placesOfDirectory(id, old, in: view))
        }
        let new = try past(id, in: later)
        guard let old, let new else { return (old == nil) != (new == nil) }
        if !old.hasSameRights(as: new) { return true }
        if try !later.hasSameExtendedAttributes(old.number, in: view, as: new.number) { return true }
        let places = try placesOfDirectory(id, old, in: view)
        return places != (try placesOfDirectory(id, new, in: later))
    }

    // MARK: Past names

    /// The names of directories in directories, by the state and the numbers of both.
    private var listings: [[Int64]: [Int64: Set<[UInt8]>]] = [:]

    /// Where a directory was; nothing for the root.
    private func placesOfDirectory(
        _ id: ItemID, _ directory: Attributes, in view: HistoryView
    ) throws(FileSystemError) -> Set<UndoItem.Place> {
        let parent = try view.parent(of: directory.number)
        if directory.number == Vault.rootNumber { return [] }
        let key = [view.moment.number, parent]
        if listings[key] == nil {
            var names: [Int64: Set<[UInt8]>] = [:]
            for entry in try view.entries(of: parent) where entry.type == FileType.directory.rawValue {
                names[entry.item, default: []].insert(entry.name)
            }
            listings[key] = names
        }
        guard let parentID = try view.item(parent)?.id else { return [] }
        let names = listings[key]?[directory.number] ?? []
        return Set(names.map { UndoItem.Place(parent: parentID, name: $0) })
    }

    /// Finds the names that items had: those that they still have, and those that directories have lost since.
    private func findPastPlaces() throws(FileSystemError) {
        for (directory, known) in changes where known.contains(where: { authors.contains($0.author) }) {
            for number in numbers[directory] ?? [] {
                try awaitCaller()
                for entry in try lostEntries(of: number) {
                    for id in ids[entry.item] ?? []
                    where plan.items[id]?.past?.attributes.number == entry.item {
                        try addPastPlace(UndoItem.Place(parent: directory, name: entry.name), of: id)
                    }
                }
            }
        }
        for (id, item) in plan.items where item.past != nil {
            for place in item.present?.places ?? [] { try addPastPlace(place, of: id) }
        }
    }

    /// The names that a directory has had since the state and lost, and what they led to.
    private func lostEntries(of directory: Int64) throws(FileSystemError) -> [EntryRow] {
        let versions = try vault.reading { state throws(FileSystemError) in
            try state.index.versions(of: directory, from: since.moment.number)
        }
        var entries: [EntryRow] = []
        for version in versions {
            var cookie: Int64 = 0
            while true {
                let page = try vault.reading { state throws(FileSystemError) in
                    try state.index.entries(in: version.version, after: cookie, limit: 1024)
                }
                entries += page.filter { $0.item != 0 }
                guard page.count == 1024, let last = page.last else { break }
                cookie = last.cookie
            }
        }
        return entries
    }

    private func addPastPlace(_ place: UndoItem.Place, of id: ItemID) throws(FileSystemError) {
        guard let past = plan.items[id]?.past, !past.places.contains(place) else { return }
        for parent in numbers[place.parent] ?? plan.directories[place.parent].map({ [$0.number] }) ?? [] {
            do throws(FileSystemError) {
                if try past.view.lookup(place.name, in: parent).number == past.attributes.number {
                    plan.items[id]?.past?.places.insert(place)
                    return
                }
            } catch {
                switch error {
                case .notFound, .stale, .notDirectory: continue
                default: throw error
                }
            }
        }
    }

    // MARK: Differences

    /// Notes in what items differ from what they were.
    private func compare() throws(FileSystemError) {
        for (id, item) in plan.items {
            try awaitCaller()
            guard let present = item.present, let past = item.past else { continue }
            let attributes = Attributes(present.row)
            let isFile = past.attributes.type != .directory
            if isFile, present.row.number != past.attributes.number {
                plan.items[id]?.changesContent = true
            } else if past.attributes.type == .regular {
                plan.items[id]?.changesContent = try !past.view.hasPresentContent(past.attributes.number)
            }
            let isLike = try copies.hasSameExtendedAttributes(past.attributes, in: past.view, attributes)
            plan.items[id]?.changesAttributes =
                !isLike || !past.attributes.hasSameRights(as: attributes)
                || isFile && past.attributes.modified != attributes.modified
        }
    }
}
