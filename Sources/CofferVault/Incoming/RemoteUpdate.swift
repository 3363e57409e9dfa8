internal import CofferFacts
internal import CofferFormat
internal import CofferStore
internal import CofferSystem

/// Turns the tree of items into what the facts show, once a commit of another device has joined them.
///
/// Everything is in one transaction of the index: the owner keeps other threads from committing it before the
/// end. Names are held. Some steps at a time run under the vault's lock. Directories that are new or move are
/// put in place from the root downwards. So there is never a cycle, no item is in two places, and the
/// directory for an item always exists already. Then items that are gone are removed.
final class RemoteUpdate {
    /// The number of changes of names under the vault's lock at a time.
    static let stepsMax = 1000

    let vault: Vault
    /// The commit; nil while all facts are being replaced.
    let incoming: IncomingCommit?
    let participant: Participant
    /// Whether local changes cannot become a commit first: they stay as they are, and unsent.
    let isAlone: Bool
    /// Oddities of the commit.
    private(set) var findings: [CommitFinding] = []
    /// The changes to show to programs.
    var changes: [VaultChange] = []
    /// If the commit could not be applied: the log whose commits must come first.
    private(set) var missing: LogID?

    /// Names of this device alone that were set aside; nil if there are none.
    var local: LocalNames?
    /// Changes of names that are still to be made.
    var pending: [EntryID: EntryChange] = [:]
    /// The entries among them that have a name now that goes to another.
    var holders: [Place: EntryID] = [:]
    /// The entries among them whose old name has already been removed.
    var parked: Set<EntryID> = []
    /// Items that lost a name.
    var bereft: Set<Int64> = []
    /// Files that have no name at the moment, whose content changed both on this device and on another, and
    /// whose local change cannot become a commit first.
    var divided: Set<ItemID> = []
    /// Items that have no name at the moment, whose content changed.
    var unapplied: Set<ItemID> = []
    /// Files that are replaced by another version of the same item, by item.
    var replaced: [ItemID: Int64] = [:]
    /// The places of files that lost a name.
    var left: [Int64: Place] = [:]
    /// Items with changes other than of their names.
    var changedItems: Set<ItemID> = []
    /// What is known to be appended to files, by item.
    private let growths: [ItemID: [Growth]]
    /// Contents that only append to what their files have, unless another content is shown.
    private(set) var growing: [ItemID: Fact.Content] = [:]
    private var order: [EntryID] = []
    private var hasEnded = false

    /// Whose changes these are.
    var author: History.Author { incoming.map { .device($0.commit.stamp.dot.log) } ?? .unknown }

    /// The contents of which the commit states other places.
    var moved: Set<CopySource> {
        var moved: Set<CopySource> = []
        for case .moved(let item, let dot, _) in incoming?.commit.facts.map(\.assertion) ?? [] {
            moved.insert(CopySource(item: item, dot: dot))
        }
        return moved
    }

    init(
        of vault: Vault, by commit: IncomingCommit?, as participant: Participant, isAlone: Bool,
        growths: [ItemID: [Growth]] = [:]
    ) {
        self.vault = vault
        incoming = commit
        self.participant = participant
        self.isAlone = isAlone
        self.growths = growths
    }

    /// Applies the commit and all that follows from it.
    ///
    /// - Returns: False, with nothing changed, if programs wrote something in the meantime that must become a
    ///   commit first.
    func run() throws(FileSystemError) -> Bool {
        guard let incoming else { return true }
        var isWhole = false
        let isReady = try vault.changing { state throws(FileSystemError) in
            // Check this before any change: a failure half-way stops the vault.
            try state.ensureSpace(for: incoming.commit)
            guard try self.isReady(for: incoming.commit, &state) else { return false }
            try state.tree.beginActing(as: self.author)
            isWhole = try self.begin(incoming, &state)
            if isWhole { try self.finish(&state) }
            self.hasEnded = isWhole
            try state.tree.endActing()
            return true
        }
        guard isReady else { return false }
        while !isWhole {
            isWhole = try vault.changing(as: author) { state throws(FileSystemError) in
                try self.takeMore(&state)
            }
        }
        if !hasEnded { try work() }
        return true
    }

