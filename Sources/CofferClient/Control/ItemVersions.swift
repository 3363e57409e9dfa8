internal import CofferFormat
internal import CofferVault

/// What a path led to, state by state: one entry for each stretch of time in which that was the same.
struct ItemVersions {
    private static let second: Int64 = 1_000_000_000

    private(set) var states: [HistoryReport.State] = []
    private let path: [UInt8]
    private let vault: Vault
    private let names: AuthorNames
    /// The state before, the number of the item then, and those of the folders on the way to it.
    private var last: (state: History.State, number: Int64?, folders: [Int64])?

    init(of path: [UInt8], in vault: Vault, _ names: AuthorNames) {
        self.path = path
        self.vault = vault
        self.names = names
    }

    /// Adds the next state; nil for the present one.
    mutating func add(_ view: HistoryView, _ state: History.State?) throws(FileSystemError) {
        let (found, folders) = try found(in: view)
        let item = found.map(HistoryReport.Item.init)
        defer { if let state { last = (state, found?.number, folders) } }
        let until = state.map { $0.until / Self.second }
        if let known = states.last, known.item == item {
            states[states.count - 1] = known.lasting(until: until)
            return
        }
        var (change, by): (String?, Set<History.Author>) = (nil, [])
        if let last {
            change = try self.change(from: last.number, to: found?.number, in: view, since: last.state)
            by = try authors(
                of: [last.number, found?.number].compactMap(\.self), from: last.state, upTo: state)
            // A folder on the way may have been moved, or removed.
            if by.isEmpty { by = try authors(of: last.folders + folders, from: last.state, upTo: state) }
            // Nobody else is recorded for what this device made.
            if by.isEmpty { by = [.thisDevice] }
        }
        states.append(
            HistoryReport.State(
                view.since, until: state?.until, item, change: change, by: names.reports(by)))
    }

    private func authors(
        of items: [Int64], from first: History.State, upTo end: History.State?
    ) throws(FileSystemError) -> Set<History.Author> {
        var authors: Set<History.Author> = []
        for item in Set(items) {
            authors.formUnion(try vault.history.authors(of: item, from: first, upTo: end))
        }
        return authors
    }

    /// What the path leads to in a state, and the folders on the way, as far as there are any.
    private func found(
        in view: HistoryView
    ) throws(FileSystemError) -> (item: Attributes?, folders: [Int64]) {
        var item = try view.attributes(of: Vault.rootNumber)
        var folders: [Int64] = []
        for name in path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: true) {
            if item.number != Vault.rootNumber { folders.append(item.number) }
            do throws(FileSystemError) { item = try view.lookup(Array(name), in: item.number) } catch {
                switch error {
                case .notFound, .notDirectory: return (nil, folders)
                default: throw error
                }
            }
        }
        return (item, folders)
    }

    /// How the path came from one item to another.
    private func change(
        from old: Int64?, to new: Int64?, in view: HistoryView, since state: History.State
    ) throws(FileSystemError) -> String? {
        guard let old else {
            guard let new, let before = try vault.history.view(of: state) else { return nil }
            defer { before.close() }
            return try has(new, before) ? "moved" : "created"
        }
        if new == nil { return try has(old, view) ? "moved" : "removed" }
        return "changed"
    }

    /// Whether an item had a name in a state.
    private func has(_ item: Int64, _ view: HistoryView) throws(FileSystemError) -> Bool {
        do throws(FileSystemError) { return try view.attributes(of: item).links > 0 } catch {
            guard case .stale = error else { throw error }
            return false
        }
    }
}

extension HistoryReport.State {
    /// - Parameters:
    ///   - since: In nanoseconds since 1970.
    ///   - until: In nanoseconds since 1970; nil for the present.
    init(
        _ since: Int64, until: Int64?, _ item: HistoryReport.Item? = nil, change: String? = nil,
        by: [AuthorReport] = [], endedBy: [AuthorReport] = [], snapshots: [String] = []
    ) {
        self.init(
            since: since / 1_000_000_000, until: until.map { $0 / 1_000_000_000 }, item: item, change: change,
            by: by, endedBy: endedBy, snapshots: snapshots)
    }

    /// The same, up to a later time in seconds since 1970; nil for the present.
    fileprivate func lasting(until time: Int64?) -> Self {
        Self(
            since: since, until: time, item: item, change: change, by: by, endedBy: endedBy,
            snapshots: snapshots)
    }
}

extension HistoryReport.Item {
    fileprivate init(_ item: Attributes) {
        let type =
            switch item.type {
            case .regular: "file"
            case .directory: "directory"
            case .symbolicLink: "symlink"
            default: "other"
            }
        self.init(
            type: type, size: item.type == .directory ? 0 : item.size,
            modified: item.modified / 1_000_000_000)
    }
}
