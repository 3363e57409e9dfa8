package import CofferFormat

/// A whole tree, as it is shown.
package struct ShownTree: Equatable, Sendable {
    /// All entries that are shown.
    package var entries: [EntryID: Showing] = [:]
    /// All items that these entries lead to.
    package var items: [ItemID: ShownItem] = [:]

    /// An empty tree.
    package init() {}

    /// The hash of everything that is shown, which `FactTree` computes step by step.
    package func hash(_ key: StateHashKey) -> StateHash {
        var sum = StateHash.zero
        for showing in entries.values { sum.add(key.hash(showing)) }
        for (id, item) in items { sum.add(key.hash(item, id)) }
        return sum
    }
}

/// The tree as a function of all facts, written for clarity rather than speed (docs/merge.md).
///
/// `FactTree` computes the same result from what a commit changes.
package struct FullEvaluation {
    private let values: [Register: [RegisterValue]]
    private let labels: [LogID: String]
    private let root: ItemID
    private var attributeNames: [ItemID: [[UInt8]]] = [:]
    private var claims: [EntryID: Claim] = [:]
    private var directories: [ItemID: Directory] = [:]

    /// An entry's claim.
    private struct Claim {
        var item: ItemID
        var stamp: Stamp
        var place: Place
        /// False for a removed directory, which is shown only if it is not empty.
        var isLive: Bool
    }

    private struct Directory {
        var entry: EntryID
        /// The stated place, the previous place, and the root; if there is a cycle, the next one counts.
        var places: [Place]
    }

    /// Prepares the evaluation.
    ///
    /// - Parameters:
    ///   - values: All values of all registers, by ascending stamp.
    ///   - labels: The labels that the owners of logs gave their devices.
    ///   - root: The root directory.
    package init(values: [Register: [RegisterValue]], labels: [LogID: String], root: ItemID) {
        self.values = values
        self.labels = labels
        self.root = root
        for case .extendedAttribute(let item, let name) in values.keys {
            attributeNames[item, default: []].append(name)
        }
    }

    /// Evaluates the tree.
    package mutating func tree() -> ShownTree {
        findClaims()
        breakCycles()
        moveOrphansToRoot()
        dropEmptyRemovedDirectories()
        return nameAll()
    }

    // MARK: 1. Which entries claim which place

    private mutating func findClaims() {
        var entries: [ItemID: [(entry: EntryID, placement: Fact.Placement, stamp: Stamp)]] = [:]
        for case (.place(let entry), let values) in values {
            let placements = values.compactMap { value -> (Fact.Placement, Stamp)? in
                if case .place(_, let placement) = value.assertion { (placement, value.stamp) } else { nil }
            }
            guard let best = placements.last(where: { $0.0.place != nil }) ?? placements.last else {
                continue
            }
            entries[best.0.item, default: []].append((entry, best.0, best.1))
        }
        for (item, entries) in entries {
            guard let kind = kind(of: item), item != root else { continue }
            let placed = entries.filter { $0.placement.place != nil }
            let last = (placed.isEmpty ? entries : placed).max {
                ($0.stamp, $0.placement.rank, $0.entry) < ($1.stamp, $1.placement.rank, $1.entry)
            }
            guard let last else { continue }
            if kind == .directory {
                let (placement, inRoot) = (last.placement, root)
                guard let place = placement.place ?? placement.previous else { continue }
                let root = Place(parent: inRoot, name: place.name)
                directories[item] = Directory(
                    entry: last.entry, places: [place, placement.previous ?? root, root])
                claims[last.entry] = Claim(
                    item: item, stamp: last.stamp, place: place, isLive: placement.place != nil)
            } else if placed.isEmpty {
                // All entries were removed. The file stays if it has a content that none of the removals had
                // seen.
                guard let place = last.placement.previous, hasUnseenContent(item, entries.map(\.entry)) else {
                    continue
                }
                claims[last.entry] = Claim(item: item, stamp: last.stamp, place: place, isLive: true)
            } else {
                for entry in placed {
                    guard let place = entry.placement.place else { continue }
                    claims[entry.entry] = Claim(item: item, stamp: entry.stamp, place: place, isLive: true)
                }
            }
        }
    }

    private func kind(of item: ItemID) -> Fact.Kind? {
        if item == root { return .directory }
        guard case .kind(_, let kind)? = values[.kind(item)]?.last?.assertion else { return nil }
        return kind
    }

    private func hasUnseenContent(_ item: ItemID, _ entries: [EntryID]) -> Bool {
        var seen: Set<Dot> = []
        for value in entries.flatMap({ values[.place($0)] ?? [] }) {
            if case .place(_, let placement) = value.assertion { seen.formUnion(placement.seenContents) }
        }
        return (values[.content(item)] ?? []).contents.contains { !seen.contains($0.stamp.dot) }
    }

    // MARK: 2. No directory lies in itself

    private mutating func breakCycles() {
        var levels: [ItemID: Int] = [:]
        while true {
            let cycles = cycles()
            if cycles.isEmpty { return }
            for cycle in cycles {
                let highest = cycle.max { (claimStamp($0), $0) < (claimStamp($1), $1) }
                guard let highest, let directory = directories[highest] else { continue }
                levels[highest, default: 0] += 1
                claims[directory.entry]?.place = directory.places[levels[highest, default: 0]]
            }
        }
    }

    /// All current cycles; they have no directory in common.
    private func cycles() -> [ArraySlice<ItemID>] {
        var cycles: [ArraySlice<ItemID>] = []
        var seen: Set<ItemID> = []
        for start in directories.keys {
            var path: [ItemID] = []
            var positions: [ItemID: Int] = [:]
            var next: ItemID? = start
            while let directory = next, seen.insert(directory).inserted {
                positions[directory] = path.count
                path.append(directory)
                next = parent(of: directory)
            }
            if let position = next.flatMap({ positions[$0] }) { cycles.append(path[position...]) }
        }
        return cycles
    }

    private func claimStamp(_ directory: ItemID) -> Stamp {
        directories[directory].flatMap { claims[$0.entry]?.stamp }
            ?? Stamp(
                clock: 0, dot: Dot(log: LogID(low: 0, high: 0), sequence: 0))
    }

    private func parent(of directory: ItemID) -> ItemID? {
        directories[directory].flatMap { claims[$0.entry]?.place.parent }
    }

    // MARK: 3. Every entry lies in a directory

    private mutating func moveOrphansToRoot() {
        for (entry, claim) in claims
        where claim.place.parent != root && directories[claim.place.parent] == nil {
            claims[entry]?.place.parent = root
        }
    }

    private mutating func dropEmptyRemovedDirectories() {
        var counts = Dictionary(grouping: claims.values, by: \.place.parent).mapValues(\.count)
        var open = claims.filter { !$0.value.isLive && counts[$0.value.item] == nil }.map(\.key)
        while let dropped = open.popLast() {
            guard let parent = claims.removeValue(forKey: dropped)?.place.parent else { continue }
            counts[parent, default: 0] -= 1
            if counts[parent] == 0, let entry = directories[parent]?.entry, claims[entry]?.isLive == false {
                open.append(entry)
            }
        }
    }

    // MARK: 4. Names, from the root downwards

    /// Directories that are shown as one.
    private struct Group {
        let shown: ItemID
        let members: Set<ItemID>
    }

    private mutating func nameAll() -> ShownTree {
        var tree = ShownTree()
        if let item = item(root), !item.isBare { tree.items[root] = item }
        let children = Dictionary(grouping: claims, by: \.value.place.parent)
        let firstEntries = Dictionary(grouping: claims, by: \.value.item).compactMapValues {
            $0.map(\.key).min()
        }
        var groups = [Group(shown: root, members: [root])]
        while let group = groups.popLast() {
            let inside = group.members.flatMap { children[$0] ?? [] }
            let slots = Dictionary(grouping: inside, by: { $0.value.place.name })
            var losers: [Loser] = []
            for (name, claimants) in slots {
                let place = Place(parent: group.shown, name: name)
                let united = claimants.filter { directories[$0.value.item] != nil }.sorted { left, right in
                    (kindStamp(left.value.item), left.value.item) < (
                        kindStamp(right.value.item), right.value.item
                    )
                }
                var files = claimants.filter { directories[$0.value.item] == nil }
                    .sorted { ($0.value.stamp, $0.key) < ($1.value.stamp, $1.key) }
                for file in files where firstEntries[file.value.item] == file.key {
                    losers += copies(of: file.value.item, name)
                }
                if let first = united.first {
                    groups.append(Group(shown: first.value.item, members: Set(united.map(\.value.item))))
                    tree.entries[first.key] = Showing(place: place, item: first.value.item)
                } else if let winner = files.popLast() {
                    tree.entries[winner.key] = Showing(place: place, item: winner.value.item)
                }
                losers += files.map {
                    Loser(entry: $0.key, item: $0.value.item, stamp: $0.value.stamp, wanted: name)
                }
                for entry in claimants { tree.items[entry.value.item] = item(entry.value.item) }
                for member in united.dropFirst() { tree.items[member.value.item] = nil }
            }
            nameLosers(losers, in: group.shown, Set(slots.keys), &tree)
        }
        return tree
    }

    private func kindStamp(_ item: ItemID) -> Stamp {
        values[.kind(item)]?.last?.stamp ?? claimStamp(item)
    }

    /// An entry or a copy that is shown under a name by rule.
    private struct Loser {
        var entry: EntryID
        var item: ItemID
        var stamp: Stamp
        var wanted: EntryName
        var copy: ShownItem?
    }

    /// Assigns names in the order of stamps, and skips names that a fact claims.
    private func nameLosers(
        _ losers: [Loser], in directory: ItemID, _ claimed: Set<EntryName>, _ tree: inout ShownTree
    ) {
        var taken = claimed
        var numbers: [EntryName: Int] = [:]
        for loser in losers.sorted(by: { ($0.stamp, $0.entry) < ($1.stamp, $1.entry) }) {
            let wanted = ConflictName.wanted(
                for: loser.wanted, label: labels[loser.stamp.dot.log], milliseconds: loser.stamp.milliseconds)
            var number = numbers[wanted, default: 0] + 1
            while !taken.insert(ConflictName.numbered(wanted, number)).inserted { number += 1 }
            numbers[wanted] = number
            let name = ConflictName.numbered(wanted, number)
            tree.entries[loser.entry] = Showing(
                place: Place(parent: directory, name: name), item: loser.item)
            if let copy = loser.copy { tree.items[loser.item] = copy }
        }
    }

    // MARK: 5. Items

    /// The losing contents of an item; they are shown beside its entry with the lowest id.
    private func copies(of item: ItemID, _ name: EntryName) -> [Loser] {
        guard kind(of: item) == .file, let original = self.item(item) else { return [] }
        return ContentChoice.choices(values[.content(item)] ?? [], of: item).dropFirst().compactMap {
            choice in
            let ids = CopySource(item: item, dot: choice.stamp.dot).ids
            guard values[.place(ids.entry)] == nil, values[.kind(ids.item)] == nil else { return nil }
            return Loser(
                entry: ids.entry, item: ids.item, stamp: choice.stamp, wanted: name,
                copy: original.copy(choice.content, of: item))
        }
    }

    private func item(_ id: ItemID) -> ShownItem? {
        guard let kind = kind(of: id) else { return nil }
        let contents = ContentChoice.choices(values[.content(id)] ?? [], of: id).map(\.content)
        var item = ShownItem(
            kind: kind, mode: nil, modified: nil, extendedAttributes: [], content: contents.first,
            otherContents: Array(contents.dropFirst()))
        if case .mode(_, let mode)? = values[.mode(id)]?.last?.assertion { item.mode = mode }
        if case .modified(_, let time)? = values[.modified(id)]?.last?.assertion { item.modified = time }
        for name in attributeNames[id] ?? [] {
            let last = values[.extendedAttribute(id, name: name)]?.last
            guard case .extendedAttribute(_, _, let value?)? = last?.assertion else { continue }
            item.extendedAttributes.append(.init(name: name, value: value))
        }
        item.extendedAttributes.sort { $0.name.lexicographicallyPrecedes($1.name) }
        return item
    }
}
