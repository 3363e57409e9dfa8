internal import CofferSystem
internal import CofferVault
internal import Synchronization

/// Brings the kernel's caches up to date when a vault changes from outside the mount.
///
/// Runs a thread of its own, since the kernel may make it wait until requests are answered. Equal changes
/// that are queued are handled once, and a directory's listing is invalidated once for all its queued names.
final class Notifier: Sendable {
    /// The maximum length of the queue; a caller with more changes waits.
    static let waitingMax = 4096

    struct Change: Hashable {
        let slot: UInt16
        let change: VaultChange
    }

    /// How long the first attempt to make the kernel forget an outdated file waits, and the longest, in nanoseconds.
    static let pauses: ClosedRange<Int64> = 100_000_000...5_000_000_000

    private struct Work {
        var waiting: [Change] = []
        var known: Set<Change> = []
        /// The vaults of the queued changes.
        var vaults: [UInt16: Vault] = [:]
        var isBusy = false
        /// The number of batches of vault changes that have begun and not ended.
        var begun = 0
        /// Files whose times the kernel may show as they were, with the names to forget.
        var outdated: [Node: Set<Vault.Name>] = [:]
        var pause = pauses.lowerBound
        var cache: KernelCache?
        var isStopped = false
        var hasEnded = true
        var atEnd: [@Sendable () -> Void] = []
        var thread: Thread?
    }

    private let lookups: LookupTable
    private let work = Condition(Work(), rank: .leaf)
    private let active = Atomic(false)
    private let hasOutdated = Atomic(false)

    init(_ lookups: LookupTable) {
        self.lookups = lookups
    }

    // MARK: Any thread

    /// Whether the kernel's caches may be behind the vaults.
    ///
    /// Costs a request nothing to check. A request that used a vault after a change from elsewhere finds it
    /// true until the kernel knows of the change, since the notification waits for requests in the same
    /// directory.
    var isActive: Bool { active.load(ordering: .acquiring) }

    func begin() {
        update { $0.begun += 1 }
    }

    func end() {
        update { $0.begun -= 1 }
    }

    private func update<Result>(_ body: (inout Work) -> Result) -> Result {
        work.update { work in
            let result = body(&work)
            let isActive = work.begun > 0 || work.isBusy || !work.waiting.isEmpty
            active.store(isActive && !work.hasEnded, ordering: .releasing)
            hasOutdated.store(!work.outdated.isEmpty, ordering: .releasing)
            return result
        }
    }

    /// Queues changes; waits for room in the queue.
    func enqueue(_ changes: some Sequence<VaultChange>, in vault: Vault, _ slot: UInt16) {
        for change in changes where isOfInterest(change, slot) {
            _ = work.wait { work -> Bool? in
                if work.waiting.count < Self.waitingMax || work.hasEnded { return true }
                return nil
            }
            add(change, in: vault, slot)
        }
    }

    /// Queues a change without waiting.
    func enqueueAtOnce(_ change: VaultChange, in vault: Vault, _ slot: UInt16) {
        if isOfInterest(change, slot) { add(change, in: vault, slot) }
    }

    /// Whether the kernel may have cached anything that a change affects.
    ///
    /// If the kernel does not know a directory, it will look its names up later.
    private func isOfInterest(_ change: VaultChange, _ slot: UInt16) -> Bool {
        switch change {
        case .entry(let name), .attributes(_, let name):
            lookups.isKnown(Node(slot: slot, item: name.parent))
        case .growth, .nameless: true
        }
    }

    private func add(_ change: VaultChange, in vault: Vault, _ slot: UInt16) {
        let change = Change(slot: slot, change: change)
        update { work in
            guard !work.hasEnded, work.known.insert(change).inserted else { return }
            work.waiting.append(change)
            work.vaults[slot] = vault
        }
    }

    /// Whether the kernel may know an item.
    func isKnown(_ node: Node) -> Bool { lookups.isKnown(node) }

    /// Notes that the kernel no longer knows an item.
    func noteForgotten(_ node: Node) {
        guard hasOutdated.load(ordering: .acquiring) else { return }
        update { work in _ = work.outdated.removeValue(forKey: node) }
    }

    /// Makes the kernel write an item's dirty pages; waits.
    func flush(_ node: Node) {
        guard lookups.isKnown(node), let cache = work.withLock({ $0.hasEnded ? nil : $0.cache }) else {
            return
        }
        cache.forgetContent(of: node, from: 0)
    }

