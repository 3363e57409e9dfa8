package import CofferFormat

/// Facts in memory, for tests and for comparison with a store.
package struct MemoryFactStore: FactStore, Sendable {
    private var registers: [Register: [RegisterValue]] = [:]
    private var attributeNames: [ItemID: SortedSet<Name>] = [:]
    private var items: [ItemID: ItemState] = [:]
    private var unitedItems: [ItemID: SortedSet<ItemID>] = [:]
    private var putBack = SortedSet<ItemID>()
    private var entries: [EntryID: EntryState] = [:]
    private var byItem: [ItemID: SortedSet<EntryID>] = [:]
    private var byCopied: [ItemID: SortedSet<EntryID>] = [:]
    private var byPlace: [ItemID: SortedSet<EntryID>] = [:]
    private var active: [ItemID: Int] = [:]
    private var byTarget: [ItemID: SortedSet<EntryID>] = [:]
    private var bySlot: [Place: SortedSet<EntryID>] = [:]
    private var byWanted: [Place: SortedSet<EntryID>] = [:]
    private var byShown: [ItemID: SortedSet<ShownName>] = [:]
    private var changed = SortedSet<EntryID>()
    private var vector = VersionVector()
    private var labels: [LogID: String] = [:]
    private var highestClock: UInt64 = 0
    private var hash = StateHash.zero

    /// The name of an extended attribute, ordered by bytes.
    private struct Name: Hashable, Comparable {
        let bytes: [UInt8]
        static func < (left: Self, right: Self) -> Bool { left.bytes.lexicographicallyPrecedes(right.bytes) }
    }

    /// A name that is shown in a directory; two entries may briefly have the same one.
    private struct ShownName: Comparable {
        let name: EntryName
        let entry: EntryID
        static func < (left: Self, right: Self) -> Bool {
            left.name == right.name ? left.entry < right.entry : left.name < right.name
        }
    }

    /// An empty store.
    package init() {}

    /// All values of all registers.
    package var allValues: [Register: [RegisterValue]] { registers }
    /// The labels of all logs.
    package var allLabels: [LogID: String] { labels }

    // MARK: Facts

    package func values(_ register: Register) -> [RegisterValue] { registers[register] ?? [] }

    package mutating func setValues(_ values: [RegisterValue], of register: Register) {
        registers[register] = values.isEmpty ? nil : values
        guard case .extendedAttribute(let item, let name) = register else { return }
        if values.isEmpty {
            attributeNames[item, default: SortedSet()].remove(Name(bytes: name))
        } else {
            attributeNames[item, default: SortedSet()].insert(Name(bytes: name))
        }
    }

    package func extendedAttributes(of item: ItemID) -> [[UInt8]] {
        attributeNames[item]?.elements.map(\.bytes) ?? []
    }

    // MARK: Items

    package func item(_ id: ItemID) -> ItemState? { items[id] }

    package mutating func setItem(_ state: ItemState?, _ id: ItemID) {
        let before = items[id]
        items[id] = state
        if before?.united != state?.united {
            if let united = before?.united { unitedItems[united]?.remove(id) }
            if let united = state?.united { unitedItems[united, default: SortedSet()].insert(id) }
        }
        if let state, state.level != .claimed { putBack.insert(id) } else { putBack.remove(id) }
    }

    package func united(with item: ItemID) -> [ItemID] { unitedItems[item]?.elements ?? [] }
    package func putBackDirectories() -> [ItemID] { putBack.elements }

    // MARK: Entries

    package func entry(_ id: EntryID) -> EntryState? { entries[id] }

    package mutating func setEntry(_ state: EntryState?, _ id: EntryID) {
        let before = entries[id]
        entries[id] = state
        Self.move(id, &byItem, before?.item, state?.item)
        Self.move(id, &byCopied, before?.copied?.item, state?.copied?.item)
        Self.move(id, &byPlace, before?.place?.parent, state?.place?.parent)
        Self.move(id, &byTarget, Self.missingParent(before), Self.missingParent(state))
        Self.move(id, &bySlot, before?.slot, state?.slot)
        Self.move(id, &byWanted, before?.wanted, state?.wanted)
        if before?.shown != state?.shown {
            if let shown = before?.shown {
                byShown[shown.parent]?.remove(ShownName(name: shown.name, entry: id))
            }
            if let shown = state?.shown {
                byShown[shown.parent, default: SortedSet()].insert(ShownName(name: shown.name, entry: id))
            }
        }
        if let before, before.isActive, let place = before.place { active[place.parent, default: 0] -= 1 }
        if let state, state.isActive, let place = state.place { active[place.parent, default: 0] += 1 }
        if let state, state.showing != state.taken { changed.insert(id) } else { changed.remove(id) }
    }

    private static func missingParent(_ state: EntryState?) -> ItemID? {
        guard let target = state?.target, state?.place?.parent != target.parent else { return nil }
        return target.parent
    }

    private static func move<Key: Hashable>(
        _ id: EntryID, _ index: inout [Key: SortedSet<EntryID>], _ before: Key?, _ after: Key?
    ) {
        guard before != after else { return }
        if let before {
            index[before]?.remove(id)
            if index[before]?.elements.isEmpty == true { index[before] = nil }
        }
        if let after { index[after, default: SortedSet()].insert(id) }
    }

    package func entries(of item: ItemID) -> [EntryID] { byItem[item]?.elements ?? [] }
    package func copies(of item: ItemID) -> [EntryID] { byCopied[item]?.elements ?? [] }

    package func entries(placedIn parent: ItemID, after last: EntryID?, limit: Int) -> [EntryID] {
        byPlace[parent]?.elements(after: last, limit: limit) ?? []
    }

    package func hasActiveEntries(placedIn parent: ItemID) -> Bool { active[parent, default: 0] > 0 }
    package func orphans(of parent: ItemID) -> [EntryID] { byTarget[parent]?.elements ?? [] }
    package func entries(inSlot slot: Place) -> [EntryID] { bySlot[slot]?.elements ?? [] }
    package func entries(wanting name: Place) -> [EntryID] { byWanted[name]?.elements ?? [] }

    package func entry(shownAt place: Place) -> EntryID? {
        let first = ShownName(name: place.name, entry: EntryID(low: 0, high: 0))
        guard let found = byShown[place.parent]?.first(from: first), found.name == place.name else {
            return nil
        }
        return found.entry
    }

    package func entries(shownIn parent: ItemID, after last: EntryName?, limit: Int) -> [EntryID] {
        let behind = last.map { ShownName(name: $0, entry: EntryID(low: .max, high: .max)) }
        return byShown[parent]?.elements(after: behind, limit: limit).map(\.entry) ?? []
    }

    package func changedEntries(limit: Int) -> [EntryID] { Array(changed.elements.prefix(limit)) }

    // MARK: Commits

    package func versions() -> VersionVector { vector }
    package mutating func setApplied(_ dot: Dot) { vector[dot.log] = dot.sequence }
    package func label(of log: LogID) -> String? { labels[log] }
    package mutating func setLabel(_ label: String, of log: LogID) { labels[log] = label }
    package func clock() -> UInt64 { highestClock }
    package mutating func setClock(_ clock: UInt64) { highestClock = clock }
    package func stateHash() -> StateHash { hash }
    package mutating func setStateHash(_ hash: StateHash) { self.hash = hash }
}
