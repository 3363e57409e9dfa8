internal import CofferFormat
internal import CofferSystem
internal import CofferVault

/// The past states of vaults that programs look at in a mount.
///
/// Each state has a slot for as long as the kernel knows a node of it. Its view, which keeps the state from being thinned
/// out, is open while programs use it, and some minutes longer.
final class PastTrees: Sendable {
    /// How long a view stays open that nothing uses, in nanoseconds.
    static let idleTime: Int64 = 600_000_000_000
    /// How long requests may go on that use a view which is to be closed, in nanoseconds.
    static let closingTimeMax: Int64 = 10_000_000_000
    /// The shortest pause between two looks for idle views, in nanoseconds.
    private static let pauseMin: Int64 = 10_000_000

    /// From how many slots on the kernel is made to forget states that no program uses, and how many more it takes until
    /// that is done again.
    private static let slotCountMax = 1024, slotCountStep = 256

    /// How long a present state that was looked up stands for a later one that is not committed yet, in nanoseconds.
    ///
    /// Each commit waits for the disk, and a program looks a time up with each path below it.
    static let presentTime: Int64 = 1_000_000_000

    private struct Tree {
        /// The slot of the vault.
        let vault: UInt16
        let state: History.State
        var view: HistoryView?
        /// The number of requests that use the view.
        var users = 0
        /// When the last one ended, by the monotonic clock.
        var lastUse: Int64 = 0
        /// The number of requests that are about to tell the kernel of the tree.
        var pins = 0
        /// The generation of its nodes, by which a handle of an earlier tree in the slot does not lead here.
        let generation = UInt64(UInt32.random(in: 2...(.max >> 1)))
    }

    /// A state of a vault, whose end may have come meanwhile.
    private struct StateKey: Hashable {
        let vault: UInt16
        let number: Int64
        let since: Int64

        init(_ state: History.State, of vault: UInt16) {
            self.vault = vault
            number = state.number
            since = state.since
        }
    }

    private struct Trees {
        private(set) var slots: [StateKey: UInt16] = [:]
        var bySlot: [UInt16: Tree] = [:]
        var listings = PastListings()
        /// The tree of each vault's present state that was looked up last, and when, by the monotonic clock.
        var present: [UInt16: (slot: UInt16, time: Int64)] = [:]
        /// The slot to try next.
        var next = UInt16.max
        /// From how many slots on the kernel is made to forget.
        var forgettingFrom = PastTrees.slotCountMax
        /// The slots of vaults whose views are being closed.
        var barred: [UInt16: Int] = [:]
        /// Whether a thread closes idle views.
        var hasCloser = false
        var isStopped = false

        /// The tree of a state; nil if it has none.
        func slot(of state: History.State, in vault: UInt16) -> UInt16? { slots[StateKey(state, of: vault)] }

        mutating func add(_ tree: Tree, in slot: UInt16) {
            bySlot[slot] = tree
            slots[StateKey(tree.state, of: tree.vault)] = slot
        }

        mutating func remove(_ slot: UInt16) {
            guard let tree = bySlot.removeValue(forKey: slot) else { return }
            slots[StateKey(tree.state, of: tree.vault)] = nil
            if present[tree.vault]?.slot == slot { present[tree.vault] = nil }
            listings.removeAll(in: slot)
        }

        /// Takes the views out of trees that no request uses.
        mutating func takeViews(where isTaken: (Tree) -> Bool) -> [HistoryView] {
            var views: [HistoryView] = []
            for (slot, tree) in bySlot where tree.users == 0 && isTaken(tree) {
                guard let view = tree.view else { continue }
                views.append(view)
                bySlot[slot]?.view = nil
                listings.removeAll(in: slot)
            }
            return views
        }
    }

    let root: any VaultDirectory
    private let known: PastNodeCounts
    private let idleTime: Int64
    private let presentTime: Int64
    private let trees = Condition(Trees(), rank: .leaf)

