package import CofferFacts
package import CofferFormat
internal import CofferStore

// Items, and commits.
extension IndexFactStore {
    /// The state of an item; nil if the item is unknown.
    package func item(_ id: ItemID) throws(FileSystemError) -> ItemState? { try cached(id).row.state }

    /// Stores the state of an item; nil removes it.
    package func setItem(_ state: ItemState?, _ id: ItemID) throws(FileSystemError) {
        try bound()
        let item = try cached(id)
        guard item.row.state != state else { return }
        item.row.state = state
        if let state, state.level != .claimed { putBack.insert(id) } else { putBack.remove(id) }
        touch(item, id)
    }

    /// The directories that are shown as part of this one.
    package func united(with item: ItemID) throws(FileSystemError) -> [ItemID] {
        try flushItems()
        return try read(index.factItems(unitedWith: item))
    }

    /// The directories that were put back because their stated places would form a cycle; few.
    package func putBackDirectories() throws(FileSystemError) -> [ItemID] { putBack.sorted() }

    // MARK: Commits

    /// The commits that were applied.
    package func versions() -> VersionVector { vector }

    /// Records that a commit was applied.
    package func setApplied(_ dot: Dot) throws(FileSystemError) {
        var log = logs[dot.log] ?? LogRow(id: dot.log)
        log.sequence = dot.sequence
        try put(log)
        vector[dot.log] = dot.sequence
    }

    /// The label that a log's owner gave the device, used in conflict names.
    package func label(of log: LogID) -> String? { logs[log]?.label }

    /// Stores the label of a log.
    package func setLabel(_ label: String, of id: LogID) throws(FileSystemError) {
        var log = logs[id] ?? LogRow(id: id)
        log.label = label
        try put(log)
    }

    private func put(_ log: LogRow) throws(FileSystemError) {
        let before = logs[log.id]
        guard before != log else { return }
        try write(index.put(log, replacing: before))
        logs[log.id] = log
    }

    /// The highest clock of all applied commits.
    package func clock() -> UInt64 { highestClock }

    /// Stores the highest clock.
    package func setClock(_ clock: UInt64) {
        isStateDirty = isStateDirty || clock != highestClock
        highestClock = clock
    }

    /// The hash of what is shown.
    package func stateHash() -> StateHash { hash }

    /// Stores the hash of what is shown.
    package func setStateHash(_ hash: StateHash) {
        isStateDirty = isStateDirty || hash != self.hash
        self.hash = hash
    }
}