    /// Makes the kernel write the dirty pages in a range of an item; waits.
    func flush(_ node: Node, _ range: Range<Int64>) {
        guard lookups.isKnown(node), let cache = work.withLock({ $0.hasEnded ? nil : $0.cache }) else {
            return
        }
        cache.forgetContent(of: node, range)
    }

    /// Waits until all queued changes are handled, or the mount ends.
    func awaitAll() {
        _ = work.wait { work -> Bool? in
            (work.waiting.isEmpty && !work.isBusy) || work.hasEnded ? true : nil
        }
    }

    /// The number of queued changes.
    var waitingCount: Int { work.withLock { $0.waiting.count } }

    /// The number of files whose times the kernel may show as they were.
    var outdatedCount: Int { work.withLock { $0.outdated.count } }

    // MARK: Beginning and end

    /// Starts the thread.
    func start(_ cache: KernelCache) throws(SystemError) {
        try work.update { work throws(SystemError) in
            work.cache = cache
            work.hasEnded = false
            work.thread = try Thread.start("coffer-notify") { [self] in run() }
        }
    }

    /// Ends the thread after the call that it is in, and then calls `body`.
    ///
    /// That call may wait for requests, so they must be answered until then.
    func stop(then body: @escaping @Sendable () -> Void) {
        let hasEnded = work.update { work in
            work.isStopped = true
            if !work.hasEnded { work.atEnd.append(body) }
            return work.hasEnded
        }
        if hasEnded { body() }
    }

    /// Waits until the thread has ended; for a caller that serves no requests any more.
    func join() {
        stop {}
        let thread = work.withLock { work in
            defer { work.thread = nil }
            return work.thread
        }
        thread?.join()
    }

    // MARK: The thread

    private func run() {
        while let (changes, vaults, cache) = next() {
            bringUpToDate(changes, vaults, cache)
            if changes.isEmpty { forgetOutdated(cache) }
        }
        update { work in
            work.hasEnded = true
            work.outdated = [:]
            work.waiting = []
            work.known = []
            work.vaults = [:]
        }
        let atEnd = work.withLock { work in
            defer { work.atEnd = [] }
            return work.atEnd
        }
        for body in atEnd { body() }
    }

    private typealias Next = (changes: [Change], vaults: [UInt16: Vault], cache: KernelCache?)

    /// Waits for changes, or until outdated files are due; nil once the thread is to end.
    private func next() -> (changes: [Change], vaults: [UInt16: Vault], cache: KernelCache)? {
        update { $0.isBusy = false }
        let pause = work.withLock { $0.outdated.isEmpty ? nil : $0.pause }
        func take(_ work: inout Work) -> Next? {
            if work.isStopped { return ([], [:], nil) }
            if work.waiting.isEmpty { return nil }
            work.isBusy = true
            defer {
                work.waiting = []
                work.known = []
                work.vaults = [:]
            }
            return (work.waiting, work.vaults, work.cache)
        }
        let next: Next =
            if let pause {
                work.wait(nanoseconds: pause, for: take) ?? ([], [:], work.withLock { $0.cache })
            } else {
                work.wait(for: take)
            }
        work.update { _ in }
        return next.cache.map { (next.changes, next.vaults, $0) }
    }

    /// Remembers that the kernel may go on showing the old times of a file, since a program has it open.
    private func noteOutdated(_ node: Node, _ name: Vault.Name) {
        update { work in
            if work.outdated[node] == nil { work.pause = Self.pauses.lowerBound }
            work.outdated[node, default: []].insert(name)
        }
        // The kernel may have forgotten it in the meantime.
        if !lookups.isKnown(node) { noteForgotten(node) }
    }

    /// Tries again to make the kernel forget outdated files.
    private func forgetOutdated(_ cache: KernelCache) {
        let outdated = update { work in
            work.pause = min(work.pause * 2, Self.pauses.upperBound)
            return work.outdated
        }
        for (node, names) in outdated where !isStopped {
            for name in names { cache.forgetEntry(name.name, in: Node(slot: node.slot, item: name.parent)) }
        }
    }

    private var isStopped: Bool { work.withLock { $0.isStopped } }

