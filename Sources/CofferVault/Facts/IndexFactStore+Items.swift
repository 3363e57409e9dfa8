package import CofferFacts
package import CofferFormat
package import CofferStore

// Items, and commits.
extension IndexFactStore {
    /// What was found out about an item; nil if nothing is known of it.
    package func item(_ id: ItemID) throws(StoreError) -> ItemState? { try cached(id).row.state }

    /// Keeps what was found out about an item; nil removes it.
    package func setItem(_ state: ItemState?, _ id: ItemID) throws(StoreError) {
        try bound()
        let item = try cached(id)
        guard item.row.state != state else { return }
        item.row.state = state
        if let state, state.level != .claimed { putBack.insert(id) } else { putBack.remove(id) }
        touch(item, id)
    }

    /// The directories that are shown as a part of this one.
    package func united(with item: ItemID) throws(StoreError) -> [ItemID] {
        try flushItems()
        return try read(index.factItems(unitedWith: item))
    }

    /// The directories that do not lie where facts say, as this would make a cycle; few.
    package func putBackDirectories() throws(StoreError) -> [ItemID] { putBack.sorted() }

    // MARK: Commits

    /// Which commits were applied.
    package func versions() -> VersionVector { vector }

    /// Notes that a commit was applied.
    package func setApplied(_ dot: Dot) throws(StoreError) {
        var log = logs[dot.log] ?? LogRow(id: dot.log)
        log.sequence = dot.sequence
        try put(log)
        vector[dot.log] = dot.sequence
    }

    /// What a log's owner calls the device, as in conflict names.
    package func label(of log: LogID) -> String? { logs[log]?.label }

    /// Keeps the label of a log.
    package func setLabel(_ label: String, of id: LogID) throws(StoreError) {
        var log = logs[id] ?? LogRow(id: id)
        log.label = label
        try put(log)
    }

    private func put(_ log: LogRow) throws(StoreError) {
        let before = logs[log.id]
        guard before != log else { return }
        try write(index.put(log, replacing: before))
        logs[log.id] = log
    }

    /// The highest clock of all commits that were applied.
    package func clock() -> UInt64 { highestClock }

    /// Keeps the highest clock.
    package func setClock(_ clock: UInt64) {
        isStateDirty = isStateDirty || clock != highestClock
        highestClock = clock
    }

    /// The hash of what is shown.
    package func stateHash() -> StateHash { hash }

    /// Keeps the hash of what is shown.
    package func setStateHash(_ hash: StateHash) {
        isStateDirty = isStateDirty || hash != self.hash
        self.hash = hash
    }
}