    /// Makes the changes of names that the facts have so far, some at a time; more will follow.
    func workAhead() throws(FileSystemError) {
        var isWhole = false
        while !isWhole {
            isWhole = try vault.changing(as: author) { state throws(FileSystemError) in
                try self.takeMore(&state)
            }
        }
        while !order.isEmpty {
            try vault.changing(as: author) { state throws(FileSystemError) in try self.step(&state) }
        }
        try vault.changing { state throws(FileSystemError) in try state.tree.storeItems() }
    }

    /// Makes the known changes of names, some at a time, and finishes.
    func work() throws(FileSystemError) {
        if order.isEmpty {
            return try vault.changing(as: author) { state throws(FileSystemError) in try self.end(&state) }
        }
        while !order.isEmpty {
            try vault.changing(as: author) { state throws(FileSystemError) in
                try self.step(&state)
                if self.order.isEmpty { try self.end(&state) }
            }
        }
    }

    /// Whether all changes that this commit may conflict with are in facts.
    private func isReady(for commit: FactCommit, _ state: inout VaultState) throws(FileSystemError) -> Bool {
        if isAlone {
            try setAside(&state)
            return true
        }
        if commit.facts.isEmpty { return true }
        try state.tree.storeItems()
        let first = try state.index.journal(after: 0, limit: 1).first
        guard first == nil else { return false }
        for item in try state.items(concernedBy: [commit]) {
            guard let row = try state.row(item, nil) else { continue }
            let unsent = row.unsent.intersection(.sent)
            // Content that cannot be sent stays on this device, and does not hold up others' changes.
            let waits = unsent == .content && state.tree.unsendable.contains(row.number)
            if row.links > 0, !unsent.isEmpty, !waits { return false }
        }
        return true
    }

    /// Sets aside names that are in no commit, if there are any.
    ///
    /// - Parameter areGivenUp: Whether new items do not come back.
    func setAside(_ state: inout VaultState, areGivenUp: Bool = false) throws(FileSystemError) {
        try state.tree.storeItems()
        let first = try state.index.journal(after: 0, limit: 1).first
        guard first != nil else { return }
        let names = LocalNames(of: vault, areGivenUp: areGivenUp)
        try names.setAside(&state)
        local = names
    }

    /// Joins the commit with the facts, and changes the items that it concerns.
    ///
    /// - Returns: Whether all changes of names are known.
    private func begin(_ incoming: IncomingCommit, _ state: inout VaultState) throws(FileSystemError) -> Bool
    {
        let commit = incoming.commit
        var tree = try state.factTree(participant.hashKey)
        let odd = try findings(of: incoming, tree)
        try findGrowing(in: commit, tree)
        let application = try tree.apply(commit)
        if case .early = application {} else { try state.tree.keep(incoming.rows) }
        switch application {
        case .known: return true
        case .early(let log):
            missing = log
            return true
        case .applied(let items):
            findings = odd
            for change in items { try update(change, tree, &state) }
        }
        return try addChanges(of: &tree)
    }

    /// Finds contents that append to those that are shown; call it before the commit is applied.
    private func findGrowing(
        in commit: FactCommit, _ tree: FactTree<IndexFactStore>
    ) throws(FileSystemError) {
        if growths.isEmpty { return }
        for fact in commit.facts {
            guard case .content(let item, _) = fact.assertion, let known = growths[item] else { continue }
            let shown = try tree.shownItem(item)?.content
            growing[item] = known.first { $0.old == shown }?.new
        }
    }

    /// The oddities of the commit; call it before the commit is applied.
    private func findings(
        of incoming: IncomingCommit, _ tree: FactTree<IndexFactStore>
    ) throws(FileSystemError) -> [CommitFinding] {
        let commit = incoming.commit
        let dot = commit.stamp.dot
        var findings: [CommitFinding] = []
        if let state = incoming.claimedState, tree.store.versions() == incoming.claimedVersions,
            tree.store.stateHash() != state
        {
            findings.append(.otherState(dot))
        }
        var complaints = try tree.complaints(about: commit)
        // The author may have applied commits that no longer count, such as those of a member who was removed.
        if !complaints.isEmpty, tree.store.versions().firstMissing(of: incoming.claimedVersions) != nil {
            complaints.removeAll(where: \.isAboutMissing)
        }
        return findings + complaints.map { .complaint(dot, $0) }
    }

