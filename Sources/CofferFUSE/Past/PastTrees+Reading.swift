internal import CofferFormat
internal import CofferSystem
internal import CofferVault

// What programs see of the past of a vault.
extension PastTrees {
    private static let dot: [UInt8] = [46], dotDot: [UInt8] = [46, 46]

    // MARK: The directories above the states

    /// The hidden directory of the vault in a slot; nil if the vault keeps no past.
    func hidden(in slot: UInt16) throws(FileSystemError) -> (Node, Attributes)? {
        guard let vault = root.vault(slot: slot)?.vault, vault.history.isOn else { return nil }
        let node = Node.hidden(in: slot)
        return (node, try attributes(of: node))
    }

    /// Whoever may list the vault's root may list them.
    private func attributesAboveStates(_ node: Node) throws(FileSystemError) -> Attributes {
        guard let vault = root.vault(slot: node.slot)?.vault, vault.history.isOn,
            node.isHistory || node == .hidden(in: node.slot)
        else { throw .stale }
        var attributes = try vault.attributes(of: Vault.rootNumber)
        attributes.number = node.item
        attributes.mode &= FileType.directory.modeBits | 0o555
        attributes.links = node.isHistory ? 2 : 3
        if node.isHistory {
            // States come and go at any time: a listing that the kernel has kept is always older.
            attributes.modified = Clock.realTime
            attributes.changed = attributes.modified
        }
        return attributes
    }

    /// With the mode alone, the mask of the root's ACL would be the rights of its group.
    private func accessListAboveStates(
        _ node: Node
    ) throws(FileSystemError) -> [(name: [UInt8], value: [UInt8])] {
        guard let vault = root.vault(slot: node.slot)?.vault else { throw .stale }
        let name = ExtendedAttributeName.accessList
        do throws(FileSystemError) {
            return [(name, try vault.extendedAttribute(name, of: Vault.rootNumber))]
        } catch {
            if case .attributeNotFound = error { return [] }
            throw error
        }
    }

    private func lookupAboveStates(_ name: [UInt8], in parent: Node) throws(FileSystemError) -> Node {
        switch name {
        case Self.dot: parent
        case Self.dotDot:
            parent.isHistory
                ? .hidden(in: parent.slot) : Node(slot: parent.slot, item: Vault.rootNumber)
        case Node.historyName where !parent.isHistory: .history(in: parent.slot)
        default: throw .notFound
        }
    }

    /// The first cookie of snapshots, which come after the states.
    private static let firstSnapshotCookie: Int64 = 1 << 62

    /// The states of a vault and its snapshots; the numbers of both ascend from 1.
    private static func names(in history: History) throws(FileSystemError) -> [PastListings.NamedState] {
        var names = try history.namedStates().map { state, name in
            PastListings.NamedState(name: Array(name.utf8), state: state, cookie: state.number + 2)
        }
        for snapshot in try history.snapshots() {
            guard let state = snapshot.state, let name = SnapshotName(snapshot.name) else { continue }
            names.append(
                PastListings.NamedState(
                    name: name.bytes, state: state, cookie: firstSnapshotCookie &+ snapshot.number))
        }
        return names
    }

    /// The states of a vault, by time and by name, after a cookie.
    private func readHistory(
        _ node: Node, after cookie: Int64, limit: Int
    ) throws(FileSystemError) -> [(entry: Vault.Entry, node: Node)] {
        let listing = try self.listing(of: node, isBeginning: cookie < 1) { () throws(FileSystemError) in
            guard let vault = root.vault(slot: node.slot)?.vault, vault.history.isOn else { throw .stale }
            return .states(try Self.names(in: vault.history))
        }
        guard case .states(let all) = listing else { return [] }
        let states = all[all.partitioningIndex(where: { $0.cookie > cookie })...].prefix(limit)
        if states.isEmpty { noteEnd(of: node) }
        return zip(states, slots(of: states.map(\.state), in: node.slot)).map { state, slot in
            let root = slot.map { Node(slot: $0, item: Vault.rootNumber) }
            return entry(
                state.name, root ?? .unseen(state.state.number, in: node.slot), .directory, state.cookie)
        }
    }

    /// The items of a directory after a cookie.
    private func readItems(
        _ node: Node, after cookie: Int64, limit: Int
    ) throws(FileSystemError) -> [(entry: Vault.Entry, node: Node)] {
        let listing = try use(node.slot) { view throws(FileSystemError) -> PastListings.Listing in
            try self.listing(of: node, isBeginning: false) { () throws(FileSystemError) in
                .items(try view.entries(of: node.item))
            }
        }
        guard case .items(let all) = listing else { return [] }
        let items = all[all.partitioningIndex(where: { $0.cookie > cookie })...].prefix(limit)
        if items.isEmpty { noteEnd(of: node) }
        return items.map { item in
            let entry = Vault.Entry(
                name: item.name, item: item.item, type: item.type, cookie: item.cookie, attributes: nil)
            return (entry, Node(slot: node.slot, item: item.item))
        }
    }

