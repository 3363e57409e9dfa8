internal import CofferCrypto
internal import CofferFacts
internal import CofferFormat
internal import CofferStore
internal import CofferSystem

/// Makes local changes of collected ones, in the commit that is being made.
struct ChangeCollector {
    let state: VaultState
    /// What the contents of files are.
    let contents: [Int64: Fact.Content]
    var tree: FactTree<IndexFactStore>
    /// What did not fit what the facts show; nothing, unless something is damaged.
    private(set) var misfits: [String] = []
    private var byteCount = 0

    /// - Parameter tree: In which a commit was begun.
    init(_ tree: FactTree<IndexFactStore>, contents: [Int64: Fact.Content], _ state: VaultState) {
        self.tree = tree
        self.contents = contents
        self.state = state
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
            try storing { () throws(StoreError) in try facts.setNumber(made.number, of: made.item) }
        case .link(let item, let place):
            try perform(.link(item, Self.newEntry(), at: place), "linking “\(place.name)”")
        case .move(let source, let target):
            guard let entry = try entry(at: source) else { return misfits.append("moving “\(source.name)”") }
            let replaced = try item(at: target)
            try perform(.move(entry, to: target), "moving “\(source.name)”")
            try forgetNumber(of: replaced)
        case .exchange(let one, let other):
            guard let first = try entry(at: one), let second = try entry(at: other) else {
                return misfits.append("exchanging “\(one.name)”")
            }
            try perform(.exchange(first, second), "exchanging “\(one.name)”")
        case .remove(let place):
            guard let entry = try entry(at: place) else { return misfits.append("removing “\(place.name)”") }
            let removed = try item(at: place)
            try perform(.remove(entry), "removing “\(place.name)”")
            try forgetNumber(of: removed)
        }
    }

    private static func newEntry() -> EntryID { .made(at: Clock.realTime) }

    private func entry(at place: Place) throws(FileSystemError) -> EntryID? {
        try storing { () throws(StoreError) in try tree.store.entry(shownAt: place) }
    }

    private func item(at place: Place) throws(FileSystemError) -> ItemID? {
        guard let entry = try entry(at: place) else { return nil }
        return try storing { () throws(StoreError) in try tree.store.entry(entry)?.item }
    }

    /// Lets go of the number of an item without a name: where it is shown again, it gets another.
    private func forgetNumber(of item: ItemID?) throws(FileSystemError) {
        guard let item, try state.row(item, nil)?.links ?? 0 == 0 else { return }
        let facts = tree.store
        try storing { () throws(StoreError) in try facts.setNumber(nil, of: item) }
    }

    private mutating func perform(_ change: LocalChange, _ text: String) throws(FileSystemError) {
        do throws(LocalChangeError<StoreError>) {
            try tree.perform(change)
        } catch {
            switch error {
            case .store(let error): throw FileSystemError(error)
            case .refused(let reason): misfits.append("\(text) (\(reason))")
            }
        }
    }

    // MARK: Items

    /// Sends what is unsent of an item, as far as there is room.
    mutating func send(_ number: Int64) throws(FileSystemError) {
        guard byteCount < CollectedChanges.byteCountMax, let row = try state.row(number), row.links > 0,
            let shown = try shownItem(row)
        else { return }
        let item = try state.item(number)
        let id = row.id
        let unsent = row.unsent
        var rest: ItemRow.Aspects = []
        if unsent.contains(.mode) {
            let mode = UInt16(row.mode & ModeBits.permissions)
            if shown.mode != mode { try perform(.setMode(id, mode), "the mode of item \(number)") }
        }
        if unsent.contains(.times), shown.modified != row.modified {
            try perform(.setModified(id, row.modified), "the time of item \(number)")
        }
        if unsent.contains(.attributes) { try sendAttributes(of: row, shown) }
        if unsent.contains(.content), item.type == .regular {
            if let content = contents[number], state.publishing.contains(number) {
                byteCount += content.bytes.count
                try perform(.setContent(id, content), "the content of item \(number)")
            } else {
                rest = .content
            }
        }
        item.row.unsent = rest
        state.touch(item, [])
        if rest.isEmpty { state.busy[number] = nil }
    }

    private func shownItem(_ row: ItemRow) throws(FileSystemError) -> ShownItem? {
        try storing { () throws(StoreError) in try tree.shownItem(row.id) }
    }

    private mutating func sendAttributes(of row: ItemRow, _ shown: ShownItem) throws(FileSystemError) {
        let attributes = try storing { () throws(StoreError) in
            try state.index.attributes(of: row.number)
        }.filter { ExtendedAttributeName.isSent($0.name) }
        for (name, value) in attributes
        where !shown.extendedAttributes.contains(where: { $0.name == name && $0.value == value }) {
            byteCount += value.count
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

    /// Notes in the index whether an item has still something to be sent.
    func mark(_ number: Int64) throws(FileSystemError) {
        guard let row = try state.row(number) else {
            return try storing { () throws(StoreError) in try state.index.removeUnsent(number) }
        }
        let item = try state.item(number)
        let isUnsent = row.links > 0 && !row.unsent.isDisjoint(with: .sent)
        try storing { () throws(StoreError) in
            if isUnsent {
                try state.index.noteUnsent(number)
            } else {
                try state.index.removeUnsent(number)
            }
        }
        item.isMarked = isUnsent
        // Without a name nothing of it is sent any more.
        if !isUnsent, !row.unsent.isEmpty {
            item.row.unsent = []
            state.touch(item, [])
        }
    }
}
