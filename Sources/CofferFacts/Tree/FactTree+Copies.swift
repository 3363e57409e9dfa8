package import CofferFormat

/// A content of an item, with all commits that stated it.
struct ContentChoice {
    /// The highest stamp of these commits.
    var stamp: Stamp
    var content: Fact.Content
    var dots: [Dot]
}

// Contents that lost and are shown as copies, and items as they are shown.
extension FactTree {
    /// The distinct contents of an item, the highest stamp first; the first one stays the item's.
    func contents(of item: ItemID) throws(Store.Failure) -> [ContentChoice] {
        ContentChoice.choices(try store.values(.content(item)), of: item)
    }

    /// Decides which contents of an item are shown as copies, and where.
    mutating func resolveCopies(of item: ItemID, _ pass: inout Pass) throws(Store.Failure) {
        let existing = try store.copies(of: item)
        let losers = try kind(of: item)?.kind == .file ? contents(of: item).dropFirst() : []
        guard !existing.isEmpty || !losers.isEmpty else { return }
        var shown: Set<EntryID> = []
        if let slot = try slotOfCopies(of: item) {
            for loser in losers {
                let source = CopySource(item: item, dot: loser.stamp.dot)
                let ids = source.ids
                // Facts about the copy override the rule.
                guard try store.values(.place(ids.entry)).isEmpty, try store.values(.kind(ids.item)).isEmpty
                else {
                    continue
                }
                shown.insert(ids.entry)
                var state =
                    try store.entry(ids.entry)
                    ?? EntryState(item: ids.item, stamp: loser.stamp, copied: source)
                let before = state.wanted
                let wanted = try conflictName(slot, loser.stamp)
                (state.item, state.stamp, state.copied, state.wanted) = (
                    ids.item, loser.stamp, source, wanted
                )
                try store.setEntry(state, ids.entry)
                if let before { pass.names.insert(before) }
                pass.names.insert(wanted)
                pass.unhashed.insert(ids.item)
            }
        }
        for copy in existing where !shown.contains(copy) { try forgetCopy(copy, &pass) }
    }

    /// Copies of an item lie in the slot of its entry with the lowest id.
    private func slotOfCopies(of item: ItemID) throws(Store.Failure) -> Place? {
        for id in try store.entries(of: item) {
            if let state = try store.entry(id), state.copied == nil, let slot = state.slot { return slot }
        }
        return nil
    }

    /// Hides a copy by rule.
    mutating func forgetCopy(_ id: EntryID, _ pass: inout Pass) throws(Store.Failure) {
        try giveName(of: nil, to: id, &pass)
    }

    /// Hides copies by rule that lead to an item that facts state; they reappear if necessary.
    mutating func forgetCopies(to item: ItemID, _ pass: inout Pass) throws(Store.Failure) {
        for id in try store.entries(of: item) {
            guard let copied = try store.entry(id)?.copied else { continue }
            try forgetCopy(id, &pass)
            pass.copies.insert(copied.item)
        }
    }

    /// The content that an item shows, and the commit that stated it; nil for a copy by rule.
    package func statedContent(of item: ItemID) throws(Store.Failure) -> (dot: Dot, content: Fact.Content)? {
        try contents(of: item).first.map { ($0.stamp.dot, $0.content) }
    }

    // MARK: What is shown

    /// An item as it is shown; nil if no fact states its kind.
    package func shownItem(_ id: ItemID) throws(Store.Failure) -> ShownItem? {
        for entry in try store.entries(of: id) {
            guard let state = try store.entry(entry), let source = state.copied, state.wanted != nil else {
                continue
            }
            let choice = try contents(of: source.item).first { $0.stamp == state.stamp }
            guard let choice, let original = try statedItem(source.item) else { return nil }
            return original.copy(choice.content, of: source.item)
        }
        return try statedItem(id)
    }

