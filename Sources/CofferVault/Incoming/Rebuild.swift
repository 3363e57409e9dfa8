package import CofferFacts
package import CofferFormat
internal import CofferStore
internal import CofferSystem

// Replacing all facts: first they are gathered, then put in place of the existing ones.
extension Incoming {
    /// The number of group bytes in a row.
    private static let gatheredByteCount = 512 << 10

    /// Begins to gather facts; drops what was gathered before.
    package func beginRebuild() throws(FileSystemError) {
        try vault.exchanging.withLock { _ throws(FileSystemError) in
            try vault.changing { state throws(FileSystemError) in
                try state.index.removeKept(.gathered ... .gathered)
                try state.index.removeKept(.replayed ... .replayed)
            }
        }
    }

    /// Gathers facts of a checkpoint; `number` identifies the call, and ascends from call to call.
    package func gather(
        _ groups: [CheckpointPiece.Group], number: UInt64
    ) throws(FileSystemError) {
        try gather(groups, as: .gathered, number: number)
    }

    /// Gathers commits, which are applied after all facts of the checkpoint, in the order in which they come.
    ///
    /// Their labels are those of `RebuiltFacts`.
    package func gather(_ commits: [FactCommit], number: UInt64) throws(FileSystemError) {
        let groups = commits.map { CheckpointPiece.Group(stamp: $0.stamp, facts: $0.facts) }
        try gather(groups, as: .replayed, number: number)
    }

    private func gather(
        _ groups: [CheckpointPiece.Group], as kind: KeptRow.Kind, number: UInt64
    ) throws(FileSystemError) {
        try vault.exchanging.withLock { _ throws(FileSystemError) in
            var rest = groups[...]
            var part: UInt64 = 0
            while !rest.isEmpty {
                var bytes: [UInt8] = []
                while let group = rest.first, bytes.count < Self.gatheredByteCount {
                    bytes += group.bytes
                    rest = rest.dropFirst()
                }
                let key = KeptRow.Key(kind, id: [], number: number << 16 | part)
                let row = KeptChange(key, CheckpointPiece.padded(groups: bytes))
                part += 1
                try vault.changing { state throws(FileSystemError) in
                    try state.space.ensure(for: 2 * (row.value?.count ?? 0) + 4096)
                    try state.tree.keep([row])
                }
            }
            try vault.commitIndex()
        }
    }

    /// Replaces all facts with the gathered ones, and makes the tree of items match them.
    ///
    /// The tree changes in steps and is valid at any time; after a crash, all of the change is there or none.
    /// Unsent changes of items stay unsent, and new items stay if their names are in no commit, unless all of
    /// that is given up. Until the end, no other thread commits the index or changes names.
    ///
    /// - Returns: The hash of what the gathered facts describe, without the commits after them.
    package func finishRebuild(
        _ facts: RebuiltFacts, as participant: Participant
    ) throws(FileSystemError) -> StateHash {
        try vault.exchanging.withLock { _ throws(FileSystemError) in
            defer { vault.facts.close() }
            let hash = try vault.changeElsewhere { changes throws(FileSystemError) in
                vault.holdNames()
                defer { vault.releaseNames() }
                return try vault.committing.withLock { intents throws(FileSystemError) in
                    let rebuild = Rebuild(of: vault, facts, as: participant)
                    let hash: StateHash
                    do throws(FileSystemError) { hash = try rebuild.run() } catch {
                        // Half of the facts are gone: none of this may be committed.
                        if rebuild.hasBegun { vault.stop("replacing all facts failed (\(error.summary))") }
                        throw error
                    }
                    changes += rebuild.update.changes
                    try vault.commitAlone(intents)
                    return hash
                }
            }
            try participant.contents.placeArrived(in: vault)
            return hash
        }
    }
}

