internal import CofferFormat

/// The work that one pass of the evaluation still has to do.
struct Pass {
    /// Items about which facts were stated, with the attributes.
    private(set) var attributes: [ItemID: Set<ItemChange.Attribute>] = [:]
    /// Items about whose content facts were stated.
    private(set) var contents: Set<ItemID> = []
    /// Entries about which facts were stated.
    private(set) var entries: Set<EntryID> = []
    /// Items whose entries may claim other places.
    var items: Set<ItemID> = []
    /// Directories whose place may change.
    var directories: Set<ItemID> = []
    /// Items that became directories with a place, or ceased to be.
    var parents: Set<ItemID> = []
    /// Directories that entries came into or left.
    var holders: Set<ItemID> = []
    /// Entries whose slot may change.
    var restless: Set<EntryID> = []
    /// Directories that are now shown as part of another one than before, so that their children must leave
    /// their slots.
    var leaving: [ItemID] = []
    /// Slots that entries left.
    var vacated: Set<Place> = []
    /// Entries that will enter a slot, and slots to resolve, by depth.
    var levels = Levels()
    /// The depths of directories, once no place changes any more.
    var depths: [ItemID: Int] = [:]
    /// Items whose copies by rule may change.
    var copies: Set<ItemID> = []
    /// Names by rule, without numbers, whose numbering may change.
    var names: Set<Place> = []
    /// Items whose part in the hash may change.
    var unhashed: Set<ItemID> = []
    /// Entries whose place was stated: as it is shown, or as the user wants it.
    var stated: Set<EntryID> = []
    /// Directories to state if they are shown although they were removed.
    var unstated: [ItemID] = []

    /// Notes what a register's new values may change.
    mutating func touch(_ register: Register) {
        switch register {
        case .mode(let item): attributes[item, default: []].insert(.mode)
        case .modified(let item): attributes[item, default: []].insert(.modified)
        case .extendedAttribute(let item, let name):
            attributes[item, default: []].insert(.extendedAttribute(name: name))
        case .kind(let item):
            attributes[item, default: []].insert(.kind)
            items.insert(item)
        case .content(let item):
            attributes[item, default: []].insert(.content)
            contents.insert(item)
        case .place(let entry): entries.insert(entry)
        }
    }

    /// Notes that the bytes of a content lie elsewhere.
    mutating func move(_ item: ItemID) { attributes[item, default: []].insert(.place) }

    /// The changes that facts stated, in the order of the items.
    var changes: [ItemChange] {
        attributes.sorted { $0.key < $1.key }.map { ItemChange(item: $0.key, attributes: $0.value) }
    }
}

extension FactTree {
    /// The number of entries that are examined together.
    static var pageCount: Int { 256 }
    /// The number of names and copies from which they are handled before the end of a pass.
    private static var openCountMax: Int { 4096 }

    /// Updates the items that touched entries lead to, or led to.
    private mutating func resolveEntries(_ pass: inout Pass) throws(Store.Failure) {
        for id in pass.entries.sorted() {
            if let state = try store.entry(id) {
                if let copied = state.copied {
                    try forgetCopy(id, &pass)
                    pass.copies.insert(copied.item)
                }
                pass.items.insert(state.item)
            }
            guard let value = try placement(of: id) else { continue }
            if let state = try store.entry(id), state.item != value.placement.item {
                try leave(id, &pass)
            }
            var state = try store.entry(id) ?? EntryState(item: value.placement.item, stamp: value.stamp)
            if state.item != value.placement.item { try show(nil, id, &state, &pass) }
            state.item = value.placement.item
            state.copied = nil
            try store.setEntry(state, id)
            pass.items.insert(state.item)
        }
    }

    /// Whether facts state a place of an item; its content then does not affect its claims.
    private func hasPlace(_ item: ItemID) throws(Store.Failure) -> Bool {
        for entry in try store.entries(of: item) where try placement(of: entry)?.placement.place != nil {
            return true
        }
        return false
    }

    /// Turns new values of registers into what is shown: claims, directories, slots, names, hashes.
    ///
    /// Each step depends only on the steps before it, and slots only on those of directories higher up. So a
    /// pass never returns to anything settled, and ends whatever the facts state.
    mutating func evaluate(_ pass: inout Pass) throws(Store.Failure) {
        try resolveEntries(&pass)
        for item in pass.contents where try !hasPlace(item) { pass.items.insert(item) }
        let items = pass.items.sorted()
        for item in items { try forgetCopies(to: item, &pass) }
        for item in items { try resolveClaims(of: item, &pass) }
        try resolveParents(&pass)
        try resolveCycles(&pass)
        try resolveHolders(&pass)
        try leaveSlots(&pass)
        try enterSlots(&pass)
        pass.copies.formUnion(pass.items)
        pass.copies.formUnion(pass.attributes.keys)
        pass.unhashed.formUnion(pass.copies)
        try finishNames(&pass)
        try rehash(&pass)
    }

    /// Updates the parts of items in the hash; in a pending commit, each once at its end.
    private mutating func rehash(_ pass: inout Pass) throws(Store.Failure) {
        if pending != nil {
            pending?.unhashed.formUnion(pass.unhashed)
        } else {
            for item in pass.unhashed.sorted() { try rehash(item) }
        }
        pass.unhashed.removeAll()
    }

    /// Handles copies, numbers, and hashes early if there are many; a later change of one is corrected then.
    mutating func finishNamesIfMany(_ pass: inout Pass) throws(Store.Failure) {
        guard pass.copies.count + pass.names.count + pass.unhashed.count > Self.openCountMax else { return }
        try finishNames(&pass)
        try rehash(&pass)
    }

    private mutating func finishNames(_ pass: inout Pass) throws(Store.Failure) {
        let items = pass.copies.sorted()
        pass.copies.removeAll()
        for item in items { try resolveCopies(of: item, &pass) }
        let names = pass.names.sorted()
        pass.names.removeAll()
        for name in names { try number(name, &pass) }
    }
}
