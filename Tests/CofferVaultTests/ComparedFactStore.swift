import CofferCrypto
import CofferFacts
import CofferFormat
import CofferStore
import CofferSystem
import CofferTestSupport
import CofferVault
import FactHistories
import Testing

/// The facts of a vault in an index, which must give the same answers as a store in memory.
///
/// Between steps, the index is sometimes committed, closed and reopened, or passed from a store with a full cache
/// to one with an empty cache.
final class ComparedFactStore: TestedFactStore {
    typealias Failure = any Error

    private let disk = SimulatedStorageDirectory()
    private let vault = VaultID(low: Random.number(), high: Random.number())
    private let key = SymmetricKey<StoreRole>.zero()
    private var memory = MemoryFactStore()
    /// Nil while the index is reopened: SQLite would see two at a time.
    private var opened: (index: Index, store: IndexFactStore)?
    private var random: SplitMix64

    init(seed: UInt64) throws {
        random = SplitMix64(seed: seed)
        try Index.create(in: disk, vault: vault, key: key)
        let index = try Index(in: disk, vault: vault, key: key)
        try index.addFacts()
        opened = (index, try IndexFactStore(index))
    }

    private var index: Index { get throws { try #require(opened).index } }
    private var store: IndexFactStore { get throws { try #require(opened).store } }

    var allValues: [Register: [RegisterValue]] { memory.allValues }
    var allLabels: [LogID: String] { memory.allLabels }

    /// What is wrong with the index.
    func problems() throws -> [String] {
        try store.flush()
        try index.commit()
        return try index.makeReader().problems()
    }

    func rest() throws {
        switch random.below(24) {
        case 0:
            try store.flush()
            try index.close()
            opened = nil
            let index = try Index(in: disk, vault: vault, key: key)
            opened = (index, try IndexFactStore(index, cachedCountMax: random.oneIn(2) ? 3 : 1_000))
        case 1:
            let problems = try problems()
            if !problems.isEmpty { throw Flaw(description: problems.joined(separator: "\n")) }
        case 2..<6:
            try store.flush()
            let fresh = try IndexFactStore(index, cachedCountMax: random.oneIn(2) ? 3 : 1_000)
            opened?.store = fresh
        case 6..<9: try store.flush()
        default: break
        }
    }

    private func same<Answer: Equatable>(
        _ question: String, _ answers: (IndexFactStore, MemoryFactStore) throws -> (Answer, Answer)
    ) throws -> Answer {
        let (found, expected) = try answers(store, memory)
        if found != expected {
            throw Flaw(description: "\(question):\n\(found)\n-- and in memory\n\(expected)")
        }
        return expected
    }

    // MARK: Facts

    func values(_ register: Register) throws -> [RegisterValue] {
        try same("\(register)") { (try $0.values(register), $1.values(register)) }
    }

    func setValues(_ values: [RegisterValue], of register: Register) throws {
        try store.setValues(values, of: register)
        memory.setValues(values, of: register)
    }

    func extendedAttributes(of item: ItemID) throws -> [[UInt8]] {
        try same("attributes of \(item)") {
            (try $0.extendedAttributes(of: item), $1.extendedAttributes(of: item))
        }
    }

    // MARK: Items

    func item(_ id: ItemID) throws -> ItemState? {
        try same("item \(id)") { (try $0.item(id), $1.item(id)) }
    }

    func setItem(_ state: ItemState?, _ id: ItemID) throws {
        try store.setItem(state, id)
        memory.setItem(state, id)
    }

    func united(with item: ItemID) throws -> [ItemID] {
        try same("united with \(item)") { (try $0.united(with: item), $1.united(with: item)) }
    }

    func putBackDirectories() throws -> [ItemID] {
        try same("put back") { (try $0.putBackDirectories(), $1.putBackDirectories()) }
    }

    // MARK: Entries

    func entry(_ id: EntryID) throws -> EntryState? {
        try same("entry \(id)") { (try $0.entry(id), $1.entry(id)) }
    }

    func setEntry(_ state: EntryState?, _ id: EntryID) throws {
        try store.setEntry(state, id)
        memory.setEntry(state, id)
    }

    func entries(of item: ItemID) throws -> [EntryID] {
        try same("entries of \(item)") { (try $0.entries(of: item), $1.entries(of: item)) }
    }

    func copies(of item: ItemID) throws -> [EntryID] {
        try same("copies of \(item)") { (try $0.copies(of: item), $1.copies(of: item)) }
    }

    func entries(placedIn parent: ItemID, after last: EntryID?, limit: Int) throws -> [EntryID] {
        // Short pages as well.
        _ = try same("two placed in \(parent)") {
            (
                try $0.entries(placedIn: parent, after: last, limit: 2),
                $1.entries(placedIn: parent, after: last, limit: 2)
            )
        }
        return try same("placed in \(parent)") {
            (
                try $0.entries(placedIn: parent, after: last, limit: limit),
                $1.entries(placedIn: parent, after: last, limit: limit)
            )
        }
    }

    func hasActiveEntries(placedIn parent: ItemID) throws -> Bool {
        try same("active in \(parent)") {
            (try $0.hasActiveEntries(placedIn: parent), $1.hasActiveEntries(placedIn: parent))
        }
    }

    func orphans(of parent: ItemID) throws -> [EntryID] {
        try same("orphans of \(parent)") { (try $0.orphans(of: parent), $1.orphans(of: parent)) }
    }

    func entries(inSlot slot: Place) throws -> [EntryID] {
        try same("slot \(slot)") { (try $0.entries(inSlot: slot), $1.entries(inSlot: slot)) }
    }

    func entries(wanting name: Place) throws -> [EntryID] {
        try same("wanting \(name)") { (try $0.entries(wanting: name), $1.entries(wanting: name)) }
    }

    func entry(shownAt place: Place) throws -> EntryID? {
        try same("shown at \(place)") { (try $0.entry(shownAt: place), $1.entry(shownAt: place)) }
    }

    func entries(shownIn parent: ItemID, after last: EntryName?, limit: Int) throws -> [EntryID] {
        let first = try same("two shown in \(parent)") {
            (
                try $0.entries(shownIn: parent, after: last, limit: 2),
                $1.entries(shownIn: parent, after: last, limit: 2)
            )
        }
        guard limit > first.count, !first.isEmpty else { return first }
        return try same("shown in \(parent)") {
            (
                try $0.entries(shownIn: parent, after: last, limit: limit),
                $1.entries(shownIn: parent, after: last, limit: limit)
            )
        }
    }

    /// Any changed ones will do, as long as all of them come.
    func changedEntries(limit: Int) throws -> [EntryID] {
        let found = try store.changedEntries(limit: limit)
        let expected = memory.changedEntries(limit: .max)
        guard Set(found).isSubset(of: expected), found.count <= limit, found.isEmpty == expected.isEmpty,
            Set(found).count == found.count
        else { throw Flaw(description: "changed: \(found)\n-- and in memory\n\(expected)") }
        return found
    }

    // MARK: Commits

    func versions() throws -> VersionVector {
        try same("versions") { ($0.versions(), $1.versions()) }
    }

    func setApplied(_ dot: Dot) throws {
        try store.setApplied(dot)
        memory.setApplied(dot)
    }

    func label(of log: LogID) throws -> String? {
        try same("label of \(log)") { ($0.label(of: log), $1.label(of: log)) }
    }

    func setLabel(_ label: String, of log: LogID) throws {
        try store.setLabel(label, of: log)
        memory.setLabel(label, of: log)
    }

    func clock() throws -> UInt64 { try same("clock") { ($0.clock(), $1.clock()) } }

    func setClock(_ clock: UInt64) throws {
        try store.setClock(clock)
        memory.setClock(clock)
    }

    func stateHash() throws -> StateHash { try same("hash") { ($0.stateHash(), $1.stateHash()) } }

    func setStateHash(_ hash: StateHash) throws {
        try store.setStateHash(hash)
        memory.setStateHash(hash)
    }
}
