internal import CofferFacts
internal import CofferFormat
internal import CofferStore
internal import CofferSystem

// What changed of items that are there.
extension RemoteUpdate {
    /// Changes what facts spoke of, in an item that is there and in the copies by rule of it.
    func update(
        _ change: ItemChange, _ tree: FactTree<IndexFactStore>, _ state: VaultState
    ) throws(FileSystemError) {
        // A copy by rule that is stated: what it had from its item until now need not be among the facts about it.
        let attributes = change.attributes.contains(.kind) ? nil : change.attributes
        try update(change.item, attributes, tree, state)
        for copy in try storing({ () throws(StoreError) in try tree.store.copies(of: change.item) }) {
            let entry = try storing { () throws(StoreError) in try tree.store.entry(copy) }
            guard let entry else { continue }
            try update(entry.item, change.attributes.subtracting([.content]), tree, state)
        }
    }

    /// Changes all of an item that is there.
    func updateWhole(
        _ id: ItemID, _ tree: FactTree<IndexFactStore>, _ state: VaultState
    ) throws(FileSystemError) {
        try update(id, nil, tree, state)
    }

    private func update(
        _ id: ItemID, _ attributes: Set<ItemChange.Attribute>?, _ tree: FactTree<IndexFactStore>,
        _ state: VaultState
    ) throws(FileSystemError) {
        guard let row = try state.row(id, nil) else { return }
        let isDivided = attributes?.contains(.content) != false && isKeptHere(row)
        if row.links == 0 {
            // Its names were set aside.
            if isDivided { divided.insert(id) }
            return
        }
        guard let shown = try storing({ () throws(StoreError) in try tree.shownItem(id) }) else { return }
        guard FileType(mode: row.mode) == shown.kind.type else {
            return try replace(id, tree, state)
        }
        var item = try state.item(row.number)
        var other: Int64?
        if isDivided {
            item = try divide(item, tree, state)
            other = row.number
        } else if attributes?.contains(.content) != false, item.type == .regular,
            !item.row.unsent.contains(.content),
            vault.sink.withLock({ $0 != nil })
        {
            let names = try names(of: item, tree, state)
            if let content = growing[id], content == shown.content, !item.wasWrittenLately {
                // Who has it open sees what is added.
                changes += names.map { .growth(item: row.number, from: item.row.size, $0) }
            } else if names.count == Int(row.links) {
                item = try supersede(item, names, tree, state)
                changes.append(.nameless(item: row.number))
                other = row.number
            }
        }
        try update(item, to: shown, attributes, like: other, state)
        item.row.changed = Clock.fileTime
        state.touch(item, [])
        changedItems.insert(id)
    }

    /// The names of a file, as they were taken last, but for those that were set aside.
    private func names(
        of item: CachedItem, _ tree: FactTree<IndexFactStore>, _ state: VaultState
    ) throws(FileSystemError) -> [Vault.Name] {
        let id = item.row.id
        var names: [Vault.Name] = []
        for entry in try storing({ () throws(StoreError) in try tree.store.entries(of: id) }) {
            let taken = try storing { () throws(StoreError) in try tree.store.entry(entry)?.taken }
            guard let taken, let parent = try state.row(taken.place.parent, .directory) else { continue }
            let name = Vault.Name(taken.place.name.bytes, in: parent.number)
            let found = try storing { () throws(StoreError) in
                try state.index.entry(name.name, in: name.parent)
            }
            if found?.item == item.row.number { names.append(name) }
        }
        return names
    }

    /// Whether something was written to a file on this device that is in no commit, and must stay.
    ///
    /// Where this device can make commits, all was in one when the facts changed. What a program writes while names
    /// are changed in steps comes afterwards: what is applied does not know of it.
    func isKeptHere(_ row: ItemRow) -> Bool {
        FileType(mode: row.mode) == .regular && row.unsent.contains(.content)
            && !row.unsent.contains(.existence)
    }

    /// Makes what was written to a file on this device a file of its own, as its content changed elsewhere, too.
    ///
    /// - Returns: The new version of the file, which takes what comes.
    private func divide(
        _ item: CachedItem, _ tree: FactTree<IndexFactStore>, _ state: VaultState
    ) throws(FileSystemError) -> CachedItem {
        let names = try names(of: item, tree, state)
        guard let name = names.first, names.count == Int(item.row.links) else {
            throw .damaged(place: "the index, in which names of item \(item.row.id) are not the facts',")
        }
        let version = try supersede(item, names, tree, state)
        let parent = try state.peek(name.parent).id
        guard let entry = EntryName(name.name) else { throw .invalidArgument }
        keepHere(item, at: Place(parent: parent, name: entry), state)
        return version
    }

