internal import CofferFacts
internal import CofferFormat
internal import CofferStore

// The facts of a vault, next to its items.
extension VaultState {
    /// The facts; rows that are read stay in memory until the exchange ends.
    mutating func openFacts() throws(FileSystemError) -> IndexFactStore {
        if let facts { return facts }
        let opened = try IndexFactStore(index)
        facts = opened
        return opened
    }

    /// The tree that the facts show.
    mutating func factTree(_ hashKey: StateHashKey) throws(FileSystemError) -> FactTree<IndexFactStore> {
        FactTree(store: try openFacts(), root: try tree.peek(Vault.rootNumber).id, hashKey: hashKey)
    }

    /// The row of an item with this id and type; nil if there is none, or not any more.
    mutating func row(_ id: ItemID, _ type: FileType?) throws(FileSystemError) -> ItemRow? {
        let root = try tree.peek(Vault.rootNumber)
        if id == root.id { return root }
        let facts = try openFacts()
        guard let number = try facts.number(of: id),
            let row = try tree.row(number), row.id == id, type == nil || FileType(mode: row.mode) == type
        else { return nil }
        return row
    }
}

extension Fact.Kind {
    /// The type, as in d_type.
    var type: FileType {
        switch self {
        case .file: .regular
        case .directory: .directory
        case .symlink: .symbolicLink
        case .fifo: .fifo
        case .socket: .socket
        case .characterDevice: .characterDevice
        case .blockDevice: .blockDevice
        }
    }
}

extension VaultState {
    /// The approximate number of index bytes that a fact may need.
    static let byteCountPerFact = 4096

    /// Checks that there is room for the content of a commit.
    mutating func ensureSpace(for commit: FactCommit) throws(FileSystemError) {
        let contents = commit.facts.reduce(0) { sum, fact in
            switch fact.assertion {
            case .content(_, let content?): sum + content.bytes.count
            case .moved(_, _, let bytes): sum + bytes.count
            default: sum
            }
        }
        try space.ensure(for: (commit.facts.count + 1) * Self.byteCountPerFact + contents)
    }
}
