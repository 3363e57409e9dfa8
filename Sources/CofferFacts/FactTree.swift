package import CofferFormat

/// A commit as far as the tree is concerned.
package struct FactCommit: Equatable, Sendable {
    /// Log, sequence and clock.
    package var stamp: Stamp
    /// Which commits its author had applied; of its own log those before this one count, named or not.
    package var versions: VersionVector
    /// Of a log's first commit: what its owner calls the device.
    package var label: String?
    /// At most one for each register.
    package var facts: [Fact]

    package init(stamp: Stamp, versions: VersionVector, label: String? = nil, facts: [Fact]) {
        self.stamp = stamp
        self.versions = versions
        self.label = label
        self.facts = facts
    }
}

/// What became of a commit.
package enum Application: Equatable, Sendable {
    /// It was applied. Attributes of items changed; entries are in `FactTree.takeChanges`.
    case applied([ItemChange])
    /// It was applied before.
    case known
    /// Its author had applied commits of this log that are missing here; they must come first.
    case early(missing: LogID)
}

/// What changed of an item; the new values are in `FactTree.shownItem`.
package struct ItemChange: Hashable, Sendable {
    /// Which item; it need not be shown.
    package var item: ItemID
    /// What facts spoke of.
    package var attributes: Set<Attribute>

    package init(item: ItemID, attributes: Set<Attribute>) {
        self.item = item
        self.attributes = attributes
    }

    /// An attribute of an item.
    package enum Attribute: Hashable, Sendable {
        case kind, mode, modified, content
        case extendedAttribute(name: [UInt8])
    }
}

/// An entry that is shown otherwise than before.
package struct EntryChange: Hashable, Sendable {
    /// Which entry.
    package var entry: EntryID
    /// How it was shown; nil if it was not.
    package var before: Showing?
    /// How it is shown; nil if it is not.
    package var after: Showing?
    /// If it is a copy that is shown by rule: of what.
    package var copied: CopySource?

    package init(entry: EntryID, before: Showing?, after: Showing?, copied: CopySource? = nil) {
        self.entry = entry
        self.before = before
        self.after = after
        self.copied = copied
    }
}

/// The tree that the facts of a vault show, kept up as commits are applied (docs/merge.md).
///
/// It is a function of the set of facts, in whatever order they came: `FullEvaluation` is that function,
/// written plainly. Here only what a commit touches is looked at. Memory is bounded by the commit, by the
/// depth of the tree, and by the directories that are put back, or become one with others or separate. Not for
/// use from several threads.
package struct FactTree<Store: FactStore> {
    /// What was found out.
    package internal(set) var store: Store
    /// The directory that everything lies in; it has no facts about its place.
    package let root: ItemID
    let hashKey: StateHashKey
    var pending: PendingCommit?

    /// The tree of what a store has.
    ///
    /// - Parameters:
    ///   - store: Empty, or what was made by another value with the same root and key.
    ///   - root: The fixed id of the vault's root directory.
    ///   - hashKey: Keys the hash of what is shown.
    package init(store: Store, root: ItemID, hashKey: StateHashKey) {
        self.store = store
        self.root = root
        self.hashKey = hashKey
    }

    /// Applies a commit of another device, or an own one from before.
    ///
    /// Facts are taken as they are, whatever they say; `refusal(of:)` tells what an honest device would not.
    /// After an error of the store its transaction is to be undone.
    package mutating func apply(_ commit: FactCommit) throws(Store.Failure) -> Application {
        precondition(pending == nil, "a commit of this device is being made")
        let versions = try store.versions()
        let dot = commit.stamp.dot
        guard !versions.contains(dot) else { return .known }
        var needed = commit.versions
        needed[dot.log] = dot.sequence - 1
        if let log = versions.firstMissing(of: needed) { return .early(missing: log) }
        // Later labels do not count, or names of before would change.
        if let label = commit.label, dot.sequence == 1 { try store.setLabel(label, of: dot.log) }
        var pass = Pass()
        for fact in commit.facts { try assert(fact, commit.stamp, &pass) }
        try evaluate(&pass)
        try store.setApplied(dot)
        try store.setClock(max(try store.clock(), commit.stamp.clock))
        return .applied(pass.changes)
    }

    /// Up to `limit` entries that are shown otherwise than when they were last taken, in no order of meaning.
    ///
    /// Call it until it gives none. Between two calls a name may be wanted by an entry that was taken, while
    /// the one that had it was not yet.
    package mutating func takeChanges(limit: Int) throws(Store.Failure) -> [EntryChange] {
        var changes: [EntryChange] = []
        for id in try store.changedEntries(limit: limit) {
            guard var state = try store.entry(id) else { continue }
            changes.append(
                EntryChange(entry: id, before: state.taken, after: state.showing, copied: state.copied))
            state.taken = state.showing
            try save(state, id)
        }
        return changes
    }

    /// The hash of what is shown; what the commit has changed that is being made, counts.
    package mutating func stateHash() throws(Store.Failure) -> StateHash {
        try rehashPending()
        return try store.stateHash()
    }

    /// Puts a fact into its register.
    mutating func assert(_ fact: Fact, _ stamp: Stamp, _ pass: inout Pass) throws(Store.Failure) {
        let register = fact.register
        var values = try store.values(register)
        values.removeAll { $0.stamp.dot == stamp.dot || fact.replaces.contains($0.stamp.dot) }
        if fact.assertion.isValue {
            let index = values.firstIndex { $0.stamp > stamp } ?? values.endIndex
            values.insert(RegisterValue(stamp: stamp, assertion: fact.assertion), at: index)
        }
        try store.setValues(values, of: register)
        pass.touch(register)
    }

    /// Keeps the state of an entry, or forgets it if there is nothing to keep.
    mutating func save(_ state: EntryState, _ id: EntryID) throws(Store.Failure) {
        let hasFacts = state.copied == nil ? try !store.values(.place(id)).isEmpty : false
        try store.setEntry(state.isVoid && !hasFacts ? nil : state, id)
    }
}

extension Fact.Assertion {
    /// Whether it puts a value into its register, and does not only take others away.
    var isValue: Bool {
        if case .content(_, nil) = self { return false }
        return true
    }
}
