internal import CofferFormat
internal import CofferSystem
internal import CofferVault
internal import Glibc

/// The whole mount as one tree: the vaults' directories below a root.
///
/// Each operation passes a node to its vault. Requests about the root alone are answered here; those about the past of
/// vaults and about the trash, by `past` and `trash`.
struct FileSystem: Sendable {
    let root: any VaultDirectory
    /// Whether the mount option noatime or nodiratime keeps access times unchanged.
    let keepsAccessTimes: Bool
    /// The past states that programs look at.
    let past: PastTrees
    /// The trash of all vaults.
    let trash: TrashFolder

    /// The vault of a node.
    ///
    /// - Throws: `.readOnly` for a node of the past, so that whatever would change it is refused.
    func vault(_ node: Node) throws(FileSystemError) -> Vault {
        guard !node.isRoot, !node.isTrash else { throw .notPermitted }
        if isPast(node) { throw .readOnly }
        guard let mounted = root.vault(slot: node.slot) else { throw .stale }
        return mounted.vault
    }

    private func vaultNode(_ mounted: MountedVault) -> Node {
        Node(slot: mounted.slot, item: Vault.rootNumber)
    }

    private var rootAttributes: Attributes {
        Attributes(
            root: UInt32(root.vaults.count), user: root.owner.user, group: root.owner.group,
            changed: root.changed)
    }

    func attributes(of node: Node) throws(FileSystemError) -> Attributes {
        if isPast(node) { return try past.attributes(of: node) }
        if node.isTrash { return try trash.attributes(of: node) }
        return node.isRoot ? rootAttributes : try vault(node).attributes(of: node.item)
    }

    func lookup(_ name: [UInt8], in parent: Node) throws(FileSystemError) -> (Node, Attributes) {
        if parent.isRoot {
            if name == [46] || name == [46, 46] { return (.root, rootAttributes) }
            guard name.count <= Vault.nameByteCountMax else { throw .nameTooLong }
            guard let mounted = root.vault(named: name) else {
                guard name == trash.name else { throw .notFound }
                return (.trash, try trash.attributes(of: .trash))
            }
            return (vaultNode(mounted), try mounted.vault.attributes(of: Vault.rootNumber))
        }
        if isPast(parent) { return try past.lookup(name, in: parent) }
        if name == [46, 46], parent.item == Vault.rootNumber { return (.root, rootAttributes) }
        // Not what the vault has under that name: another member may have put it there.
        if let hidden = try hidden(name, in: parent) { return hidden }
        let attributes = try vault(parent).lookup(name, in: parent.item)
        return (Node(slot: parent.slot, item: attributes.number), attributes)
    }

    func create(
        _ item: Vault.NewItem, named name: [UInt8], in parent: Node, by caller: Caller
    ) throws(FileSystemError) -> (Node, Attributes) {
        if parent.isRoot {
            guard root.vault(named: name) == nil, name != trash.name else { throw .alreadyExists }
            guard FileType(mode: item.mode) == .directory else { throw .notPermitted }
            // Desktops make .Trash-1000, .xdp-…, and the like in any file system, and do not want a vault.
            guard name.first != UInt8(ascii: ".") else { throw .accessDenied }
            let mounted = try root.createVault(named: name, by: caller)
            var changes = AttributeChanges()
            changes.mode = item.mode & ModeBits.permissions & ~caller.umask
            return (vaultNode(mounted), try mounted.vault.setAttributes(of: Vault.rootNumber, changes))
        }
        if parent.isTrash { return try trash.create(item, named: name, in: parent) }
        if try hidden(name, in: parent) != nil { throw .alreadyExists }
        let attributes = try vault(parent).create(item, named: name, in: parent.item, by: caller)
        return (Node(slot: parent.slot, item: attributes.number), attributes)
    }

    func link(_ node: Node, as name: [UInt8], in parent: Node) throws(FileSystemError) -> Attributes {
        if parent.isRoot { throw .notPermitted }
        if parent.isTrash { throw .crossVault }
        let vault = try vault(parent)
        guard node.slot == parent.slot else { throw .crossVault }
        if try hidden(name, in: parent) != nil { throw .alreadyExists }
        return try vault.link(node.item, as: name, in: parent.item)
    }

    /// - Returns: The number of an item that this left without a name.
    func unlink(_ name: [UInt8], in parent: Node) throws(FileSystemError) -> Int64? {
        if parent.isRoot {
            throw root.vault(named: name) == nil && name != trash.name ? .notFound : .isDirectory
        }
        if parent.isTrash {
            try trash.unlink(name, in: parent)
            return nil
        }
        try checkNotHidden(name, in: parent)
        let (number, isLast) = try vault(parent).unlink(name, in: parent.item)
        return isLast ? number : nil
    }

