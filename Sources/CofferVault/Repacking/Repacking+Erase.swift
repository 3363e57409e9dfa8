internal import CofferFormat
internal import CofferStore
internal import CofferSystem

// Removing large items that have no name and are not used any more.
extension Repacking {
    /// The number of ranges that are removed from an item at a time.
    private static let sliceRowCount = 256

    /// Removes an item of any size without blocking other operations for long: some ranges at a time, each
    /// with a commit.
    ///
    /// If the vault is closed before that is done, the next mount continues.
    func eraseInSlices(_ number: Int64) throws(FileSystemError) {
        var isDone = false
        while !isDone, !vault.upkeep.isStopped {
            isDone = try vault.changingItem(
                number,
                prepare: { state throws(FileSystemError) in
                    let rows = try state.index.extents(after: number, -1, limit: Self.sliceRowCount)
                    guard let last = rows.last(where: { $0.item == number }) else { return }
                    try state.prepareRemoval(of: number, 0..<last.end)
                }
            ) { state throws(FileSystemError) in
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
