internal import CofferFormat
internal import CofferSystem
internal import CofferVault

// The folder's answers to requests, which `FileSystem` passes on.
extension TrashFolder {
    // MARK: Reading

    func attributes(of node: Node) throws(FileSystemError) -> Attributes {
        if let item = node.infoItem { return try infoAttributes(item, in: node.slot) }
        if node.isDraft { return try drafts.attributes(of: node) }
        // The time is always new, so the kernel reads a listing again.
        var attributes = Attributes(
            root: node == .trash ? UInt32(Part.allCases.count) : 0, user: root.owner.user,
            group: root.owner.group, changed: Clock.realTime)
        attributes.number = node.item
        attributes.mode = FileType.directory.modeBits | 0o700
        return attributes
    }

    func lookup(_ name: [UInt8], in parent: Node) throws(FileSystemError) -> (Node, Attributes) {
        if let node = try ownNode(named: name, in: parent) { return (node, try attributes(of: node)) }
        guard let part = Part(parent) else { throw .notFound }
        let found = try find(name, part)
        if part != .info { return (found.node, found.attributes) }
        let node = Node.info(of: found.attributes.number, in: found.mounted.slot)
        return (node, try attributes(of: node))
    }

    /// A directory of the folder, or a draft; nil if a name leads to neither.
    private func ownNode(named name: [UInt8], in parent: Node) throws(FileSystemError) -> Node? {
        guard parent == .trash || Part(parent) != nil else { throw .notDirectory }
        if name == [46] { return parent }
        if name == [46, 46] { return parent == .trash ? .root : .trash }
        return parent == .trash
            ? Part(named: name)?.node : parent == .trashInfos ? drafts.node(named: name) : nil
    }

    /// The bits of a cookie that a vault's own cookies take.
    private static let cookieBits: Int64 = 47

    /// As `FileSystem.readDirectory`, without attributes.
    ///
    /// A cookie has the slot of a vault in its upper bits, and the vault's own cookie below. Slot 0 has the rest.
    func readDirectory(
        _ node: Node, after cookie: Int64, limit: Int
    ) throws(FileSystemError) -> [(entry: Vault.Entry, node: Node)] {
        let part = Part(node)
        guard node == .trash || part != nil else { throw .notDirectory }
        var own: [([UInt8], Node, FileType)] = [
            ([46], node, .directory), ([46, 46], node == .trash ? .root : .trash, .directory),
        ]
        if node == .trash {
            own += Part.allCases.map { ($0.name, $0.node, .directory) }
        }
        var entries = own.enumerated().map { position, entry in
            let (name, node, type) = entry
            return self.entry(name, node, type.rawValue, Int64(position + 1))
        }
        if node == .trashInfos {
            entries += drafts.names.map { name, node in
                entry(name, node, FileType.regular.rawValue, node.item)
            }
        }
        entries.removeAll { $0.entry.cookie <= cookie }
        guard let part else { return entries }
        let places = places()
        for place in places {
            let first = Int64(place.slot) << Self.cookieBits
            guard cookie < first + (1 << Self.cookieBits) - 1, entries.count < limit else { continue }
            // A vault that cannot be read leaves the others to see.
            let found = try? self.entries(
                part, of: place, among: places, after: max(0, cookie - first), limit: limit - entries.count)
            entries += (found ?? []).map { entry in
                let node =
                    part == .info
                    ? .info(of: entry.item, in: place.slot) : Node(slot: place.slot, item: entry.item)
                return self.entry(entry.name, node, entry.type, first + entry.cookie)
            }
        }
        return Array(entries.prefix(limit))
    }

    private func entry(
        _ name: [UInt8], _ node: Node, _ type: UInt8, _ cookie: Int64
    ) -> (entry: Vault.Entry, node: Node) {
        (Vault.Entry(name: name, item: node.item, type: type, cookie: cookie, attributes: nil), node)
    }

    /// Bytes of an info file.
    func read(_ node: Node, at offset: Int64, count: Int) throws(FileSystemError) -> [UInt8] {
        let text =
            if let item = node.infoItem { try infoText(item, in: node.slot) } else {
                try drafts.text(of: node)
            }
        guard offset < text.count else { return [] }
        return Array(text[Int(offset)...].prefix(count))
    }

    /// The next data or hole; an info file is all data.
    func seek(_ node: Node, from offset: Int64, toData: Bool) throws(FileSystemError) -> Int64 {
        let size = try attributes(of: node).size
        guard offset < size else { throw .beyondEnd }
        return toData ? offset : size
    }

    // MARK: Changing

    func create(
        _ item: Vault.NewItem, named name: [UInt8], in parent: Node
    ) throws(FileSystemError) -> (Node, Attributes) {
        guard name.count <= Vault.nameByteCountMax else { throw .nameTooLong }
        if parent == .trash, Part(named: name) != nil { throw .alreadyExists }
        guard parent == .trashInfos, FileType(mode: item.mode) == .regular else { throw .notPermitted }
        if let base = Self.base(name, .info) { try checkFree(base, .info) }
        let node = try drafts.make(name, mode: item.mode)
        return (node, try drafts.attributes(of: node))
    }

    func setAttributes(of node: Node, _ changes: AttributeChanges) throws(FileSystemError) -> Attributes {
        let present = try attributes(of: node)
        if node.isDraft { return try drafts.set(changes, of: node) }
        // Programs set the rights of directories that they take for their own.
        guard changes.mode.map({ $0 & ModeBits.permissions == present.mode & ModeBits.permissions }) ?? true,
            changes.user ?? present.user == present.user, changes.group ?? present.group == present.group,
            changes.size == nil
        else { throw .notPermitted }
        return present
    }

    func write(_ bytes: [UInt8], to node: Node, at offset: Int64) throws(FileSystemError) {
        guard node.isDraft else { throw .accessDenied }
        try drafts.write(bytes, to: node, at: offset)
    }

    func unlink(_ name: [UInt8], in parent: Node) throws(FileSystemError) {
        guard let part = Part(parent) else {
            _ = try lookup(name, in: parent)
            throw .isDirectory
        }
        if part == .info, drafts.remove(name, isKnown: { notifier.isKnown($0) }) { return }
        let found = try find(name, part)
        let vault = found.mounted.vault
        // Another member can have put anything in the place of an info file.
        let (number, isLast) =
            if part == .info, found.attributes.type == .directory {
                (try vault.removeDirectory(found.name, in: found.directory), true)
            } else {
                try vault.unlink(found.name, in: found.directory)
            }
        forget(found.name, in: found.directory, of: found.mounted)
        if isLast { notifier.enqueueAtOnce(.nameless(item: number), in: vault, found.mounted.slot) }
    }

    func removeDirectory(_ name: [UInt8], in parent: Node) throws(FileSystemError) {
        guard let part = Part(parent), part != .info else {
            _ = try lookup(name, in: parent)
            throw parent == .trash ? .notPermitted : .notDirectory
        }
        let found = try find(name, part)
        try found.mounted.vault.removeDirectory(found.name, in: found.directory)
        forget(found.name, in: found.directory, of: found.mounted)
    }
}
