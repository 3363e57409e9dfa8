internal import CofferFacts
internal import CofferFormat
internal import CofferStore

// The facts of a vault, beside its items.
extension VaultState {
    /// The facts; for as long as an exchange lasts, what is read of them stays in memory.
    func openFacts() throws(FileSystemError) -> IndexFactStore {
        if let facts { return facts }
        let opened = try storing { () throws(StoreError) in try IndexFactStore(index) }
        facts = opened
        return opened
    }

    /// The tree that the facts show.
    func factTree(_ hashKey: StateHashKey) throws(FileSystemError) -> FactTree<IndexFactStore> {
        FactTree(store: try openFacts(), root: try peek(Vault.rootNumber).id, hashKey: hashKey)
    }

    /// The row of an item by its id, if it has one with this type; nil if it has none yet, or none any more.
    func row(_ id: ItemID, _ type: FileType?) throws(FileSystemError) -> ItemRow? {
        let root = try peek(Vault.rootNumber)
        if id == root.id { return root }
        let facts = try openFacts()
        guard let number = try storing({ () throws(StoreError) in try facts.number(of: id) }),
            let row = try row(number), row.id == id, type == nil || FileType(mode: row.mode) == type
        else { return nil }
        return row
    }
}

extension Fact.Kind {
    /// As d_type.
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
