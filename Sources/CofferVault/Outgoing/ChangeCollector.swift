internal import CofferCrypto
internal import CofferFacts
internal import CofferFormat
internal import CofferStore
internal import CofferSystem

/// Turns collected changes into facts of the commit being made.
///
/// Runs without the vault's lock, which the facts take for each access to the index, so programs continue in
/// the meantime.
struct ChangeCollector {
    let vault: Vault
    var tree: FactTree<IndexFactStore>
    /// Changes that did not fit what the facts show; empty unless something is damaged.
    private(set) var misfits: [String] = []
    /// Changes that cannot be sent yet.
    private(set) var left: [UnsentItem] = []

    /// - Parameter tree: A tree in which a commit was begun.
    init(_ tree: FactTree<IndexFactStore>, of vault: Vault) {
        self.tree = tree
        self.vault = vault
    }

    // MARK: Names

    mutating func perform(_ record: JournalRecord) throws(FileSystemError) {
        switch record {
        case .make(let made, let place):
            let change = LocalChange.create(
                made.item, made.kind, mode: UInt16(made.mode & ModeBits.permissions), modified: made.modified,
                Self.newEntry(), at: place)
            try perform(change, "making “\(place.name)”")
            let facts = tree.store
            try facts.setNumber(made.number, of: made.item)
        case .link(let item, let place):
            try perform(.link(item, Self.newEntry(), at: place), "linking “\(place.name)”")
        case .move(let source, let target):
            guard let entry = try entry(at: source) else {
                return misfits.append("moving “\(source.name)”")
            }
            let replaced = try item(at: target)
            try perform(.move(entry, to: target), "moving “\(source.name)”")
            try forgetNumber(of: replaced)
        case .exchange(let one, let other):
            guard let first = try entry(at: one), let second = try entry(at: other) else {
                return misfits.append("exchanging “\(one.name)”")
            }
            try perform(.exchange(first, second), "exchanging “\(one.name)”")
        case .remove(let place):
            guard let entry = try entry(at: place) else {
                return misfits.append("removing “\(place.name)”")
            }
            let removed = try item(at: place)
            try perform(.remove(entry), "removing “\(place.name)”")
            try forgetNumber(of: removed)
        }
    }

    private static func newEntry() -> EntryID { .made(at: Clock.realTime) }

    private func entry(at place: Place) throws(FileSystemError) -> EntryID? {
        try tree.store.entry(shownAt: place)
    }

    private func item(at place: Place) throws(FileSystemError) -> ItemID? {
        guard let entry = try entry(at: place) else { return nil }
        return try tree.store.entry(entry)?.item
    }

    /// Removes the number of an item without a name; if it is shown again, it gets another.
    private func forgetNumber(of item: ItemID?) throws(FileSystemError) {
        let facts = tree.store
        guard let item, let number = try facts.number(of: item) else { return }
        let (row, isOwed) = try vault.reading { state throws(FileSystemError) in
            (try state.tree.row(number), try state.index.kept(.owed(item)) != nil)
        }
        if let row, row.id == item, row.links > 0 { return }
        if isOwed, row != nil {
            // The history, or a program, may go on needing what the item is owed.
            try vault.changing { state throws(FileSystemError) in
                if try state.tree.row(number) != nil { try state.noteLacking(number, asDoes: number) }
            }
        }
        try facts.setNumber(nil, of: item)
    }

    private mutating func perform(_ change: LocalChange, _ text: String) throws(FileSystemError) {
        do throws(LocalChangeError<FileSystemError>) {
            try tree.perform(change)
        } catch {
            switch error {
            case .store(let error): throw error
            case .refused(let reason): misfits.append("\(text) (\(reason))")
            }
        }
    }

    // MARK: Items

    /// Adds the unsent changes of an item to the commit.
    mutating func send(_ item: UnsentItem) throws(FileSystemError) {
        let row = item.row
        let shown = try tree.shownItem(row.id)
        guard let shown else { return left.append(item) }
        let mode = UInt16(row.mode & ModeBits.permissions)
        if row.unsent.contains(.mode), shown.mode != mode {
            try perform(.setMode(row.id, mode), "the mode of item \(row.number)")
        }
        if row.unsent.contains(.times), shown.modified != row.modified {
            try perform(.setModified(row.id, row.modified), "the time of item \(row.number)")
        }
        if row.unsent.contains(.attributes) { try send(item.attributes, of: row, shown) }
        if let content = item.content {
            try perform(.setContent(row.id, content), "the content of item \(row.number)")
        }
    }

    private mutating func send(
        _ attributes: [(name: [UInt8], value: [UInt8])], of row: ItemRow, _ shown: ShownItem
    ) throws(FileSystemError) {
        for (name, value) in attributes
        where !shown.extendedAttributes.contains(where: { $0.name == name && $0.value == value }) {
            try perform(
                .setExtendedAttribute(row.id, name: name, value: value), "an attribute of item \(row.number)")
        }
        for attribute in shown.extendedAttributes
        where ExtendedAttributeName.isSent(attribute.name)
            && !attributes.contains(where: { $0.name == attribute.name })
        {
            try perform(
                .setExtendedAttribute(row.id, name: attribute.name, value: nil),
                "an attribute of item \(row.number)")
        }
    }
}
