import CofferFacts
import CofferFormat
import FactHistories

/// Counts reads and writes, so that a test knows how much a pass looks at.
struct CountedFactStore: TestedFactStore {
    private var store = MemoryFactStore()
    private let count = Count()

    private final class Count {
        var calls = 0
    }

    init(seed: UInt64) {}

    /// The number of calls so far, plus one for each entry or name in a list.
    var calls: Int { count.calls }

    private func counted<Value>(_ value: Value) -> Value {
        count.calls += 1
        return value
    }

    private func counted<Element>(_ list: [Element]) -> [Element] {
        count.calls += 1 + list.count
        return list
    }

    var allValues: [Register: [RegisterValue]] { store.allValues }
    var allLabels: [LogID: String] { store.allLabels }
    func rest() {}

    func values(_ register: Register) -> [RegisterValue] { counted(store.values(register)) }
    mutating func setValues(_ values: [RegisterValue], of register: Register) {
        count.calls += 1
        store.setValues(values, of: register)
    }
    func extendedAttributes(of item: ItemID) -> [[UInt8]] { counted(store.extendedAttributes(of: item)) }
    func item(_ id: ItemID) -> ItemState? { counted(store.item(id)) }
    mutating func setItem(_ state: ItemState?, _ id: ItemID) {
        count.calls += 1
        store.setItem(state, id)
    }
    func united(with item: ItemID) -> [ItemID] { counted(store.united(with: item)) }
    func putBackDirectories() -> [ItemID] { counted(store.putBackDirectories()) }
    func entry(_ id: EntryID) -> EntryState? { counted(store.entry(id)) }
    mutating func setEntry(_ state: EntryState?, _ id: EntryID) {
        count.calls += 1
        store.setEntry(state, id)
    }
    func entries(of item: ItemID) -> [EntryID] { counted(store.entries(of: item)) }
    func copies(of item: ItemID) -> [EntryID] { counted(store.copies(of: item)) }
    func entries(placedIn parent: ItemID, after last: EntryID?, limit: Int) -> [EntryID] {
        counted(store.entries(placedIn: parent, after: last, limit: limit))
    }
    func hasActiveEntries(placedIn parent: ItemID) -> Bool {
        counted(store.hasActiveEntries(placedIn: parent))
    }
    func orphans(of parent: ItemID) -> [EntryID] { counted(store.orphans(of: parent)) }
    func entries(inSlot slot: Place) -> [EntryID] { counted(store.entries(inSlot: slot)) }
    func entries(wanting name: Place) -> [EntryID] { counted(store.entries(wanting: name)) }
    func entry(shownAt place: Place) -> EntryID? { counted(store.entry(shownAt: place)) }
    func entries(shownIn parent: ItemID, after last: EntryName?, limit: Int) -> [EntryID] {
        counted(store.entries(shownIn: parent, after: last, limit: limit))
    }
    func changedEntries(limit: Int) -> [EntryID] { counted(store.changedEntries(limit: limit)) }
    func versions() -> VersionVector { counted(store.versions()) }
    mutating func setApplied(_ dot: Dot) {
        count.calls += 1
        store.setApplied(dot)
    }
    func label(of log: LogID) -> String? { counted(store.label(of: log)) }
    mutating func setLabel(_ label: String, of log: LogID) {
        count.calls += 1
        store.setLabel(label, of: log)
    }
    func clock() -> UInt64 { counted(store.clock()) }
    mutating func setClock(_ clock: UInt64) {
        count.calls += 1
        store.setClock(clock)
    }
    func stateHash() -> StateHash { counted(store.stateHash()) }
    mutating func setStateHash(_ hash: StateHash) {
        count.calls += 1
        store.setStateHash(hash)
    }
}