    /// An item as the facts about it state it.
    private func statedItem(_ id: ItemID) throws(Store.Failure) -> ShownItem? {
        guard let kind = try kind(of: id)?.kind else { return nil }
        var attributes: [ShownItem.ExtendedAttribute] = []
        for name in try store.extendedAttributes(of: id) {
            guard let last = try store.values(.extendedAttribute(id, name: name)).last,
                case .extendedAttribute(_, _, let value?) = last.assertion
            else { continue }
            attributes.append(.init(name: name, value: value))
        }
        let contents = try contents(of: id).map(\.content)
        var item = ShownItem(
            kind: kind, mode: nil, modified: nil, extendedAttributes: attributes, content: contents.first,
            otherContents: Array(contents.dropFirst()))
        if case .mode(_, let mode)? = try store.values(.mode(id)).last?.assertion { item.mode = mode }
        if case .modified(_, let time)? = try store.values(.modified(id)).last?.assertion {
            item.modified = time
        }
        return item
    }

    /// Shows an entry at a place, or not at all, and stores it.
    mutating func show(
        _ place: Place?, _ id: EntryID, _ state: inout EntryState, _ pass: inout Pass
    ) throws(Store.Failure) {
        let before = state.showing
        state.shown = place
        try save(state, id)
        guard before != state.showing else { return }
        var sum = try store.stateHash()
        if let before { sum.subtract(hashKey.hash(before)) }
        if let showing = state.showing { sum.add(hashKey.hash(showing)) }
        try store.setStateHash(sum)
        guard (before == nil) != (place == nil) else { return }
        var item = try store.item(state.item) ?? ItemState()
        item.shownEntries += place == nil ? -1 : 1
        try keep(item, state.item)
        pass.unhashed.insert(state.item)
    }

    /// Updates an item's part in the hash.
    mutating func rehash(_ id: ItemID) throws(Store.Failure) {
        var item = try store.item(id) ?? ItemState()
        var hash: StateHash?
        if item.shownEntries > 0 || id == root, let shown = try shownItem(id), id != root || !shown.isBare {
            hash = hashKey.hash(shown, id)
        }
        guard item.hash != hash else { return }
        var sum = try store.stateHash()
        if let before = item.hash { sum.subtract(before) }
        if let hash { sum.add(hash) }
        try store.setStateHash(sum)
        item.hash = hash
        try keep(item, id)
    }

    private mutating func keep(_ item: ItemState, _ id: ItemID) throws(Store.Failure) {
        try store.setItem(item == ItemState() ? nil : item, id)
    }
}

extension ContentChoice {
    /// The distinct contents of a register, the highest stamp first.
    static func choices(_ values: [RegisterValue], of item: ItemID) -> [ContentChoice] {
        // Usually there is only one value.
        if values.count == 1, case .content(_, let content?) = values[0].assertion {
            let stamp = values[0].stamp
            return [ContentChoice(stamp: stamp, content: content, dots: [stamp.dot])]
        }
        var choices: [ContentChoice] = []
        var indices: [Fact.Content: Int] = [:]
        var moved: [Dot: (stamp: Stamp, bytes: [UInt8])] = [:]
        for value in values.reversed() {
            if case .moved(_, let dot, let bytes) = value.assertion, moved[dot] == nil {
                moved[dot] = (value.stamp, bytes)
            }
            guard case .content(_, let content?) = value.assertion else { continue }
            // Equal contents of an item that are sealed for the same item are one content.
            var key = content
            key.origin = content.origin ?? item
            if let index = indices[key] {
                choices[index].dots.append(value.stamp.dot)
            } else {
                indices[key] = choices.count
                choices.append(ContentChoice(stamp: value.stamp, content: content, dots: [value.stamp.dot]))
            }
        }
        if moved.isEmpty { return choices }
        return choices.map { choice in
            var choice = choice
            let last = choice.dots.compactMap { moved[$0] }.max { $0.stamp < $1.stamp }
            if let last { choice.content.bytes = last.bytes }
            return choice
        }
    }
}
