internal import CofferCrypto
package import CofferFacts
package import CofferFormat

/// The root directory of every vault in these histories.
package let rootID = ItemID(low: 0xF0, high: 0xF0)

/// One key for all devices, as members share it.
package let hashKey = StateHashKey(SymmetricKey<StateHashRole>.zero())

/// A device: its tree, and its commits.
package struct FactReplica<Store: TestedFactStore> {
    package let log: LogID
    package let label: String
    package var tree: FactTree<Store>
    /// The commits of the log.
    package var commits: [FactCommit] = []
    /// The entries as a caller that takes all changes knows them.
    package var mirror: [EntryID: Showing] = [:]
    private var isOpen = false

    package init(number: UInt64, label: String, store: Store) {
        log = LogID(low: number, high: 7)
        self.label = label
        tree = FactTree(store: store, root: rootID, hashKey: hashKey)
    }

    /// Makes a change in the open commit, or in a new one.
    package mutating func perform(_ change: LocalChange, milliseconds: UInt64) throws {
        if !isOpen { try tree.beginCommit(log: log, milliseconds: milliseconds, label: label) }
        isOpen = true
        try tree.perform(change)
    }

    /// Ends the open commit.
    package mutating func commit() throws(Store.Failure) {
        guard isOpen else { return }
        isOpen = false
        if let commit = try tree.finishCommit() { commits.append(commit) }
    }

    /// Makes a commit that states another place of an item's content: the same text, with a number behind “@”.
    ///
    /// - Returns: The new value; nil if the item has no content of its own.
    package mutating func move(
        _ item: ItemID, milliseconds: UInt64
    ) throws(Store.Failure) -> [UInt8]? {
        try commit()
        guard let stated = try tree.statedContent(of: item) else { return nil }
        let versions = try tree.store.versions()
        let dot = Dot(log: log, sequence: versions[log] + 1)
        let stamp = Stamp(
            clock: Stamp.clock(milliseconds: milliseconds, after: try tree.store.clock()), dot: dot)
        let text = stated.content.bytes.prefix { $0 != UInt8(ascii: "@") }
        let bytes = text + "@\(log.low)/\(dot.sequence)".utf8
        let commit = FactCommit(
            stamp: stamp, versions: versions, label: dot.sequence == 1 ? label : nil,
            facts: [Fact(.moved(item, of: stated.dot, bytes: Array(bytes)))])
        guard case .applied = try tree.apply(commit) else { return nil }
        commits.append(commit)
        return Array(bytes)
    }

    /// Applies a commit of another device.
    package mutating func apply(_ commit: FactCommit) throws(Store.Failure) -> Application {
        try self.commit()
        return try tree.apply(commit)
    }

    /// Takes all changes, in batches.
    package mutating func take(limit: Int) throws(Store.Failure) -> [EntryChange] {
        var all: [EntryChange] = []
        while true {
            let changes = try tree.takeChanges(limit: limit)
            if changes.isEmpty { return all }
            for change in changes { mirror[change.entry] = change.after }
            all += changes
        }
    }

    /// The tree in the store.
    package func shownTree() throws(Store.Failure) -> ShownTree { try tree.shownTree() }

    /// The tree according to the full evaluation.
    package func evaluatedTree() -> ShownTree {
        var evaluation = FullEvaluation(
            values: tree.store.allValues, labels: tree.store.allLabels, root: rootID)
        return evaluation.tree()
    }
}

extension FactTree {
    /// The tree in the store, read from the root downwards.
    package func shownTree() throws(Store.Failure) -> ShownTree {
        var shown = ShownTree()
        var directories = [rootID]
        if let item = try shownItem(rootID),
            item.mode != nil || item.modified != nil || item.content != nil
                || !item.extendedAttributes.isEmpty
        {
            shown.items[rootID] = item
        }
        while let directory = directories.popLast() {
            for id in try store.entries(shownIn: directory, after: nil, limit: .max) {
                guard let state = try store.entry(id), let showing = state.showing else { continue }
                shown.entries[id] = showing
                shown.items[showing.item] = try shownItem(showing.item)
                if state.isDirectory { directories.append(showing.item) }
            }
        }
        return shown
    }
}

extension ShownTree {
    /// The tree as text, for people.
    package var description: String {
        entries.sorted { ($0.value.place, $0.key) < ($1.value.place, $1.key) }.map { id, showing in
            let item = items[showing.item]
            return "\(showing.place.parent.short)/\(showing.place.name) = \(showing.item.short)"
                + " entry \(id.short) \(item.map { "\($0.kind) \($0.mode ?? 0) \($0.content?.bytes ?? [])" } ?? "-")"
        }.joined(separator: "\n")
    }

    /// A violation of the rules for every tree; nil if there is none.
    package var flaw: String? {
        if Set(entries.values.map(\.place)).count != entries.count { return "two entries of one name" }
        var parents: [ItemID: ItemID] = [:]
        for showing in entries.values where items[showing.item]?.kind == .directory {
            if parents.updateValue(showing.place.parent, forKey: showing.item) != nil {
                return "a directory with two entries"
            }
        }
        for showing in entries.values {
            if items[showing.item] == nil { return "an entry without an item" }
            var current = showing.place.parent
            var steps = 0
            while current != rootID {
                guard let parent = parents[current] else { return "an entry in nothing" }
                current = parent
                steps += 1
                if steps > parents.count { return "a cycle" }
            }
        }
        return nil
    }
}

extension Identifier {
    /// As many bits as tests need.
    package var short: String { String(low, radix: 36).suffix(5).description }
}