    // MARK: Items

    /// The attributes of a node, as for stat(2).
    func attributes(of node: Node) throws(FileSystemError) -> Attributes {
        if node.isAboveStates { return try attributesAboveStates(node) }
        return try use(node.slot) { view throws(FileSystemError) in try view.attributes(of: node.item) }
    }

    /// What a name in a directory leads to, other than a time.
    func lookup(_ name: [UInt8], in parent: Node) throws(FileSystemError) -> (Node, Attributes) {
        guard name.count <= Vault.nameByteCountMax else { throw .nameTooLong }
        let node: Node
        if parent.isAboveStates {
            node = try lookupAboveStates(name, in: parent)
        } else if name == Self.dot {
            node = parent
        } else if name == Self.dotDot {
            node = try self.parent(of: parent)
        } else {
            let attributes = try use(parent.slot) { view throws(FileSystemError) in
                try view.lookup(name, in: parent.item)
            }
            return (Node(slot: parent.slot, item: attributes.number), attributes)
        }
        return (node, try attributes(of: node))
    }

    private func parent(of node: Node) throws(FileSystemError) -> Node {
        if node.item == Vault.rootNumber {
            guard let vault = vault(of: node.slot) else { throw .stale }
            return .history(in: vault)
        }
        return Node(
            slot: node.slot,
            item: try use(node.slot) { view throws(FileSystemError) in try view.parent(of: node.item) })
    }

    /// As `FileSystem.readDirectory`, without attributes.
    ///
    /// May read a whole directory from the disk.
    func readDirectory(
        _ node: Node, after cookie: Int64, limit: Int
    ) throws(FileSystemError) -> [(entry: Vault.Entry, node: Node)] {
        var entries: [(entry: Vault.Entry, node: Node)] = []
        if cookie < 1 { entries.append(entry(Self.dot, node, .directory, 1)) }
        if cookie < 2 {
            let parent =
                node.isAboveStates ? try lookupAboveStates(Self.dotDot, in: node) : try parent(of: node)
            entries.append(entry(Self.dotDot, parent, .directory, 2))
        }
        if node.isHistory {
            entries += try readHistory(node, after: cookie, limit: limit)
        } else if node.isAboveStates {
            if cookie < 3 { entries.append(entry(Node.historyName, .history(in: node.slot), .directory, 3)) }
        } else {
            entries += try readItems(node, after: cookie, limit: limit)
        }
        return entries
    }

    private func entry(
        _ name: [UInt8], _ node: Node, _ type: FileType, _ cookie: Int64
    ) -> (entry: Vault.Entry, node: Node) {
        (Vault.Entry(name: name, item: node.item, type: type.rawValue, cookie: cookie, attributes: nil), node)
    }

    /// The target of a symbolic link.
    func readLink(_ node: Node) throws(FileSystemError) -> [UInt8] {
        if node.isAboveStates { throw .invalidArgument }
        return try use(node.slot) { view throws(FileSystemError) in try view.readLink(node.item) }
    }

    /// The extended attributes of a node, by name.
    func extendedAttributes(
        of node: Node
    ) throws(FileSystemError) -> [(name: [UInt8], value: [UInt8])] {
        if node.isAboveStates { return try accessListAboveStates(node) }
        return try use(node.slot) { view throws(FileSystemError) in
            try view.extendedAttributes(of: node.item)
        }
    }

    /// Reads content; waits for the disk, and for the remote.
    ///
    /// - Parameter isInterrupted: Whether nobody wants the answer any more.
    func read(
        _ node: Node, at offset: Int64, count: Int, into buffer: AlignedBuffer,
        isInterrupted: () -> Bool
    ) throws(FileSystemError) -> Int {
        if node.isAboveStates { throw .isDirectory }
        return try use(node.slot) { view throws(FileSystemError) in
            try view.read(
                node.item, at: offset, count: count, into: buffer, isInterrupted: isInterrupted)
        }
    }

    /// The offset of the first data or hole at or after an offset; all of a file counts as data.
    func seek(_ node: Node, from offset: Int64, toData: Bool) throws(FileSystemError) -> Int64 {
        let size = try attributes(of: node).size
        guard offset >= 0, offset < size else { throw .beyondEnd }
        return toData ? offset : size
    }
}
