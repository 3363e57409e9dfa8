internal import CofferFormat
internal import CofferStore
internal import CofferSystem

// Removing items that have no name and are not used any more.
extension Contents {
    /// Items with more content than this are removed in the background.
    static let eraseAtOnceMax: Int64 = 64 << 20
    /// The number of ranges that are removed from such an item at a time.
    private static let sliceRowCount = 256

    /// Records that an item is not used any more; removes it if it has no name.
    package func release(_ number: Int64) {
        let needsUpkeep = vault.state.withLock { state in
            guard state.tree.orphans.contains(number), let item = try? state.tree.item(number) else {
                return false
            }
            state.noticeRollback()
            if state.stopped != nil { return false }
            if item.row.allocated > Self.eraseAtOnceMax { return true }
            do throws(FileSystemError) {
                try state.erase(item)
                vault.upkeep.note(changes: state.changeCount)
            } catch {
                state.stopped =
                    state.stopped ?? "an item without a name could not be removed (\(error.summary))"
                state.noticeRollback()
                vault.problems.add("An item without a name could not be removed: \(error.summary)")
            }
            return false
        }
        if needsUpkeep { vault.upkeep.release(number) }
    }

    /// Removes an item of any size without blocking other operations for long: some ranges at a time, each
    /// with a commit.
    ///
    /// If the vault is closed before that is done, the next mount continues.
    func eraseInSlices(_ number: Int64) throws(FileSystemError) {
        var isDone = false
        while !isDone, !vault.upkeep.isStopped {
            isDone = try vault.changing { state throws(FileSystemError) in
                guard state.tree.orphans.contains(number) else { return true }
                let item = try state.tree.item(number)
                let rows = try state.index.extents(after: number, -1, limit: Self.sliceRowCount)
                guard let last = rows.last(where: { $0.item == number }) else {
                    try state.erase(item)
                    return true
                }
                try state.removeContent(of: item, 0..<last.end)
                state.tree.removes = true
                state.tree.touch(item, [])
                return false
            }
            try vault.commitIndex()
            try vault.moveLog()
            vault.upkeep.pause()
        }
    }
}

extension VaultState {
    /// Removes an item with its content and attributes.
    mutating func erase(_ item: CachedItem) throws(FileSystemError) {
        readAhead.end(item.row.number)
        if item.row.allocated > 0 {
            try removeContent(of: item, 0..<Int64.max)
        }
        if item.row.flags.contains(.hasAttributes) {
            for (name, value) in try index.attributes(of: item.row.number) {
                try index.removeAttribute(name, of: item.row.number, value: value)
            }
        }
        if item.row.flags.contains(.hasPages) { try forgetPages(of: item) }
        try tree.erase(item)
        fragmented.remove(item.row.number)
    }
}
