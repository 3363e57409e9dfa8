internal import CofferFormat
internal import CofferStore
internal import CofferSystem

// Removing items that have no name and are not used any more.
extension Vault {
    /// Items with more content than this are removed in the background.
    static let eraseAtOnceMax: Int64 = 64 << 20

    /// Records that an item is not used any more; removes it if it has no name.
    package func release(_ number: Int64) {
        let needsUpkeep = state.withLock { state in
            guard state.tree.orphans.contains(number), let item = try? state.tree.item(number) else {
                return false
            }
            state.noticeRollback()
            if state.stopped != nil { return false }
            if item.row.allocated > Self.eraseAtOnceMax { return true }
            let index = state.index
            index.failsForAbsentPages = pace.isSlow
            defer { index.failsForAbsentPages = false }
            do throws(FileSystemError) {
                if index.failsForAbsentPages {
                    try state.prepareRemoval(of: number, 0..<Int64.max)
                    index.failsForAbsentPages = false
                }
                try state.erase(item)
                upkeep.note(changes: state.changeCount)
            } catch {
                if case .pageAbsent = error { return true }
                state.stopped =
                    state.stopped ?? "an item without a name could not be removed (\(error.summary))"
                state.noticeRollback()
                problems.add("An item without a name could not be removed: \(error.summary)")
            }
            return false
        }
        if needsUpkeep { upkeep.release(number) }
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
