internal import CofferFormat

/// What one pass of the evaluation has still to look at.
struct Pass {
    /// Items of which facts spoke, with what they spoke of.
    private(set) var attributes: [ItemID: Set<ItemChange.Attribute>] = [:]
    /// Items of whose content facts spoke.
    private(set) var contents: Set<ItemID> = []
    /// Entries of which facts spoke.
    private(set) var entries: Set<EntryID> = []
    /// Items whose entries may claim something else.
    var items: Set<ItemID> = []
    /// Directories whose place may be another.
    var directories: Set<ItemID> = []
    /// Items that became directories with a place, or are none any more.
    var parents: Set<ItemID> = []
    /// Directories in which something came or went.
    var holders: Set<ItemID> = []
    /// Entries whose slot may be another.
    var restless: Set<EntryID> = []
    /// Directories whose children are to leave their slots, as it is shown as a part of another than before.
    var leaving: [ItemID] = []
    /// Slots that somebody left.
    var vacated: Set<Place> = []
    /// Who is to enter a slot, and which slots are to be looked at, by depth.
    var levels = Levels()
    /// How deep directories lie, once no place changes any more.
    var depths: [ItemID: Int] = [:]
    /// Items whose copies by rule may be others.
    var copies: Set<ItemID> = []
    /// Names by rule, without numbers, that may have other numbers.
    var names: Set<Place> = []
    /// Items that may add something else to the hash.
    var unhashed: Set<ItemID> = []
    /// Entries of which it was said where they are: as they are shown, or as the user wants it.
    var stated: Set<EntryID> = []
    /// Directories to be stated if they are shown although they were removed.
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

    /// What facts spoke of, in the order of the items.
    var changes: [ItemChange] {
        attributes.sorted { $0.key < $1.key }.map { ItemChange(item: $0.key, attributes: $0.value) }
    }
}

extension FactTree {
    /// Entries that are looked at together.
    static var pageCount: Int { 256 }
    /// More names and copies than these are not put off to the end of a pass.
    private static var openCountMax: Int { 4096 }

    /// Brings the items that touched entries lead to, or led to, up to date.
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

    /// Whether facts say where an item is: then its content has no part in that.
    private func hasPlace(_ item: ItemID) throws(Store.Failure) -> Bool {
        for entry in try store.entries(of: item) where try placement(of: entry)?.placement.place != nil {
            return true
        }
        return false
    }

    /// From new values of registers to what is shown: claims, directories, slots, names, hashes.
    ///
    /// Each step rests on the ones before alone, and slots on those of directories less deep; so nothing that is
    /// settled is looked at again, and a pass ends whatever facts say.
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

    /// Brings up to date what items add to the hash; in a commit that is being made, each once at its end.
    private mutating func rehash(_ pass: inout Pass) throws(Store.Failure) {
        if pending != nil {
            pending?.unhashed.formUnion(pass.unhashed)
        } else {
            for item in pass.unhashed.sorted() { try rehash(item) }
        }
        pass.unhashed.removeAll()
    }

    /// Decides about copies, numbers and hashes, if there is much to decide: what changes again later is put right
    /// then.
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