    /// - Parameters:
    ///   - known: The nodes that the kernel knows.
    ///   - idleTime: How long a view stays open that nothing uses, in nanoseconds.
    ///   - presentTime: As for the type.
    init(
        _ root: any VaultDirectory, known: PastNodeCounts, idleTime: Int64 = PastTrees.idleTime,
        presentTime: Int64 = PastTrees.presentTime
    ) {
        self.root = root
        self.known = known
        self.idleTime = idleTime
        self.presentTime = presentTime
    }

    /// The number of open views; for tests.
    var viewCount: Int { trees.withLock { $0.bySlot.values.count { $0.view != nil } } }
    /// The slots in use; for tests.
    var slots: Set<UInt16> { trees.withLock { Set($0.bySlot.keys) } }

    /// The number of entries of listings in memory; for tests.
    var listedCount: Int { trees.withLock { $0.listings.entryCount } }

    // MARK: Finding a state

    /// The root of the tree of a vault at a time.
    ///
    /// May wait for the disk, and for commits. Call `unpin` once the kernel knows the root, or does not get to know it.
    ///
    /// - Parameter time: In nanoseconds since 1970.
    /// - Returns: The root, and whether it shows the present state.
    /// - Throws: `.notFound` if no state of that time or an earlier one is kept; `.busy` if no slot is free.
    func pin(_ time: Int64, of vault: UInt16) throws(FileSystemError) -> (root: Node, isPresent: Bool) {
        guard let history = root.vault(slot: vault)?.vault.history else { throw .stale }
        let view: HistoryView
        switch try history.find(time) {
        case .nothing: throw .notFound
        case .view(let found): view = found
        case .uncommitted:
            // It was present at some time within the last second, so at that time, too, or since then.
            if let slot = pinPresent(of: vault) { return (Node(slot: slot, item: Vault.rootNumber), true) }
            guard let found = try Self.present(time, history) else { throw .notFound }
            view = found
        }
        // A commit may have shown that the time is before the changes.
        let isPresent = view.state.until == .max
        return (try pin(view, of: vault, isPresent: isPresent), isPresent)
    }

    /// The root of the tree of a snapshot of a vault; call `unpin` as for a time.
    ///
    /// - Throws: `.notFound` if there is no snapshot with this name; `.busy` if no slot is free.
    func pin(snapshot name: [UInt8], of vault: UInt16) throws(FileSystemError) -> Node {
        guard let history = root.vault(slot: vault)?.vault.history else { throw .stale }
        guard let view = try history.view(ofSnapshot: name) else { throw .notFound }
        // Even if nothing has changed since, what is not committed may not be in it.
        return try pin(view, of: vault, isPresent: false)
    }

    private func pin(
        _ view: HistoryView, of vault: UInt16, isPresent: Bool
    ) throws(FileSystemError) -> Node {
        guard let slot = install(view, of: vault, isPresent: isPresent) else {
            view.close()
            throw .busy
        }
        return Node(slot: slot, item: Vault.rootNumber)
    }

    /// The present state, or the latest kept one if it cannot be committed.
    private static func present(
        _ time: Int64, _ history: History
    ) throws(FileSystemError) -> HistoryView? {
        do throws(FileSystemError) {
            return try history.view(at: time)
        } catch {
            switch error {
            case .stopped, .noSpace, .readOnly: return try history.keptView(at: time)
            default: throw error
            }
        }
    }

    /// Pins the tree of the present state that was looked up last, if that was not long ago.
    private func pinPresent(of vault: UInt16) -> UInt16? {
        trees.withLock { trees in
            guard let present = trees.present[vault], Clock.monotonic - present.time < presentTime,
                trees.bySlot[present.slot] != nil
            else { return nil }
            trees.bySlot[present.slot]?.pins += 1
            return present.slot
        }
    }

