package import CofferFormat

/// A commit, as the tree sees it.
package struct FactCommit: Equatable, Sendable {
    /// Log, sequence, and clock.
    package var stamp: Stamp
    /// The commits that its author had applied; includes the earlier ones of its own log, named or not.
    package var versions: VersionVector
    /// In a log's first commit: the owner's label for the device.
    package var label: String?
    /// At most one fact for each register.
    package var facts: [Fact]

    package init(stamp: Stamp, versions: VersionVector, label: String? = nil, facts: [Fact]) {
        self.stamp = stamp
        self.versions = versions
        self.label = label
        self.facts = facts
    }
}

/// The result of applying a commit.
package enum Application: Equatable, Sendable {
    /// It was applied. These are the changed attributes of items; `FactTree.takeChanges` returns entries.
    case applied([ItemChange])
    /// It was applied before.
    case known
    /// Its author had applied commits of this log that are missing here; apply those first.
    case early(missing: LogID)
}

/// A change of an item; `FactTree.shownItem` returns the new values.
package struct ItemChange: Hashable, Sendable {
    /// The item, which need not be shown.
    package var item: ItemID
    /// The attributes that facts stated.
    package var attributes: Set<Attribute>

    package init(item: ItemID, attributes: Set<Attribute>) {
        self.item = item
        self.attributes = attributes
    }

    /// An attribute of an item.
    package enum Attribute: Hashable, Sendable {
        case kind, mode, modified, content
        /// Where the bytes of the content are; they are the same.
        case place
        case extendedAttribute(name: [UInt8])
    }
}

/// A change of how an entry is shown.
package struct EntryChange: Hashable, Sendable {
    /// The entry.
    package var entry: EntryID
    /// How it was shown; nil if it was not.
    package var before: Showing?
    /// How it is shown now; nil if it is not.
    package var after: Showing?
    /// For a copy by rule: the content that it shows.
    package var copied: CopySource?

    package init(entry: EntryID, before: Showing?, after: Showing?, copied: CopySource? = nil) {
        self.entry = entry
        self.before = before
        self.after = after
        self.copied = copied
    }
}

/// The tree that the facts of a vault describe, updated as commits are applied (docs/merge.md).
///
/// The tree is a function of the set of facts, in whatever order they arrive; `FullEvaluation` is that
/// function in its plain form. `FactTree` examines only what a commit affects. Its memory is bounded by the
/// commit, by the depth of the tree, and by the directories that are put back, or that become one or
/// separate. Not thread-safe.
package struct FactTree<Store: FactStore> {
    /// The facts, and what they result in.
    package internal(set) var store: Store
    /// The directory that contains everything; no fact states its place.
    package let root: ItemID
    let hashKey: StateHashKey
    var pending: PendingCommit?

    /// A tree over the facts of a store.
    ///
    /// - Parameters:
    ///   - store: Empty, or written by another `FactTree` with the same root and key.
    ///   - root: The fixed id of the vault's root directory.
    ///   - hashKey: The key of the hash of what is shown.
    package init(store: Store, root: ItemID, hashKey: StateHashKey) {
        self.store = store
        self.root = root
        self.hashKey = hashKey
    }

    /// Applies a commit of another device, or an earlier one of this device.
    ///
    /// All facts count, whatever they state; `complaints(about:)` reports what an honest device would not
    /// state. Do not apply a commit that `FactCommit.refusal(root:)` finds invalid. After an error of the
    /// store, roll back its transaction.
    package mutating func apply(_ commit: FactCommit) throws(Store.Failure) -> Application {
        precondition(pending == nil, "a commit of this device is being made")
        let versions = try store.versions()
        let dot = commit.stamp.dot
        guard !versions.contains(dot) else { return .known }
        var needed = commit.versions
        needed[dot.log] = dot.sequence - 1
        if let log = versions.firstMissing(of: needed) { return .early(missing: log) }
        // Later labels do not count, since they would change names that were given before.
        if let label = commit.label, dot.sequence == 1 { try store.setLabel(label, of: dot.log) }
        var pass = Pass()
        for fact in commit.facts where try counts(fact, commit.stamp) {
            try assert(fact, commit.stamp, &pass)
        }
        try evaluate(&pass)
        try store.setApplied(dot)
        try store.setClock(max(try store.clock(), commit.stamp.clock))
        return .applied(pass.changes)
    }

    /// Up to `limit` entries that are shown differently than when they were last taken, in no particular
    /// order.
    ///
    /// Call it until it returns none. Between two calls, an entry that was taken may want a name whose former
    /// holder was not taken yet.
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

    /// The hash of what is shown; includes the changes of a pending commit.
    package mutating func stateHash() throws(Store.Failure) -> StateHash {
        try rehashPending()
        return try store.stateHash()
    }

    /// Puts a fact into its register.
    mutating func assert(_ fact: Fact, _ stamp: Stamp, _ pass: inout Pass) throws(Store.Failure) {
        let register = fact.register
        var values = try store.values(register)
        values.removeAll { value in
            guard case .moved(_, let dot, _) = value.assertion else {
                return value.stamp.dot == stamp.dot || fact.replaces.contains(value.stamp.dot)
            }
            // A place goes with its content, or gives way to another place: otherwise the order would matter.
            if case .moved(_, dot, _) = fact.assertion { return true }
            return fact.replaces.contains(dot)
        }
        if fact.assertion.isValue {
            let index = values.firstIndex { $0.stamp > stamp } ?? values.endIndex
            values.insert(RegisterValue(stamp: stamp, assertion: fact.assertion), at: index)
        }
        try store.setValues(values, of: register)
        if case .moved(let item, _, _) = fact.assertion { pass.move(item) } else { pass.touch(register) }
    }

    /// Whether a fact of a commit counts: another place of a content that has been replaced does not, nor does an
    /// earlier place than the last one.
    private func counts(_ fact: Fact, _ stamp: Stamp) throws(Store.Failure) -> Bool {
        guard case .moved(let item, let dot, _) = fact.assertion else { return true }
        let values = try store.values(.content(item))
        guard values.contents.contains(where: { $0.stamp.dot == dot }) else { return false }
        return !values.contains { value in
            if case .moved(_, dot, _) = value.assertion { value.stamp > stamp } else { false }
        }
    }

    /// Stores the state of an entry, or forgets the entry if nothing has to be stored.
    mutating func save(_ state: EntryState, _ id: EntryID) throws(Store.Failure) {
        let hasFacts = state.copied == nil ? try !store.values(.place(id)).isEmpty : false
        try store.setEntry(state.isVoid && !hasFacts ? nil : state, id)
    }
}

extension Fact.Assertion {
    /// Whether it puts a value into its register, rather than only removing others.
    var isValue: Bool {
        if case .content(_, nil) = self { return false }
        return true
    }
}