/// Replaces all facts of a vault, in one transaction of the index.
///
/// Its memory grows with the number of names and items, by some 200 bytes for each.
private final class Rebuild {
    /// The number of rows that are looked at under the vault's lock at a time.
    private static let pageCount = 1000
    /// The number of directory facts that are evaluated at a time; one pass covers them all, except in huge
    /// trees.
    private static let directoryFactCount = 1 << 20
    /// The approximate number of index bytes that a gathered byte may need.
    private static let growth = 6

    let update: RemoteUpdate
    private let vault: Vault
    private let facts: RebuiltFacts
    private let participant: Participant
    /// How entries were shown, and the numbers and hashes of items.
    private var shown: [EntryID: Showing] = [:]
    private var items: [ItemID: (number: Int64?, hash: StateHash?)] = [:]
    /// The contents of files, as hashes.
    private var contents: [ItemID: Int] = [:]
    private var directories: Set<ItemID> = []
    /// Items that are replaced by another at each of their names.
    ///
    /// Either they were written to on this device; the written content stays as a file of its own, or is
    /// given up. Or programs may have them open, and their content has changed. Or their type has changed, which
    /// no honest device states.
    private var renewed: Set<ItemID> = []
    /// Items with local changes that are given up.
    private var reverted: Set<ItemID> = []
    /// The files among them that were written to.
    private var rewritten: Set<ItemID> = []
    /// Whether facts have been removed.
    private(set) var hasBegun = false
    /// Whether nothing was shown: then names are created as their facts arrive, while these are in memory.
    private var isNew = false

    init(of vault: Vault, _ facts: RebuiltFacts, as participant: Participant) {
        self.vault = vault
        self.facts = facts
        self.participant = participant
        update = RemoteUpdate(of: vault, by: nil, as: participant, isAlone: true)
    }

    func run() throws(FileSystemError) -> StateHash {
        let byteCount = try findDirectories()
        try vault.changing { state throws(FileSystemError) in
            // Check this before any change: a failure half-way stops the vault.
            let rowByteCount = self.facts.rows.reduce(0) { $0 + ($1.value?.count ?? 0) }
            try state.space.ensure(for: byteCount * Self.growth + 2 * rowByteCount)
            // Changes that a program made since everything was set aside have not been copied.
            if self.facts.givesUpUnsent, state.tree.asideChanges != state.tree.localChanges { throw .busy }
            self.hasBegun = true
            try self.update.setAside(&state, areGivenUp: self.facts.givesUpUnsent)
            if self.facts.givesUpUnsent { try self.giveUpUnsent(&state) }
        }
        try readOld()
        isNew = try !hasCommits() && shown.isEmpty && update.local?.absent.isEmpty != false
        try vault.changing { state throws(FileSystemError) in try self.begin(&state) }
        try evaluate(directories: true)
        try evaluate(directories: false)
        let hash = try vault.reading { state throws(FileSystemError) in
            try state.openFacts().stateHash()
        }
        try applyCommits()
        try updateItems()
        try takeNames()
        try update.work()
        try vault.changing { state throws(FileSystemError) in
            try state.index.removeKept(.gathered ... .gathered)
            try state.index.removeKept(.replayed ... .replayed)
            try state.facts?.flush()
        }
        return hash
    }

    /// Drops local changes of items, so that they become what the facts show.
    private func giveUpUnsent(_ state: inout VaultState) throws(FileSystemError) {
        var last: Int64 = 0
        while true {
            let page = try state.index.unsentItems(after: last, limit: Self.pageCount)
            guard let end = page.last else { return }
            last = end
            for number in page {
                if let row = try state.tree.row(number) {
                    reverted.insert(row.id)
                    if row.unsent.contains(.content) { rewritten.insert(row.id) }
                    let item = try state.tree.item(number)
                    item.row.unsent = []
                    state.tree.touch(item, [])
                }
                try state.tree.markUnsent(number)
            }
            try state.tree.storeItems()
        }
    }

    // MARK: The old facts