    /// Makes a file that has no name a file of its own, which gets a name once all that comes has its place.
    func keepHere(_ item: CachedItem, at place: Place, _ state: VaultState) {
        let names = local ?? LocalNames(of: vault)
        names.keep(item, at: place, state)
        local = names
    }

    /// Makes a new version of a file, so that who has the old one open keeps it.
    private func supersede(
        _ old: CachedItem, _ names: [Vault.Name], _ tree: FactTree<IndexFactStore>, _ state: VaultState
    ) throws(FileSystemError) -> CachedItem {
        let (id, number) = (old.row.id, old.row.number)
        let version = try vault.supersede(number, by: state.index.nextItemNumber(), names, state)
        try storing { () throws(StoreError) in try tree.store.setNumber(version.row.number, of: id) }
        changes += names.map { .entry($0) }
        return version
    }

    /// Has all names of an item lead to another, as it is not what it was: no honest device says that.
    private func replace(
        _ id: ItemID, _ tree: FactTree<IndexFactStore>, _ state: VaultState
    ) throws(FileSystemError) {
        for entry in try storing({ () throws(StoreError) in try tree.store.entries(of: id) }) {
            let entryState = try storing { () throws(StoreError) in try tree.store.entry(entry) }
            guard let taken = entryState?.taken, entryState?.showing == taken else { continue }
            pending[entry] = EntryChange(entry: entry, before: taken, after: taken)
            holders[taken.place] = entry
        }
    }

    /// Makes attributes of an item what they are shown as; what is unsent of it stays.
    ///
    /// - Parameters:
    ///   - attributes: Which; nil for all.
    ///   - other: The number of another file that may have extents of it.
    func update(
        _ item: CachedItem, to shown: ShownItem, _ attributes: Set<ItemChange.Attribute>?,
        like other: Int64? = nil, _ state: VaultState
    ) throws(FileSystemError) {
        func concerns(_ attribute: ItemChange.Attribute, _ aspect: ItemRow.Aspects) -> Bool {
            attributes?.contains(attribute) != false && item.row.unsent.isDisjoint(with: aspect)
        }
        if concerns(.content, .content), item.type == .regular {
            let target = ContentTarget(item: item, state: state, vault: vault, other: other)
            vault.readAhead.end(item.row.number)
            try participant.contents.apply(shown.content, to: target)
        }
        if item.row.unsent.isDisjoint(with: .attributes) {
            try updateAttributes(item, shown, attributes, state)
        }
        if concerns(.mode, .mode), let mode = shown.mode {
            // An access list changes with it, which is nothing to be sent.
            let unsent = item.row.unsent
            try vault.changeMode(of: item, to: UInt32(mode), state)
            item.row.unsent = unsent
        }
        if concerns(.modified, .times), let time = shown.modified { item.row.modified = time }
        item.row.unsent.remove(.existence)
    }

    private func updateAttributes(
        _ item: CachedItem, _ shown: ShownItem, _ attributes: Set<ItemChange.Attribute>?, _ state: VaultState
    ) throws(FileSystemError) {
        guard item.row.flags.contains(.hasAttributes) || !shown.extendedAttributes.isEmpty else { return }
        let number = item.row.number
        let unsent = item.row.unsent
        defer { item.row.unsent = unsent }
        // Looked up by name: a commit may bring very many.
        var old: [[UInt8]: [UInt8]] = [:]
        for (name, value) in try storing({ () throws(StoreError) in try state.index.attributes(of: number) })
        {
            old[name] = value
        }
        let names = Set(shown.extendedAttributes.map(\.name))
        func concerns(_ name: [UInt8]) -> Bool {
            guard ExtendedAttributeName.isSent(name) else { return false }
            return attributes?.contains(.extendedAttribute(name: name)) != false
        }
        let gone = old.keys.filter { concerns($0) && !names.contains($0) }
        for name in gone.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
            try vault.removeAttribute(name, of: item, state)
            old[name] = nil
        }
        try vault.setAttributesFromElsewhere(
            shown.extendedAttributes.filter { concerns($0.name) }, of: item, having: &old, state)
    }
}
