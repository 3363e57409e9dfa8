internal import CofferFormat
internal import CofferStore
internal import CofferSystem

// Removing items that have no name and are not used any more, in the background.
extension Repacking {
    /// The number of ranges that are removed from an item at a time.
    private static let sliceRowCount = 256

    /// Removes an item of any size without blocking other operations for long: some ranges at a time, each but
    /// the last ones with a commit.
    ///
    /// If the vault is closed before that is done, the next mount continues.
    func eraseInSlices(_ number: Int64) throws(FileSystemError) {
        while !vault.upkeep.isStopped, try eraseSlice(of: number) {
            try vault.commitIndex()
            try vault.moveLog()
            vault.upkeep.pause()
        }
    }

    /// Removes some ranges of an item; the item itself with the last ones.
    ///
    /// - Returns: Whether there is more.
    private func eraseSlice(of number: Int64) throws(FileSystemError) -> Bool {
        /// The next ranges; nil if these are the last.
        func slice(_ state: borrowing VaultState) throws(FileSystemError) -> Range<Int64>? {
            let rows = try state.index.extents(after: number, -1, limit: Self.sliceRowCount + 1)
                .filter { $0.item == number }
            return rows.count > Self.sliceRowCount ? 0..<rows[Self.sliceRowCount - 1].end : nil
        }
        return try vault.changingItem(
            number,
            prepare: { state throws(FileSystemError) in
                if let range = try slice(state) {
                    try state.prepareRemoval(of: number, range)
                } else if let row = try state.tree.row(number) {
                    try state.prepareErasure(of: row)
                }
            }
        ) { state throws(FileSystemError) in
            guard state.tree.orphans.contains(number) else { return false }
            let item = try state.tree.item(number)
            guard let range = try slice(state) else {
                try state.erase(item)
                return false
            }
            try state.removeContent(of: item, range)
            state.tree.removes = true
            state.tree.touch(item, [])
            return true
        }
    }
}