    private func readOld() throws(FileSystemError) {
        var last: EntryID?
        var isDone = false
        while !isDone {
            try vault.reading { state throws(FileSystemError) in
                let page = try state.index.factEntries(after: last, limit: Self.pageCount)
                for id in page {
                    if let taken = try state.index.factEntry(id)?.row.state?.taken { shown[id] = taken }
                }
                last = page.last
                isDone = page.count < Self.pageCount
            }
        }
        var lastItem: ItemID?
        isDone = false
        while !isDone {
            try vault.reading { state throws(FileSystemError) in
                let page = try state.index.factItems(after: lastItem, limit: Self.pageCount)
                let tree = try state.factTree(participant.hashKey)
                for id in page {
                    guard let row = try state.index.factItem(id)?.row else { continue }
                    if row.number != nil || row.state?.hash != nil {
                        items[id] = (row.number, row.state?.hash)
                    }
                    if row.number != nil, let content = try tree.shownItem(id)?.content {
                        contents[id] = content.hashValue
                    }
                }
                lastItem = page.last
                isDone = page.count < Self.pageCount
            }
        }
    }

    private func hasCommits() throws(FileSystemError) -> Bool {
        try vault.reading { state throws(FileSystemError) in
            try !state.index.keptRows(.replayed ... .replayed, after: nil, limit: 1).isEmpty
        }
    }

    /// Runs `body` with each row of gathered facts of one kind, and the number of its bytes.
    private func forEachRow(
        _ kind: KeptRow.Kind = .gathered,
        _ body: ([CheckpointPiece.Group], Int) throws(FileSystemError) -> Void
    ) throws(FileSystemError) {
        var last: KeptRow.Key?
        while true {
            let row = try vault.reading { state throws(FileSystemError) in
                try state.index.keptRows(kind...kind, after: last, limit: 1)
            }.first
            guard let row else { return }
            last = row.key
            let groups: [CheckpointPiece.Group]
            do throws(FormatError) {
                groups = try CheckpointPiece.groups(padded: row.value, areCommits: kind == .replayed)
            } catch {
                throw .damaged(place: "the facts that were gathered in the index")
            }
            try body(groups, row.value.count)
        }
    }

    /// Finds out which items are directories; returns the number of bytes of all facts.
    private func findDirectories() throws(FileSystemError) -> Int {
        var sum = 0
        try forEachRow(.replayed) { _, byteCount in sum += byteCount }
        try forEachRow { groups, byteCount throws(FileSystemError) in
            sum += byteCount
            for group in groups {
                for case .kind(let item, .directory) in group.facts.map(\.assertion) {
                    directories.insert(item)
                }
            }
        }
        return sum
    }

    // MARK: The new facts

    private func begin(_ state: inout VaultState) throws(FileSystemError) {
        state.facts = nil
        try state.index.removeFacts()
        try state.index.removeKept(KeptRow.Kind.sync)
        try state.tree.keep(facts.rows)
        var tree = try state.factTree(participant.hashKey)
        try tree.beginCheckpoint(facts.versions, clock: facts.clock, labels: facts.labels)
        for (id, number) in update.local?.made ?? [:] { try tree.store.setNumber(number, of: id) }
        for (id, item) in items {
            if let number = item.number { try tree.store.setNumber(number, of: id) }
        }
    }

    /// Evaluates the facts about some items; directories come first, so that no other item ever lies in the
    /// wrong place in between.
    private func evaluate(directories areDirectories: Bool) throws(FileSystemError) {
        var waiting: [CheckpointPiece.Group] = []
        var count = 0
        func evaluateWaiting() throws(FileSystemError) {
            if waiting.isEmpty { return }
            try vault.changing(as: update.author) { state throws(FileSystemError) in
                var tree = try state.factTree(participant.hashKey)
                let changes = try tree.add(waiting)
                guard self.isNew else { return }
                for change in changes { try self.update.update(change, tree, &state) }
            }
            if isNew { try update.workAhead() }
            (waiting, count) = ([], 0)
        }
        try forEachRow { groups, _ throws(FileSystemError) in
            for group in groups {
                let facts = group.facts.filter {
                    directories.contains($0.assertion.item) == areDirectories
                }
                if facts.isEmpty { continue }
                waiting.append(CheckpointPiece.Group(stamp: group.stamp, facts: facts))
                count += facts.count
            }
            if !areDirectories || count > Self.directoryFactCount { try evaluateWaiting() }
        }
        try evaluateWaiting()
    }

