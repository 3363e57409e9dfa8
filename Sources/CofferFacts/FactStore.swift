package import CofferFormat

/// A value in a register, with the stamp of the commit that put it there.
package struct RegisterValue: Hashable, Sendable {
    /// When it was said; the dot in it tells the value from others of the register.
    package var stamp: Stamp
    /// What was said.
    package var assertion: Fact.Assertion

    package init(stamp: Stamp, assertion: Fact.Assertion) {
        self.stamp = stamp
        self.assertion = assertion
    }
}

/// What keeps the facts of one vault, and what was found out from them: all by key, nothing by scan.
///
/// It maps to five tables: `facts` (register → values), `items` (id → `ItemState`, with partial indexes over
/// `united` and over a level that is not 0), `entries` (id → `EntryState`, with indexes over item, place,
/// slot, shown place, and partial ones over wanted name, copied item, parent of an orphan, and what was not
/// taken), `logs` (id → last commit, label), and one row of state (clock, hash). A pass of `FactTree` makes
/// many small calls; they belong in one transaction.
package protocol FactStore {
    /// Why a call did not work.
    associatedtype Failure: Error

    // MARK: Facts

    /// The values of a register, by ascending stamp.
    func values(_ register: Register) throws(Failure) -> [RegisterValue]
    /// Replaces the values of a register; none removes it.
    mutating func setValues(_ values: [RegisterValue], of register: Register) throws(Failure)
    /// The names of an item's extended attributes, also of removed ones, ascending.
    func extendedAttributes(of item: ItemID) throws(Failure) -> [[UInt8]]

    // MARK: Items

    /// What was found out about an item; nil if nothing is known of it.
    func item(_ id: ItemID) throws(Failure) -> ItemState?
    /// Keeps what was found out about an item; nil removes it.
    mutating func setItem(_ state: ItemState?, _ id: ItemID) throws(Failure)
    /// The directories that are shown as a part of this one.
    func united(with item: ItemID) throws(Failure) -> [ItemID]
    /// The directories that do not lie where facts say, as this would make a cycle; few.
    func putBackDirectories() throws(Failure) -> [ItemID]

    // MARK: Entries

    /// What was found out about an entry.
    func entry(_ id: EntryID) throws(Failure) -> EntryState?
    /// Keeps what was found out about an entry; nil removes it.
    mutating func setEntry(_ state: EntryState?, _ id: EntryID) throws(Failure)
    /// The entries of an item, those of copies by rule included; ascending.
    func entries(of item: ItemID) throws(Failure) -> [EntryID]
    /// The copies by rule of an item.
    func copies(of item: ItemID) throws(Failure) -> [EntryID]
    /// Up to `limit` entries whose place is in a directory, from the first behind `last`; ascending.
    func entries(placedIn parent: ItemID, after last: EntryID?, limit: Int) throws(Failure) -> [EntryID]
    /// Whether an active entry's place is in a directory.
    func hasActiveEntries(placedIn parent: ItemID) throws(Failure) -> Bool
    /// The entries that claim a place in this item, but have another.
    func orphans(of parent: ItemID) throws(Failure) -> [EntryID]
    /// The entries that stand in one slot.
    func entries(inSlot slot: Place) throws(Failure) -> [EntryID]
    /// The entries that are named by rule after one wanted name.
    func entries(wanting name: Place) throws(Failure) -> [EntryID]
    /// The entry that is shown at a place.
    func entry(shownAt place: Place) throws(Failure) -> EntryID?
    /// Up to `limit` entries shown in a directory, with names behind `last`; by ascending name.
    func entries(shownIn parent: ItemID, after last: EntryName?, limit: Int) throws(Failure) -> [EntryID]
    /// Up to `limit` entries that are shown otherwise than when they were last taken.
    func changedEntries(limit: Int) throws(Failure) -> [EntryID]

    // MARK: Commits

    /// Which commits were applied.
    func versions() throws(Failure) -> VersionVector
    /// Notes that a commit was applied.
    mutating func setApplied(_ dot: Dot) throws(Failure)
    /// What a log's owner calls the device, as in conflict names.
    func label(of log: LogID) throws(Failure) -> String?
    /// Keeps the label of a log.
    mutating func setLabel(_ label: String, of log: LogID) throws(Failure)
    /// The highest clock of all commits that were applied.
    func clock() throws(Failure) -> UInt64
    /// Keeps the highest clock.
    mutating func setClock(_ clock: UInt64) throws(Failure)
    /// The hash of what is shown.
    func stateHash() throws(Failure) -> StateHash
    /// Keeps the hash of what is shown.
    mutating func setStateHash(_ hash: StateHash) throws(Failure)
}
