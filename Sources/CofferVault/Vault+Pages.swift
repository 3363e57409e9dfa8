internal import CofferFormat
internal import CofferStore
internal import CofferSystem

// Operations that need pages of the index that are not in memory (docs/adr/0042-absent-pages.md).
extension Vault {
    /// How often an operation is tried before it waits for pages under the vault's lock.
    ///
    /// A listing reads up to 128 rows, each of which may need a page; and others may push pages out of memory again.
    private static let tryCountMax = 512
    /// For how many items `bringPagesOfCommit` keeps the lock.
    private static let commitSliceCount = 128

    /// Runs an operation; while the disk is slow, without waiting for it under the vault's lock.
    ///
    /// Where the operation needs a page that is not in memory, it fails before it has changed anything. This thread then
    /// brings the page and runs the operation again, or throws `.pageAbsent` if it leaves waiting to others.
    ///
    /// - Parameter operation: Passes its argument on to `reading` or `changing`, and may run any number of times.
    func bringingPages<Result>(
        _ operation: (_ failsForAbsentPages: Bool) throws(FileSystemError) -> Result
    ) throws(FileSystemError) -> Result {
        var tries = 0
        while pace.isSlow, tries < Self.tryCountMax {
            let page: AbsentPage
            do throws(FileSystemError) {
                return try operation(true)
            } catch {
                guard case .pageAbsent(let absent) = error, !LeavingWaits.isOn else { throw error }
                page = absent
            }
            tries += 1
            let start = Clock.monotonic
            do throws(SystemError) { try page.bring() } catch { throw .system(error) }
            pace.note(since: start)
        }
        return try operation(false)
    }

    /// Runs an operation that changes nothing, as `bringingPages` does.
    func looking<Result>(
        _ body: (inout VaultState) throws(FileSystemError) -> Result
    ) throws(FileSystemError) -> Result {
        try bringingPages { fails throws(FileSystemError) in
            try reading(failsForAbsentPages: fails, body)
        }
    }

    /// Brings what a commit will change into memory, so that it need not wait under the lock.
    ///
    /// Takes the lock for some items at a time. What it cannot read, the commit finds out.
    func bringPagesOfCommit() {
        guard pace.isSlow else { return }
        let numbers = state.withLock { $0.tree.dirtyItems.sorted() }
        for start in stride(from: 0, to: numbers.count, by: Self.commitSliceCount) {
            try? looking { state throws(FileSystemError) in
                // A new item has no row yet, but its place is found.
                for number in numbers[start..<min(start + Self.commitSliceCount, numbers.count)] {
                    _ = try state.index.item(number)
                }
            }
        }
        try? looking { state throws(FileSystemError) in
            _ = try state.index.packs()
            _ = try state.index.orphans()
            // The place of new contents.
            _ = try state.index.content(.max)
        }
    }

    /// Runs an operation that changes an item, as `bringingPages` does.
    ///
    /// - Parameters:
    ///   - prepare: Looks at what the change will need, beside the item.
    ///   - body: Is not interrupted for pages that are absent nevertheless.
    func changingItem<Result>(
        _ number: Int64, prepare: (inout VaultState) throws(FileSystemError) -> Void = { _ in },
        _ body: (inout VaultState) throws(FileSystemError) -> Result
    ) throws(FileSystemError) -> Result {
        try bringingPages { fails throws(FileSystemError) in
            try changing(failsForAbsentPages: fails) { state throws(FileSystemError) in
                if fails {
                    _ = try state.tree.row(number)
                    try prepare(&state)
                    state.index.failsForAbsentPages = false
                }
                return try body(&state)
            }
        }
    }
}

extension VaultState {
    /// Looks at what `erase` will need.
    func prepareErasure(of row: ItemRow) throws(FileSystemError) {
        _ = try index.item(row.number)
        if row.allocated > 0 { try prepareRemoval(of: row.number, 0..<Int64.max) }
        if row.flags.contains(.hasAttributes) { _ = try index.attributes(of: row.number) }
        if row.flags.contains(.hasPages) { _ = try index.pages(of: row.number) }
    }

    /// Looks at what removing a range of an item's content will need.
    func prepareRemoval(of number: Int64, _ range: Range<Int64>) throws(FileSystemError) {
        for row in try index.extents(of: number, overlapping: range) {
            if row.remote != 0 {
                _ = try index.remoteExtent(row.remote)
                _ = try rows(ofExtent: row)
            }
            if case .row(let content) = row.place { _ = try index.content(content) }
        }
    }
}
