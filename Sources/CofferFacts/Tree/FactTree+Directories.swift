internal import CofferFormat

// Where directories lie, so that there is no cycle; and which removed directories stay because they are not
// empty.
extension FactTree {
    /// Updates the claims on places in items that became directories, or ceased to be.
    mutating func resolveParents(_ pass: inout Pass) throws(Store.Failure) {
        for parent in pass.parents.sorted() {
            var children = try store.orphans(of: parent)
            var last: EntryID?
            repeat {
                let page = try store.entries(placedIn: parent, after: last, limit: Self.pageCount)
                last = page.count == Self.pageCount ? page.last : nil
                children += page
            } while last != nil
            for child in children {
                try changeClaim(child, &pass) { _ in }
                if let state = try store.entry(child), state.isDirectory {
                    pass.directories.insert(state.item)
                }
            }
        }
    }

    /// Puts directories back, or into the root, until there is no cycle among them.
    ///
    /// Every possible cycle includes a directory that was put back before, or whose place changed; all of
    /// these start from their stated places. The order in which cycles are broken makes no difference: cycles
    /// have no directory in common, and each persists until one of its own directories is put back.
    mutating func resolveCycles(_ pass: inout Pass) throws(Store.Failure) {
        guard !pass.directories.isEmpty || !pass.parents.isEmpty else { return }
        var levels: [ItemID: ItemState.Level] = [:]
        for directory in pass.directories { levels[directory] = .claimed }
        for directory in try store.putBackDirectories() { levels[directory] = .claimed }
        var walk = CycleWalk()
        for start in levels.keys.sorted() { try breakCycles(from: start, &walk, &levels) }
        for (directory, level) in levels.sorted(by: { $0.key < $1.key }) {
            guard var state = try store.item(directory), let entry = state.entry else { continue }
            if state.level != level {
                state.level = level
                try store.setItem(state, directory)
            } else if !pass.directories.contains(directory) {
                continue
            }
            let target = try target(of: entry, level)
            try changeClaim(entry, &pass) { $0.target = target }
        }
    }

    /// Follows a directory to the root, and puts directories back where the path forms a cycle.
    private func breakCycles(
        from start: ItemID, _ walk: inout CycleWalk, _ levels: inout [ItemID: ItemState.Level]
    ) throws(Store.Failure) {
        var current: ItemID? = start
        while let directory = current, directory != root {
            switch walk.step(to: directory, try stamp(ofDirectory: directory)) {
            case .new: current = try parent(of: directory, levels)
            case .done: current = nil
            case .cycle(let member):
                levels[member] = levels[member, default: .claimed] == .claimed ? .previous : .root
                current = try parent(of: member, levels)
            }
        }
        walk.end()
    }

    private func stamp(ofDirectory directory: ItemID) throws(Store.Failure) -> Stamp {
        guard let entry = try store.item(directory)?.entry, let state = try store.entry(entry) else {
            return Self.noStamp
        }
        return state.stamp
    }

    /// The parent of a directory, given which of its places counts; nil if it has none.
    private func parent(
        of directory: ItemID, _ levels: [ItemID: ItemState.Level]
    ) throws(Store.Failure) -> ItemID? {
        guard let entry = try store.item(directory)?.entry else { return nil }
        let claimed =
            if let level = levels[directory] { try target(of: entry, level) } else {
                try store.entry(entry)?.target
            }
        guard let parent = claimed?.parent, try isParent(parent) else { return nil }
        return parent
    }

    /// The place of a directory on one level.
    private func target(
        of entry: EntryID, _ level: ItemState.Level
    ) throws(Store.Failure) -> Place? {
        guard let placement = try placement(of: entry)?.placement else { return nil }
        guard let claimed = placement.place ?? placement.previous else { return nil }
        let inRoot = Place(parent: root, name: claimed.name)
        return switch level {
        case .claimed: claimed
        case .previous: placement.previous ?? inRoot
        case .root: inRoot
        }
    }

    /// Determines which removed directories contain something, from the leaves upwards.
    mutating func resolveHolders(_ pass: inout Pass) throws(Store.Failure) {
        var open: [Int: Set<ItemID>] = [:]
        for directory in pass.holders where try isRemoved(directory) {
            open[try depth(of: directory, &pass), default: []].insert(directory)
        }
        var depth = open.keys.max() ?? 0
        while !open.isEmpty {
            for directory in open.removeValue(forKey: depth) ?? [] {
                guard let id = try store.item(directory)?.entry, var state = try store.entry(id) else {
                    continue
                }
                let isActive = state.place == nil ? false : try store.hasActiveEntries(placedIn: directory)
                guard isActive != state.isActive else { continue }
                state.isActive = isActive
                try store.setEntry(state, id)
                pass.restless.insert(id)
                if let parent = state.place?.parent, try isRemoved(parent) {
                    open[depth - 1, default: []].insert(parent)
                }
            }
            depth -= 1
        }
    }

    private func isRemoved(_ directory: ItemID) throws(Store.Failure) -> Bool {
        guard let id = try store.item(directory)?.entry, let state = try store.entry(id) else { return false }
        return !state.isLive
    }
}