    /// Makes a view that of the state's tree, and pins the tree; nil if no slot is free.
    private func install(_ view: HistoryView, of vault: UInt16, isPresent: Bool) -> UInt16? {
        let state = view.state
        var isSurplus = false
        let slot: UInt16? = trees.withLock { trees in
            guard let slot = trees.slot(of: state, in: vault) ?? freeSlot(&trees) else { return nil }
            var tree = trees.bySlot[slot] ?? Tree(vault: vault, state: state)
            isSurplus = tree.view != nil || trees.barred[vault] != nil
            if !isSurplus { tree.view = view }
            tree.lastUse = Clock.monotonic
            tree.pins += 1
            trees.add(tree, in: slot)
            if isPresent { trees.present[vault] = (slot, tree.lastUse) }
            return slot
        }
        if isSurplus { view.close() }
        if slot != nil { startCloser() }
        return slot
    }

    private func freeSlot(_ trees: inout Trees) -> UInt16? {
        for _ in Node.firstPastSlot...UInt16.max {
            let slot = trees.next
            // A slot comes again late, since a handle of a node outlives what the kernel knows.
            trees.next = slot == Node.firstPastSlot ? .max : slot - 1
            // Nodes from before the profile was locked have no tree; an old profile may have a vault there.
            if trees.bySlot[slot] == nil, !known.has(slot), root.vault(slot: slot) == nil { return slot }
        }
        return nil
    }

    /// Whether so many states have slots that the kernel is to be made to forget those that no program uses.
    ///
    /// It keeps what it has looked up for as long as there is memory.
    func isDueToForget() -> Bool {
        trees.withLock { trees in
            let count = trees.bySlot.count
            if count < Self.slotCountMax { trees.forgettingFrom = Self.slotCountMax }
            guard count >= trees.forgettingFrom else { return false }
            trees.forgettingFrom = count + Self.slotCountStep
            return true
        }
    }

    /// Ends what `pin` began.
    func unpin(_ root: Node) {
        trees.withLock { $0.bySlot[root.slot]?.pins -= 1 }
        releaseIfUnknown(root.slot)
    }

    /// The tree of each state; nil if it has none.
    func slots(of states: some Sequence<History.State>, in vault: UInt16) -> [UInt16?] {
        trees.withLock { trees in states.map { trees.slot(of: $0, in: vault) } }
    }

    /// The generation of the nodes of a tree; nil if there is no such tree.
    func generation(of slot: UInt16) -> UInt64? { trees.withLock { $0.bySlot[slot]?.generation } }

    /// The slot of the vault to which a tree belongs; nil if there is no such tree.
    func vault(of slot: UInt16) -> UInt16? { trees.withLock { $0.bySlot[slot]?.vault } }

    /// Frees a slot if the kernel knows none of its nodes any more.
    func releaseIfUnknown(_ slot: UInt16) {
        let view = trees.withLock { trees -> HistoryView? in
            guard let tree = trees.bySlot[slot], tree.pins == 0, tree.users == 0, !known.has(slot) else {
                return nil
            }
            trees.remove(slot)
            return tree.view
        }
        view?.close()
    }

    // MARK: Using a state

    /// Runs `body` with the view of a tree, which is opened if it is not open.
    ///
    /// - Throws: `.stale` if the state is not kept any more.
    func use<Result>(
        _ slot: UInt16, _ body: (HistoryView) throws(FileSystemError) -> Result
    ) throws(FileSystemError) -> Result {
        let view = try open(slot)
        defer { release(slot) }
        return try body(view)
    }

    private func open(_ slot: UInt16) throws(FileSystemError) -> HistoryView {
        let (slotOfVault, state, open) = try trees.withLock { trees throws(FileSystemError) in
            guard let tree = trees.bySlot[slot], !trees.isStopped, trees.barred[tree.vault] == nil else {
                throw .stale
            }
            if tree.view != nil { trees.bySlot[slot]?.users += 1 }
            return (tree.vault, tree.state, tree.view)
        }
        // The vault may have been deleted meanwhile, or opened again.
        let vault = root.vault(slot: slotOfVault)?.vault
        if let open {
            if open.belongs(to: vault) { return open }
            drop(open, slot)
            throw .stale
        }
        guard let view = try vault?.history.view(of: state) else { throw .stale }
        let used: HistoryView? = trees.withLock { trees in
            guard let tree = trees.bySlot[slot], tree.state == state, !trees.isStopped,
                trees.barred[slotOfVault] == nil
            else { return nil }
            if tree.view == nil { trees.bySlot[slot]?.view = view }
            trees.bySlot[slot]?.users += 1
            return tree.view ?? view
        }
        // Another request may have opened it, too.
        if used !== view { view.close() }
        guard let used else { throw .stale }
        startCloser()
        return used
    }