    /// Invalidates names first, so that listings and answers in progress have arrived.
    ///
    /// Items without a name come last, since only then is it certain whether the kernel still uses them.
    private func bringUpToDate(_ changes: [Change], _ vaults: [UInt16: Vault], _ cache: KernelCache) {
        var directories: Set<Node> = []
        for change in changes where !isStopped {
            guard let name = change.name, let vault = vaults[change.slot] else { continue }
            let parent = Node(slot: change.slot, item: name.parent)
            switch change.change {
            case .attributes(let item, _):
                forgetAttributes(of: Node(slot: change.slot, item: item), name, parent, vault, cache)
            case .entry:
                cache.forgetEntry(name.name, in: parent)
                directories.insert(parent)
            case .growth(let item, _, _):
                noteOutdated(Node(slot: change.slot, item: item), name)
                cache.forgetEntry(name.name, in: parent)
            case .nameless: break
            }
        }
        for directory in directories where !isStopped { cache.forgetListing(of: directory) }
        for change in changes where !isStopped {
            guard let vault = vaults[change.slot] else { continue }
            switch change.change {
            case .growth(let item, let size, _):
                grow(Node(slot: change.slot, item: item), from: size, in: vault, cache)
            case .nameless(let item):
                if !lookups.isKnown(Node(slot: change.slot, item: item)) { vault.release(item) }
            case .entry, .attributes: break
            }
        }
    }

    /// Keeps the name of a directory, as it may be some program's working directory.
    private func forgetAttributes(
        of node: Node, _ name: Vault.Name, _ parent: Node, _ vault: Vault, _ cache: KernelCache
    ) {
        let type = (try? vault.attributes(of: node.item))?.type
        if node.item == Vault.rootNumber {
            cache.awaitRequests(in: .root)
        } else if type == .directory {
            cache.awaitRequests(in: parent)
        } else {
            if type == .regular { noteOutdated(node, name) }
            cache.forgetEntry(name.name, in: parent)
        }
        cache.forgetAttributes(of: node)
    }

    /// Shows the growth of a file that programs have open.
    private func grow(_ node: Node, from size: Int64, in vault: Vault, _ cache: KernelCache) {
        let buffer = AlignedBuffer(count: 1)
        guard let now = (try? vault.attributes(of: node.item))?.size, now > size
        else { return vault.endGrowth(of: node.item, at: nil) }
        var count: Int?
        if lookups.isKnown(node) {
            count = try? vault.contents.read(node.item, at: now - 1, count: 1, into: buffer)
            // What a program has appended is written now, and makes the file an outdated version.
            cache.forgetContent(of: node, from: size)
        }
        guard count != 0, let names = vault.beginGrowth(of: node.item, to: now) else {
            return vault.endGrowth(of: node.item, at: nil)
        }
        // Lookups that were answered with the old size have brought it to the kernel then.
        for parent in Set(names.map(\.parent)) { cache.awaitCalls(in: Node(slot: node.slot, item: parent)) }
        guard lookups.isKnown(node) else { return vault.endGrowth(of: node.item, at: nil) }
        let byte = count == 1 ? buffer.withBytes(0..<1) { $0.littleEndian(at: 0, as: UInt8.self) } : 0
        cache.store(byte, at: now - 1, of: node)
        // A program may have chosen the old end before that, and write there only now.
        cache.awaitCalls(in: node)
        // The size stays. The byte goes, as it may be a substitute. What programs have appended meanwhile is written, and
        // makes the file an outdated version.
        cache.forgetContent(of: node, from: size)
        vault.endGrowth(of: node.item, at: now)
    }
}

extension Notifier.Change {
    fileprivate var name: Vault.Name? {
        switch change {
        case .entry(let name), .attributes(_, let name), .growth(_, _, let name): name
        case .nameless: nil
        }
    }
}

/// Receives the changes of one vault of a mount.
struct VaultChanges: ChangeSink {
    let slot: UInt16
    let notifier: Notifier

    func begin() {
        notifier.begin()
    }

    func note(_ changes: [VaultChange], in vault: Vault) {
        notifier.enqueue(changes, in: vault, slot)
    }

    func end() {
        notifier.end()
    }

    func noteAtOnce(_ change: VaultChange, in vault: Vault) {
        notifier.enqueueAtOnce(change, in: vault, slot)
    }

    func knows(_ item: Int64) -> Bool {
        notifier.isKnown(Node(slot: slot, item: item))
    }

    func flush(_ item: Int64) {
        notifier.flush(Node(slot: slot, item: item))
    }

    func awaitShown() {
        notifier.awaitAll()
    }
}
