package import CofferFormat

/// A value in a register, with the stamp of the commit that put it there.
package struct RegisterValue: Hashable, Sendable {
    /// When it was stated; the dot in it distinguishes the value from others in the register.
    package var stamp: Stamp
    /// What was stated.
    package var assertion: Fact.Assertion

    package init(stamp: Stamp, assertion: Fact.Assertion) {
        self.stamp = stamp
        self.assertion = assertion
    }
}

extension [RegisterValue] {
    /// Those of a content's register that are contents, rather than other places of contents.
    package var contents: Self {
        filter { if case .moved = $0.assertion { false } else { true } }
    }
}

/// Stores the facts of one vault, and what they result in; every access is by key, none by a scan.
///
/// It maps to five tables: `facts` (register → values), `items` (id → `ItemState`, with partial indexes over
/// `united` and over a level that is not 0), `entries` (id → `EntryState`, with indexes over item, place,
/// slot, shown place, and partial ones over wanted name, copied item, parent of an orphan, and changes not
/// yet taken), `logs` (id → last commit, label), and one row of state (clock, hash). A pass of `FactTree`
/// makes many small calls, which belong in one transaction.
package protocol FactStore {
    /// The error of a failed call.
    associatedtype Failure: Error

    // MARK: Facts

    /// The values of a register, by ascending stamp.
    func values(_ register: Register) throws(Failure) -> [RegisterValue]
    /// Replaces the values of a register; no values remove it.
    mutating func setValues(_ values: [RegisterValue], of register: Register) throws(Failure)
    /// The names of an item's extended attributes, including removed ones, ascending.
    func extendedAttributes(of item: ItemID) throws(Failure) -> [[UInt8]]

    // MARK: Items

    /// The state of an item; nil if the item is unknown.
    func item(_ id: ItemID) throws(Failure) -> ItemState?
    /// Stores the state of an item; nil removes it.
    mutating func setItem(_ state: ItemState?, _ id: ItemID) throws(Failure)
    /// The directories that are shown as part of this one.
    func united(with item: ItemID) throws(Failure) -> [ItemID]
    /// The directories that were put back because their stated places would form a cycle; few.
    func putBackDirectories() throws(Failure) -> [ItemID]

    // MARK: Entries

    /// The state of an entry; nil if the entry is unknown.
    func entry(_ id: EntryID) throws(Failure) -> EntryState?
    /// Stores the state of an entry; nil removes it.
    mutating func setEntry(_ state: EntryState?, _ id: EntryID) throws(Failure)
    /// The entries of an item, including copies by rule that lead to it; ascending.
    func entries(of item: ItemID) throws(Failure) -> [EntryID]
    /// The copies by rule that show contents of an item.
    func copies(of item: ItemID) throws(Failure) -> [EntryID]
    /// Up to `limit` entries whose place is in a directory, beginning after `last`; ascending.
    func entries(placedIn parent: ItemID, after last: EntryID?, limit: Int) throws(Failure) -> [EntryID]
    /// Whether the place of any active entry is in a directory.
    func hasActiveEntries(placedIn parent: ItemID) throws(Failure) -> Bool
    /// The entries that claim a place in this item, but have another one.
    func orphans(of parent: ItemID) throws(Failure) -> [EntryID]
    /// The entries in one slot.
    func entries(inSlot slot: Place) throws(Failure) -> [EntryID]
    /// The entries whose names by rule have the same wanted name.
    func entries(wanting name: Place) throws(Failure) -> [EntryID]
    /// The entry that is shown at a place.
    func entry(shownAt place: Place) throws(Failure) -> EntryID?
    /// Up to `limit` entries shown in a directory, with names after `last`; by ascending name.
    func entries(shownIn parent: ItemID, after last: EntryName?, limit: Int) throws(Failure) -> [EntryID]
    /// Up to `limit` entries that are shown differently than when they were last taken.
    func changedEntries(limit: Int) throws(Failure) -> [EntryID]

    // MARK: Commits

    /// The commits that were applied.
    func versions() throws(Failure) -> VersionVector
    /// Records that a commit was applied.
    mutating func setApplied(_ dot: Dot) throws(Failure)
    /// The label that a log's owner gave the device, used in conflict names.
    func label(of log: LogID) throws(Failure) -> String?
    /// Stores the label of a log.
    mutating func setLabel(_ label: String, of log: LogID) throws(Failure)
    /// The highest clock of all applied commits.
    func clock() throws(Failure) -> UInt64
    /// Stores the highest clock.
    mutating func setClock(_ clock: UInt64) throws(Failure)
    /// The hash of what is shown.
    func stateHash() throws(Failure) -> StateHash
    /// Stores the hash of what is shown.
    mutating func setStateHash(_ hash: StateHash) throws(Failure)
}
