internal import CofferFacts
internal import CofferFormat
internal import CofferStore
internal import CofferSystem

// Changes of existing items.
extension RemoteUpdate {
    /// Applies what changed in the facts to an existing item, and to its copies by rule.
    func update(
        _ change: ItemChange, _ tree: FactTree<IndexFactStore>, _ state: inout VaultState
    ) throws(FileSystemError) {
        // If the change states a copy by rule, it need not name the attributes that the copy had from its
        // item until now.
        let attributes = change.attributes.contains(.kind) ? nil : change.attributes
        try update(change.item, attributes, tree, &state)
        for copy in try tree.store.copies(of: change.item) {
            let entry = try tree.store.entry(copy)
            guard let entry else { continue }
            var attributes = change.attributes.subtracting([.content])
            if let source = entry.copied, !moved.contains(source) { attributes.remove(.place) }
            try update(entry.item, attributes, tree, &state)
        }
    }

    /// Applies all attributes to an existing item.
    func updateWhole(
        _ id: ItemID, _ tree: FactTree<IndexFactStore>, _ state: inout VaultState
    ) throws(FileSystemError) {
        try update(id, nil, tree, &state)
    }

    private func update(
        _ id: ItemID, _ attributes: Set<ItemChange.Attribute>?, _ tree: FactTree<IndexFactStore>,
        _ state: inout VaultState
    ) throws(FileSystemError) {
        guard let row = try state.row(id, nil) else { return }
        if attributes?.isEmpty == true { return }
        if let attributes, attributes.contains(.place), !attributes.contains(.content) {
            try move(row, tree, &state)
            if attributes == [.place] { return }
        }
        let isDivided = attributes?.contains(.content) != false && isKeptHere(row)
        if row.links == 0 {
            // Its names were set aside.
            if isDivided { divided.insert(id) }
            if attributes?.contains(.content) != false { unapplied.insert(id) }
            return
        }
        guard let shown = try tree.shownItem(id) else { return }
        guard FileType(mode: row.mode) == shown.kind.type else {
            return try replace(id, tree, &state)
        }
        var item = try state.tree.item(row.number)
        var other: Int64?
        if isDivided {
            item = try divide(item, tree, &state)
            other = row.number
        } else if attributes?.contains(.content) != false, item.type == .regular,
            !item.row.unsent.contains(.content),
            vault.sink.withLock({ $0 != nil })
        {
            let names = try names(of: item, tree, &state)
            if let content = growing[id], content == shown.content, !item.wasEndMovedLately {
                // Programs that have it open see the added bytes.
                let known = state.tree.growing[row.number]?.size ?? item.row.size
                state.tree.growing[row.number] = GrowingFile(size: known, names: names)
                changes += names.map { .growth(item: row.number, from: known, $0) }
            } else if names.count == Int(row.links) {
                item = try supersede(item, names, tree, &state)
                changes.append(.nameless(item: row.number))
                other = row.number
            }
        }
        try update(item, to: shown, attributes, like: other, &state)
        item.row.changed = Clock.fileTime
        state.tree.touch(item, [])
        changedItems.insert(id)
    }

    /// Records where the bytes of a file's content lie now.
    private func move(
        _ row: ItemRow, _ tree: FactTree<IndexFactStore>, _ state: inout VaultState
    ) throws(FileSystemError) {
        guard row.links > 0 else {
            // Its names were set aside.
            unapplied.insert(row.id)
            return
        }
        guard FileType(mode: row.mode) == .regular, let content = try tree.shownItem(row.id)?.content else {
            return
        }
        let item = try state.tree.item(row.number)
        let target = ContentTarget(item: item, vault: vault, other: nil)
        try participant.contents.move(content, of: target, &state)
    }

    /// The names of a file as they were last taken, except for those that were set aside.
    private func names(
        of item: CachedItem, _ tree: FactTree<IndexFactStore>, _ state: inout VaultState
    ) throws(FileSystemError) -> [Vault.Name] {
        let id = item.row.id
        var names: [Vault.Name] = []
        for entry in try tree.store.entries(of: id) {
            let taken = try tree.store.entry(entry)?.taken
            guard let taken, let parent = try state.row(taken.place.parent, .directory) else { continue }
            let name = Vault.Name(taken.place.name.bytes, in: parent.number)
            let found = try state.index.entry(name.name, in: name.parent)
            if found?.item == item.row.number { names.append(name) }
        }
        return names
    }

    /// Whether a file has content that was written on this device, is in no commit, and must stay.
    ///
    /// If this device can make commits, all content was in one when the facts changed. Programs may write
    /// more while names change in steps; the applied commits know nothing of that.
    func isKeptHere(_ row: ItemRow) -> Bool {
        FileType(mode: row.mode) == .regular && row.unsent.contains(.content)
            && !row.unsent.contains(.existence)
    }

