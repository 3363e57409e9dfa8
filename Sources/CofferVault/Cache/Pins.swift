package import CofferFormat
internal import CofferStore
internal import CofferSystem

// Contents that stay on this device, whatever the cache limit.
//
// An item is pinned: a file, or a directory with everything in it. The pinned files are found by walking the
// pinned directories, each time they are needed.
extension Cache {
    /// The number of names and rows that are read while the lock is held.
    private static let pageCount = 256

    /// How much content some files have, and how much of that is on this device.
    package struct ContentUse: Sendable, Equatable {
        /// The number of files.
        package var files = 0
        /// The number of bytes that are not holes.
        package var bytes: Int64 = 0
        /// The number of those bytes that are only on the remote.
        package var missing: Int64 = 0
    }

    // MARK: Pinned items

    /// Keeps the contents of items, and of everything in them, on this device from now on.
    ///
    /// The pins are on disk when this returns. The caller fetches missing contents with `fetchContents`.
    ///
    /// - Throws: `.notSupported` in a vault that never had a remote, where nothing can be missing.
    package func pin(_ numbers: [Int64]) throws(FileSystemError) {
        try changePins(adding: numbers, removing: [])
        // An eviction that is under way may include some of them; later ones do not.
        try vault.evicting.withLock { _ throws(FileSystemError) in try notePinned() }
    }

    /// Unpins items, so that their contents may be evicted where there is a limit; on disk when this returns.
    ///
    /// - Returns: The items that were not pinned themselves.
    package func unpin(_ numbers: [Int64]) throws(FileSystemError) -> [Int64] {
        let pinned = Set(try pinnedItems())
        try changePins(adding: [], removing: Set(numbers))
        // An eviction that is under way still counts them as pinned.
        try vault.evicting.withLock { _ throws(FileSystemError) in
            try notePinned()
            vault.cacheLimit.withLock { $0.isCounted = false }
        }
        vault.upkeep.noteUpkeep(isUrgent: false)
        return numbers.filter { !pinned.contains($0) }
    }

    private func changePins(adding: [Int64], removing: Set<Int64>) throws(FileSystemError) {
        let rows = try pinRows()
        try vault.changing { state throws(FileSystemError) in
            guard state.tree.isTracking else { throw .notSupported }
            if adding.isEmpty {
                // This frees space.
                state.tree.removes = true
            } else {
                try state.space.ensure(for: 4096 + 64 * adding.count)
            }
            var changes: [KeptChange] = []
            for number in adding { changes.append(KeptChange(try Self.pinKey(number, &state), [])) }
            for row in rows where try Self.item(row, &state).map({ removing.contains($0) }) ?? true {
                changes.append(KeptChange(row.key, nil))
            }
            try state.tree.keep(changes)
        }
        vault.cacheLimit.withLock { $0.pinnedUse.forget() }
        try vault.commitIndex()
    }

    /// The pinned items that still exist.
    package func pinnedItems() throws(FileSystemError) -> [Int64] {
        let rows = try pinRows()
        if rows.isEmpty { return [] }
        return try vault.reading { state throws(FileSystemError) in
            var numbers: Set<Int64> = []
            for row in rows {
                if let number = try Self.item(row, &state) { numbers.insert(number) }
            }
            return numbers.sorted()
        }
    }

    private func pinRows() throws(FileSystemError) -> [KeptRow] {
        var rows: [KeptRow] = []
        while true {
            let page = try vault.reading { state throws(FileSystemError) in
                guard state.tree.isTracking else { return [KeptRow]() }
                return try state.index.keptRows(
                    .pin ... .pin, after: rows.last?.key, limit: Self.pageCount)
            }
            rows += page
            if page.count < Self.pageCount { return rows }
        }
    }

    private static func pinKey(_ number: Int64, _ state: inout VaultState) throws(FileSystemError)
        -> KeptRow.Key
    {
        KeptRow.Key(
            .pin, id: try state.tree.peek(number).id.bytes, number: UInt64(bitPattern: number))
    }

    /// The item of a row; nil if it no longer exists.
    private static func item(_ row: KeptRow, _ state: inout VaultState) throws(FileSystemError) -> Int64? {
        let number = Int64(bitPattern: row.key.number)
        if let item = try state.tree.row(number), item.links > 0, item.id.bytes == row.key.id {
            return number
        }
        // A version from another device has another number.
        guard let id = ItemID(bytes: row.key.id) else { return nil }
        let version =
            if let facts = state.facts { try facts.number(of: id) } else {
                try state.index.factItem(id)?.row.number
            }
        guard let version, let item = try state.tree.row(version), item.links > 0, item.id == id else {
            return nil
        }
        return version
    }

    /// The files whose contents are not evicted: pinned ones, and those in pinned directories.
    package func pinnedFiles() throws(FileSystemError) -> Set<Int64> {
        let items = try pinnedItems()
        return items.isEmpty ? [] : try vault.files(below: items)
    }