    private func release(_ slot: UInt16) {
        let isAwaited = trees.withLock { trees in
            trees.bySlot[slot]?.users -= 1
            trees.bySlot[slot]?.lastUse = Clock.monotonic
            return !trees.barred.isEmpty || trees.isStopped
        }
        if isAwaited { trees.update { _ in } }
    }

    /// Closes a view that is of no use any more, unless other requests still use it.
    private func drop(_ view: HistoryView, _ slot: UInt16) {
        release(slot)
        let views = trees.withLock { $0.takeViews { $0.view === view } }
        for view in views { view.close() }
    }

    /// What a directory has, in the order of reading.
    ///
    /// - Parameter isBeginning: Whether a program begins to list it, so that what is not fixed is read again.
    func listing(
        of directory: Node, isBeginning: Bool, _ read: () throws(FileSystemError) -> PastListings.Listing
    ) throws(FileSystemError) -> PastListings.Listing {
        let last = isBeginning ? nil : trees.withLock { $0.listings.use(directory) }
        if let last { return last }
        let listing = try read()
        trees.withLock { $0.listings.add(listing, of: directory) }
        return listing
    }

    /// Notes that a program has read all of a directory.
    func noteEnd(of directory: Node) { trees.withLock { $0.listings.remove(directory) } }

    // MARK: Closing

    /// Runs `body` while no view of a vault's past is open, unless requests use one for very long.
    ///
    /// - Parameter time: How long to wait for requests that use one, in nanoseconds.
    func withoutViews<Result, Failure: Error>(
        of vault: UInt16, awaiting time: Int64 = PastTrees.closingTimeMax,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        trees.withLock { $0.barred[vault, default: 0] += 1 }
        defer {
            trees.withLock { trees in
                let count = trees.barred[vault] ?? 1
                trees.barred[vault] = count == 1 ? nil : count - 1
            }
        }
        _ = trees.wait(nanoseconds: time) { trees in
            trees.bySlot.values.contains { $0.vault == vault && $0.users > 0 } ? nil : true
        }
        for view in trees.withLock({ $0.takeViews { $0.vault == vault } }) { view.close() }
        return try body()
    }

    /// Closes all views, once no request uses them, and opens no more.
    func stop() {
        trees.update { $0.isStopped = true }
        let views = trees.wait { trees in
            trees.hasCloser || trees.bySlot.values.contains { $0.users > 0 }
                ? nil : trees.takeViews { _ in true }
        }
        for view in views { view.close() }
    }

    /// Starts a thread that closes idle views, for as long as there are views.
    private func startCloser() {
        let starts = trees.withLock { trees in
            if trees.hasCloser || trees.isStopped { return false }
            trees.hasCloser = true
            return true
        }
        guard starts else { return }
        do throws(SystemError) {
            try Thread.startDetached("coffer-past-end") { [self] in
                while let pause = closeIdle() {
                    _ = trees.wait(nanoseconds: pause) { $0.isStopped ? true : nil }
                }
            }
        } catch {
            // The next view starts it.
            trees.update { $0.hasCloser = false }
        }
    }

    /// Closes views that were not used for some time.
    ///
    /// - Returns: When to look again, in nanoseconds; nil if there is nothing to look at.
    private func closeIdle() -> Int64? {
        let now = Clock.monotonic
        let views = trees.withLock { trees in trees.takeViews { now - $0.lastUse >= idleTime } }
        for view in views { view.close() }
        return trees.update { trees in
            let uses = trees.bySlot.values.filter { $0.view != nil }.map(\.lastUse)
            guard let oldest = uses.min(), !trees.isStopped else {
                trees.hasCloser = false
                return nil
            }
            return max(Self.pauseMin, oldest + idleTime - now)
        }
    }
}