    /// Turns what was written to a file on this device into a file of its own, because another device also
    /// changed the content.
    ///
    /// - Returns: The new version of the file, for the incoming content.
    private func divide(
        _ item: CachedItem, _ tree: FactTree<IndexFactStore>, _ state: inout VaultState
    ) throws(FileSystemError) -> CachedItem {
        let names = try names(of: item, tree, &state)
        guard let name = names.first, names.count == Int(item.row.links) else {
            throw .damaged(
                place: "the index, in which the names of item \(item.row.id) differ from the facts,")
        }
        let version = try supersede(item, names, tree, &state)
        let parent = try state.tree.peek(name.parent).id
        guard let entry = EntryName(name.name) else { throw .invalidArgument }
        try keepHere(item, at: Place(parent: parent, name: entry), &state)
        return version
    }

    /// Turns a file without a name into a file of its own; it gets a name once all incoming items are in
    /// place.
    func keepHere(_ item: CachedItem, at place: Place, _ state: inout VaultState) throws(FileSystemError) {
        let names = local ?? LocalNames(of: vault)
        try names.keep(item, at: place, &state)
        local = names
    }

    /// Creates a new version of a file, so that programs that have the old one open keep it.
    private func supersede(
        _ old: CachedItem, _ names: [Vault.Name], _ tree: FactTree<IndexFactStore>, _ state: inout VaultState
    ) throws(FileSystemError) -> CachedItem {
        let (id, number) = (old.row.id, old.row.number)
        let version = try state.supersede(number, by: state.index.nextItemNumber(), names)
        try tree.store.setNumber(version.row.number, of: id)
        for name in names { noteUnseen(name, leadingTo: version, &state) }
        changes += names.map { .entry($0) }
        return version
    }

    /// Makes all names of an item lead to a new one, because its type has changed: no honest device states
    /// that.
    private func replace(
        _ id: ItemID, _ tree: FactTree<IndexFactStore>, _ state: inout VaultState
    ) throws(FileSystemError) {
        for entry in try tree.store.entries(of: id) {
            let entryState = try tree.store.entry(entry)
            guard let taken = entryState?.taken, entryState?.showing == taken else { continue }
            pending[entry] = EntryChange(entry: entry, before: taken, after: taken)
            holders[taken.place] = entry
        }
    }

    /// Sets attributes of an item to what the facts show; its unsent changes stay.
    ///
    /// - Parameters:
    ///   - attributes: The attributes to set; nil for all.
    ///   - other: The number of another file that may have extents of it.
    func update(
        _ item: CachedItem, to shown: ShownItem, _ attributes: Set<ItemChange.Attribute>?,
        like other: Int64? = nil, _ state: inout VaultState
    ) throws(FileSystemError) {
        func concerns(_ attribute: ItemChange.Attribute, _ aspect: ItemRow.Aspects) -> Bool {
            attributes?.contains(attribute) != false && item.row.unsent.isDisjoint(with: aspect)
        }
        if concerns(.content, .content), item.type == .regular {
            let target = ContentTarget(item: item, vault: vault, other: other)
            vault.readAhead.end(item.row.number)
            try participant.contents.apply(shown.content, to: target, &state)
        }
        if item.row.unsent.isDisjoint(with: .attributes) {
            try updateAttributes(item, shown, attributes, &state)
        }
        if concerns(.mode, .mode), let mode = shown.mode {
            // An access list changes with the mode; that need not be sent.
            let unsent = item.row.unsent
            try state.tree.changeMode(of: item, to: UInt32(mode))
            item.row.unsent = unsent
        }
        if concerns(.modified, .times), let time = shown.modified { item.row.modified = time }
        item.row.unsent.remove(.existence)
    }

    private func updateAttributes(
        _ item: CachedItem, _ shown: ShownItem, _ attributes: Set<ItemChange.Attribute>?,
        _ state: inout VaultState
    ) throws(FileSystemError) {
        guard item.row.flags.contains(.hasAttributes) || !shown.extendedAttributes.isEmpty else { return }
        let number = item.row.number
        let unsent = item.row.unsent
        defer { item.row.unsent = unsent }
        // Looked up by name, as a commit may contain very many.
        var old: [[UInt8]: [UInt8]] = [:]
        for (name, value) in try state.index.attributes(of: number) {
            old[name] = value
        }
        let names = Set(shown.extendedAttributes.map(\.name))
        func concerns(_ name: [UInt8]) -> Bool {
            guard ExtendedAttributeName.isSent(name) else { return false }
            return attributes?.contains(.extendedAttribute(name: name)) != false
        }
        let gone = old.keys.filter { concerns($0) && !names.contains($0) }
        for name in gone.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
            try state.tree.removeAttribute(name, of: item)
            old[name] = nil
        }
        try state.tree.setAttributesFromElsewhere(
            shown.extendedAttributes.filter { concerns($0.name) }, of: item, having: &old)
    }
}