    /// Visits the ranges of a file, some at a time; a file that does not exist any more has none.
    func forEachPage(
        of file: Int64, _ body: ([ExtentRow]) throws(FileSystemError) -> Void
    ) throws(FileSystemError) {
        var offset: Int64 = -1
        while !vault.upkeep.isStopped {
            let page = try vault.reading { state throws(FileSystemError) in
                try state.index.extents(after: file, offset, limit: Self.pageCount)
            }
            let rows = page.filter { $0.item == file }
            if !rows.isEmpty { try body(rows) }
            guard rows.count == Self.pageCount, let last = rows.last else { return }
            offset = last.offset
        }
    }

    /// How much content files have.
    package func contentUse(of files: some Sequence<Int64>) throws(FileSystemError) -> ContentUse {
        var use = ContentUse()
        for file in files {
            use.files += 1
            try forEachPage(of: file) { rows in
                for row in rows {
                    use.bytes += row.length
                    if row.place == .remote { use.missing += row.length }
                }
            }
        }
        return use
    }

    // MARK: Fetching

    /// The result of fetching pinned contents.
    package enum PinnedFetch: Sendable {
        /// The vault has not changed since all of them were on this device.
        case unchanged
        /// All of them are on this device, as of this change.
        case complete(asOf: Int64)
        /// It was stopped before it was complete.
        case interrupted
        case failed(FileSystemError)
    }

    /// Whether anything may be pinned; looks only in memory.
    package var mayHavePins: Bool { vault.cacheLimit.withLock { $0.hasPins != false } }

    /// Fetches the missing contents of everything pinned.
    ///
    /// - Parameters:
    ///   - change: The change that the last call returned, if it completed.
    ///   - isWanted: Whether to continue.
    package func fetchPinned(since change: Int64?, while isWanted: () -> Bool) -> PinnedFetch {
        do throws(FileSystemError) {
            let now = vault.state.withLock { $0.index.base.commits }
            if vault.isReadOnly || now == change { return .unchanged }
            try notePinned()
            let files = vault.cacheLimit.withLock { $0.pinned }
            return try fetchContents(of: files, while: isWanted) ? .complete(asOf: now) : .interrupted
        } catch {
            return .failed(error)
        }
    }

    /// Fetches the missing contents of files, as reading them would.
    ///
    /// Waits for the remote, and takes the lock only briefly. A damaged file does not hold up the others.
    ///
    /// - Parameters:
    ///   - isWanted: Whether to continue; called after each MiB.
    ///   - progress: Called with the number of bytes fetched, and the total.
    /// - Returns: Whether it was completed.
    /// - Throws: `.unreachable`, `.timedOut`, `.damaged`, `.notArrived`, `.keyMissing` for contents that
    ///   cannot be fetched; `.noSpace` if the disk has no room for them, in which case nothing more is
    ///   fetched.
    package func fetchContents(
        of files: some Sequence<Int64>, while isWanted: () -> Bool = { true },
        _ progress: (Int64, Int64) -> Void = { _, _ in }
    ) throws(FileSystemError) -> Bool {
        var wanted: [Int64] = []
        var total: Int64 = 0
        for file in files {
            let missing = try contentUse(of: [file]).missing
            guard missing > 0 else { continue }
            wanted.append(file)
            total += missing
        }
        guard total > 0 else { return true }
        try ensureRoom(for: total)
        let buffer = AlignedBuffer(count: ExtentLayout.byteCountMax)
        var (done, failure) = (Int64(0), FileSystemError?.none)
        for file in wanted {
            do throws(FileSystemError) {
                try forEachPage(of: file) { rows throws(FileSystemError) in
                    for row in rows where row.place == .remote {
                        guard isWanted(), !vault.upkeep.isStopped else { return }
                        try fetch(row.offset..<row.end, of: file, into: buffer)
                        done = min(total, done + row.length)
                        progress(done, total)
                    }
                }
            } catch {
                switch error {
                case .damaged, .notArrived, .keyMissing: failure = failure ?? error
                default: throw error
                }
            }
            guard isWanted(), !vault.upkeep.isStopped else { return false }
        }
        vault.remoteReads.waitUntilStored()
        // An extent that two files share is stored for the file that it was fetched for; the other file
        // fetches it again.
        vault.remoteReads.letGo()
        if let failure { throw failure }
        let left = try contentUse(of: wanted).missing
        if left == 0 { return true }
        guard left < total else {
            try ensureRoom(for: left)
            throw .unreachable(reason: "it changes faster than it can be fetched")
        }
        return try fetchContents(of: wanted, while: isWanted, progress)
    }

    /// The number of bytes that stay free on the disk when contents are fetched.
    private static let spareByteCount = 64 << 20

    private func ensureRoom(for byteCount: Int64) throws(FileSystemError) {
        guard Int64(try vault.contents.space().available) > byteCount + Int64(Self.spareByteCount) else {
            throw .noSpace
        }
    }
}