    private func takeMore(_ state: inout VaultState) throws(FileSystemError) -> Bool {
        var tree = try state.factTree(participant.hashKey)
        guard try addChanges(of: &tree) else { return false }
        try sort(&state)
        return true
    }

    /// Takes some changes of names from the facts.
    ///
    /// - Returns: Whether these were the last.
    private func addChanges(of tree: inout FactTree<IndexFactStore>) throws(FileSystemError) -> Bool {
        var count = 0
        while count < Self.stepsMax {
            let page = try tree.takeChanges(limit: Self.stepsMax)
            if page.isEmpty { return true }
            count += page.count
            for change in page where change.before != change.after {
                pending[change.entry] = change
                if let place = change.before?.place { holders[place] = change.entry }
            }
        }
        return false
    }

    /// Does everything at once, as it is not much.
    private func finish(_ state: inout VaultState) throws(FileSystemError) {
        try sort(&state)
        while !order.isEmpty { try step(&state) }
        try end(&state)
    }

    /// Sorts the changes of names into the order in which they are made, the first one last.
    func sort(_ state: inout VaultState) throws(FileSystemError) {
        let facts = try state.openFacts()
        for entry in local?.absent ?? [] {
            let shown = try facts.entry(entry)?.showing
            let after = pending[entry].map(\.after) ?? shown
            if let before = pending[entry]?.before, holders[before.place] == entry {
                holders[before.place] = nil
            }
            pending[entry] = EntryChange(entry: entry, before: nil, after: after)
        }
        var depths = FactDepths(try state.openFacts(), root: try state.tree.peek(Vault.rootNumber).id)
        var shown: [(depth: Int, place: Place, entry: EntryID)] = []
        var gone: [(depth: Int, place: Place, entry: EntryID)] = []
        for (id, change) in pending {
            if let place = change.after?.place {
                shown.append((try depths.depth(of: place.parent), place, id))
            } else if let place = change.before?.place {
                gone.append((try depth(of: place.parent, &state), place, id))
            }
        }
        // From the root downwards; then removals, from the leaves upwards.
        shown.sort { ($0.depth, $0.place) < ($1.depth, $1.place) }
        gone.sort { ($0.depth, $0.place) > ($1.depth, $1.place) }
        order = (shown + gone).map(\.entry).reversed()
    }

    /// The depth of a directory, according to the index.
    private func depth(of directory: ItemID, _ state: inout VaultState) throws(FileSystemError) -> Int {
        var depth = 0
        var row = try state.row(directory, .directory)
        while let current = row, current.number != Vault.rootNumber, depth < FactDepths.depthMax {
            depth += 1
            row = try state.tree.row(current.parent)
        }
        return depth
    }

    private func step(_ state: inout VaultState) throws(FileSystemError) {
        for _ in 0..<Self.stepsMax {
            guard let id = order.popLast() else { return }
            guard let change = pending.removeValue(forKey: id) else { continue }
            if let before = change.before { try leave(before, id, &state) }
            if let after = change.after { try arrive(after, &state) }
        }
    }
}

/// The depths of directories in the tree that the facts show.
struct FactDepths {
    /// Greater than the depth of any directory.
    static let depthMax = 1 << 20

    private let facts: IndexFactStore
    private var known: [ItemID: Int]

    init(_ facts: IndexFactStore, root: ItemID) {
        self.facts = facts
        known = [root: 0]
    }

    /// The depth of a directory.
    mutating func depth(of directory: ItemID) throws(FileSystemError) -> Int {
        var path: [ItemID] = []
        var current = directory
        while known[current] == nil, path.count < Self.depthMax {
            path.append(current)
            guard let entry = try facts.item(current)?.entry,
                let parent = try facts.entry(entry)?.shown?.parent
            else { throw .damaged(place: "the place of a directory in the facts") }
            current = parent
        }
        var depth = known[current] ?? 0
        for directory in path.reversed() {
            depth += 1
            known[directory] = depth
        }
        return depth
    }
}