    func removeDirectory(_ name: [UInt8], in parent: Node) throws(FileSystemError) {
        if parent.isTrash { return try trash.removeDirectory(name, in: parent) }
        guard parent.isRoot else {
            try checkNotHidden(name, in: parent)
            _ = try vault(parent).removeDirectory(name, in: parent.item)
            return
        }
        guard let mounted = root.vault(named: name) else {
            throw name == trash.name ? .notPermitted : .notFound
        }
        // The serving thread does not wait for requests that read the past: the next one will find the vault gone.
        try past.withoutViews(of: mounted.slot, awaiting: 0) { () throws(FileSystemError) in
            try root.removeEmptyVault(named: name)
        }
    }

    /// - Returns: The number of an item that this left without a name.
    func rename(
        _ name: [UInt8], in parent: Node, to newName: [UInt8], in newParent: Node, _ mode: Vault.RenameMode
    ) throws(FileSystemError) -> Int64? {
        if parent.isTrash || newParent.isTrash {
            if isPast(parent) || isPast(newParent) { throw .readOnly }
            try checkNotHidden(name, in: parent)
            try checkNotHidden(newName, in: newParent)
            try trash.rename(name, in: parent, to: newName, in: newParent, mode)
            return nil
        }
        guard parent.slot == newParent.slot else { throw .crossVault }
        if !parent.isRoot {
            if isPast(newParent) { throw .readOnly }
            try checkNotHidden(name, in: parent)
            try checkNotHidden(newName, in: newParent)
            return try vault(parent).rename(name, in: parent.item, to: newName, in: newParent.item, mode)
        }
        if mode == .exchange { throw .notSupported }
        if root.vault(named: name) == nil, name == trash.name { throw .notPermitted }
        if root.vault(named: newName) != nil, name != newName { throw .alreadyExists }
        guard newName.first != UInt8(ascii: ".") || name == newName else { throw .accessDenied }
        try root.renameVault(name, to: newName)
        return nil
    }

    func readDirectory(
        _ node: Node, after cookie: Int64, limit: Int, attributes: Bool
    ) throws(FileSystemError) -> [(entry: Vault.Entry, node: Node)] {
        if node.isRoot { return try readRoot(after: cookie, attributes: attributes) }
        if isPast(node) { return try past.readDirectory(node, after: cookie, limit: limit) }
        if node.isTrash { return try trash.readDirectory(node, after: cookie, limit: limit) }
        let entries = try vault(node).readDirectory(
            node.item, after: cookie, limit: limit, attributes: attributes)
        return entries.map { entry in
            let isAboveVault = node.item == Vault.rootNumber && entry.name == [46, 46]
            return (entry, isAboveVault ? .root : Node(slot: node.slot, item: entry.item))
        }
    }

    /// The cookie that the next new entry of a directory gets, or a greater one.
    func nextCookie(in node: Node) throws(FileSystemError) -> Int64 {
        node.isRoot || node.isTrash || isPast(node) ? .max : try vault(node).nextCookie
    }

    /// The cookies of the root's entries, after 1 and 2 for "." and "..", are the slots plus 2.
    private func readRoot(
        after cookie: Int64, attributes: Bool
    ) throws(FileSystemError) -> [(entry: Vault.Entry, node: Node)] {
        let type = FileType.directory.rawValue
        var entries: [(entry: Vault.Entry, node: Node)] = []
        for (position, name) in [[46], [46, 46]].enumerated() where cookie <= position {
            let entry = Vault.Entry(
                name: name.map { UInt8($0) }, item: 1, type: type, cookie: Int64(position + 1),
                attributes: nil)
            entries.append((entry, .root))
        }
        for mounted in root.vaults where Int64(mounted.slot) + 2 > cookie {
            let entry = Vault.Entry(
                name: Array(mounted.name.utf8), item: Vault.rootNumber, type: type,
                cookie: Int64(mounted.slot) + 2,
                attributes: attributes ? try mounted.vault.attributes(of: Vault.rootNumber) : nil)
            entries.append((entry, vaultNode(mounted)))
        }
        return entries
    }

    /// The free space as any vault sees it, since all vaults are on one disk.
    func space() throws(FileSystemError) -> StorageSpace {
        guard let mounted = root.vaults.first else {
            return StorageSpace(total: 0, free: 0, available: 0, files: 0, freeFiles: 0)
        }
        return try mounted.vault.contents.space()
    }

    /// Commits all vaults, for fsync(2) on the root.
    func commitAll() throws(FileSystemError) {
        for mounted in root.vaults { try mounted.vault.commit() }
    }
}
