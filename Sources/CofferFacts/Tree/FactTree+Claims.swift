internal import CofferFormat

// Which places entries claim, from the facts about them and about the items that they lead to.
extension FactTree {
    /// The value of an entry's place that counts: the place with the highest stamp, or the highest removal if
    /// there is none.
    func placement(
        of entry: EntryID
    ) throws(Store.Failure) -> (placement: Fact.Placement, stamp: Stamp)? {
        var found: (placement: Fact.Placement, stamp: Stamp)?
        for value in try store.values(.place(entry)) {
            guard case .place(_, let placement) = value.assertion else { continue }
            if placement.place != nil || found?.placement.place == nil { found = (placement, value.stamp) }
        }
        return found
    }

    /// The kind of an item, by the highest stamp; nil if no fact states it.
    func kind(of item: ItemID) throws(Store.Failure) -> (kind: Fact.Kind, stamp: Stamp)? {
        if item == root { return (.directory, Self.noStamp) }
        guard let value = try store.values(.kind(item)).last, case .kind(_, let kind) = value.assertion else {
            return nil
        }
        return (kind, value.stamp)
    }

    static var noStamp: Stamp { Stamp(clock: 0, dot: Dot(log: LogID(low: 0, high: 0), sequence: 0)) }

    /// Determines what each of an item's entries claims.
    mutating func resolveClaims(of item: ItemID, _ pass: inout Pass) throws(Store.Failure) {
        let kind = try kind(of: item)
        var before = try store.item(item) ?? ItemState()
        var state = before
        state.kindStamp = kind?.stamp
        state.isDirectory = kind?.kind == .directory
        var claims: [(entry: EntryID, placement: Fact.Placement, stamp: Stamp)] = []
        let entries = try stated(store.entries(of: item))
        for entry in entries {
            if let value = try placement(of: entry) { claims.append((entry, value.placement, value.stamp)) }
        }
        let best = Self.best(claims)
        state.entry = state.isDirectory && item != root ? best?.entry : nil
        if let entry = before.entry, entry != state.entry {
            // This comes before the directories that were one with it are forgotten.
            try leave(entry, &pass)
            before.united = nil
            state.united = nil
        }
        if !state.isDirectory { state.level = .claimed }
        if state.isParent != before.isParent { pass.parents.insert(item) }
        if state != before { try store.setItem(state, item) }
        if state.isDirectory, item != root { pass.directories.insert(item) }

        var isKept = false
        if let best, best.placement.place == nil, kind != nil, !state.isDirectory {
            isKept = try hasUnseenContent(item, claims.map(\.entry))
        }
        let claimOf = Dictionary(claims.map { ($0.entry, $0) }, uniquingKeysWith: { first, _ in first })
        for id in entries {
            let claim = claimOf[id]
            let isBest = id == best?.entry
            var target = claim?.placement.place
            if kind == nil || item == root || (state.isDirectory && !isBest) { target = nil }
            if isBest, isKept { target = claim?.placement.previous }
            // A directory's place also depends on other directories: resolveCycles.
            try changeClaim(id, &pass) { entry in
                entry.stamp = claim?.stamp ?? entry.stamp
                entry.isDirectory = state.isDirectory
                entry.isLive = target != nil
                if !(state.isDirectory && isBest) { entry.target = target }
            }
        }
    }

    /// The entries that facts state, without copies by rule.
    private func stated(_ entries: [EntryID]) throws(Store.Failure) -> [EntryID] {
        var stated: [EntryID] = []
        for id in entries {
            if let state = try store.entry(id), state.copied == nil { stated.append(id) }
        }
        return stated
    }

    /// The entry with the highest place; if all are removals, the one with the highest removal.
    static func best(
        _ claims: [(entry: EntryID, placement: Fact.Placement, stamp: Stamp)]
    ) -> (entry: EntryID, placement: Fact.Placement, stamp: Stamp)? {
        claims.max { left, right in
            let leftIsPlace = left.placement.place != nil
            let rightIsPlace = right.placement.place != nil
            if leftIsPlace != rightIsPlace { return rightIsPlace }
            return (left.stamp, left.placement.rank, left.entry)
                < (right.stamp, right.placement.rank, right.entry)
        }
    }

    /// Whether a file without entries has a content that none of the removals had seen.
    private func hasUnseenContent(_ item: ItemID, _ entries: [EntryID]) throws(Store.Failure) -> Bool {
        var unseen = Set(try store.values(.content(item)).contents.map(\.stamp.dot))
        for entry in entries where !unseen.isEmpty {
            for value in try store.values(.place(entry)) {
                guard case .place(_, let placement) = value.assertion else { continue }
                unseen.subtract(placement.seenContents)
            }
        }
        return !unseen.isEmpty
    }

    /// Changes an entry's claim, and records what that affects.
    mutating func changeClaim(
        _ id: EntryID, _ pass: inout Pass, _ change: (inout EntryState) -> Void
    ) throws(Store.Failure) {
        guard let before = try store.entry(id) else { return }
        var state = before
        change(&state)
        state.place = try resolved(state.target)
        state.isActive = state.place != nil && (state.isLive || (state.isDirectory && before.isActive))
        if let parent = before.place?.parent { pass.holders.insert(parent) }
        if let parent = state.place?.parent { pass.holders.insert(parent) }
        if state.isDirectory { pass.holders.insert(state.item) }
        pass.restless.insert(id)
        if state != before { try store.setEntry(state, id) }
    }

    /// The claimed place, or a place in the root if its parent cannot hold entries.
    private func resolved(_ target: Place?) throws(Store.Failure) -> Place? {
        guard let target else { return nil }
        return try isParent(target.parent) ? target : Place(parent: root, name: target.name)
    }

    /// Whether an item can hold entries.
    func isParent(_ item: ItemID) throws(Store.Failure) -> Bool {
        item == root ? true : try store.item(item)?.isParent == true
    }
}

extension Fact.Placement {
    /// Orders the removals in one commit: that of an item's last name, which says what was seen, is the
    /// highest.
    var rank: Int { seenContents.isEmpty ? 0 : 1 }
}