    /// Applies the commits that follow the checkpoint, which were applied before the rebuild, too.
    ///
    /// So nothing that they state is ever hidden.
    private func applyCommits() throws(FileSystemError) {
        try forEachRow(.replayed) { groups, _ throws(FileSystemError) in
            try vault.changing { state throws(FileSystemError) in
                var tree = try state.factTree(participant.hashKey)
                for group in groups {
                    let commit = FactCommit(
                        stamp: group.stamp, versions: VersionVector(), facts: group.facts)
                    guard case .applied = try tree.apply(commit) else {
                        throw .damaged(place: "the commits that were gathered in the index")
                    }
                }
            }
        }
    }

    /// Updates existing items that are shown differently than before.
    private func updateItems() throws(FileSystemError) {
        let root = try vault.reading { state throws(FileSystemError) in
            try state.tree.peek(Vault.rootNumber).id
        }
        var rest = items.filter { $0.value.number != nil }.map(\.key).sorted()[...]
        if items[root]?.number == nil { rest.append(root) }
        while !rest.isEmpty {
            let page = rest.prefix(Self.pageCount)
            rest = rest.dropFirst(Self.pageCount)
            try vault.changing(as: update.author) { state throws(FileSystemError) in
                let tree = try state.factTree(participant.hashKey)
                for id in page {
                    let hash = try tree.store.item(id)?.hash
                    guard hash != nil || id == root else { continue }
                    guard hash != items[id]?.hash || reverted.contains(id) else { continue }
                    let shown = try tree.shownItem(id)
                    guard let row = try state.row(id, nil) else { continue }
                    if let shown, FileType(mode: row.mode) != shown.kind.type {
                        renewed.insert(id)
                    } else if FileType(mode: row.mode) == .regular,
                        rewritten.contains(id) || update.isKeptHere(row) && row.links > 0
                            || shown != nil && isOpen(row.number)
                                && contents[id] != shown?.content?.hashValue
                    {
                        try renew(row, tree, &state)
                    } else {
                        try self.update.updateWhole(id, tree, &state)
                    }
                }
            }
        }
    }

    /// Whether programs may have a file open; what they see of it must not change.
    private func isOpen(_ number: Int64) -> Bool { vault.sink.withLock { $0 }?.knows(number) == true }

    /// Makes all names of a file lead to a new version of the same item.
    private func renew(
        _ row: ItemRow, _ tree: FactTree<IndexFactStore>, _ state: inout VaultState
    ) throws(FileSystemError) {
        renewed.insert(row.id)
        update.replaced[row.id] = row.number
        try tree.store.setNumber(nil, of: row.id)
    }

    /// Finds out which names have changed.
    private func takeNames() throws(FileSystemError) {
        var isDone = false
        while !isDone {
            try vault.changing { state throws(FileSystemError) in
                var tree = try state.factTree(participant.hashKey)
                let page = try tree.takeChanges(limit: Self.pageCount)
                for change in page {
                    let before =
                        update.local?.absent.contains(change.entry) == true ? nil : shown[change.entry]
                    add(EntryChange(entry: change.entry, before: before, after: change.after))
                    shown[change.entry] = nil
                }
                isDone = page.isEmpty
            }
        }
        for (entry, before) in shown where update.local?.absent.contains(entry) != true {
            add(EntryChange(entry: entry, before: before, after: nil))
        }
        shown = [:]
        try vault.changing { state throws(FileSystemError) in try self.update.sort(&state) }
    }

    private func add(_ change: EntryChange) {
        let item = change.after?.item
        guard change.before != change.after || item.map(renewed.contains) == true else { return }
        update.pending[change.entry] = change
        if let place = change.before?.place { update.holders[place] = change.entry }
    }
}
