internal import CofferFormat
internal import CofferStore
internal import CofferSystem

// Contents that stay on this device, whatever the cache limit.
//
// A pin is of an item: of a file, or of a directory with all that is in it. Which files that makes is found by going
// through the directories, whenever somebody has to know.
extension Vault {
    /// Names that are read, and rows, while the lock is held.
    private static let pageCount = 256

    /// How much content files have, and how much of it is on this device.
    package struct ContentUse: Sendable, Equatable {
        /// How many files.
        package var files = 0
        /// Bytes that are not holes.
        package var bytes: Int64 = 0
        /// Those of them that are on the remote only.
        package var missing: Int64 = 0
    }

    // MARK: What is pinned

    /// Keeps the contents of items, and of all that is in them, on this device from now on.
    ///
    /// On disk when this returns. What is missing is fetched by whoever calls `fetchContents`.
    ///
    /// - Throws: `.notSupported` in a vault that never had a remote, where nothing can be missing.
    package func pin(_ numbers: [Int64]) throws(FileSystemError) {
        try changePins(adding: numbers, removing: [])
        // What is given up at this moment may be among it; nothing of it is from now on.
        try evicting.withLock { _ throws(FileSystemError) in try notePinned() }
    }

    /// Lets the contents of items go again where there is a limit; on disk when this returns.
    ///
    /// - Returns: Those of them that were not pinned themselves.
    package func unpin(_ numbers: [Int64]) throws(FileSystemError) -> [Int64] {
        let pinned = Set(try pinnedItems())
        try changePins(adding: [], removing: Set(numbers))
        // What is given up at this moment counts with what was pinned.
        try evicting.withLock { _ throws(FileSystemError) in
            try notePinned()
            cache.withLock { $0.isCounted = false }
        }
        upkeep.noteUpkeep(isUrgent: false)
        return numbers.filter { !pinned.contains($0) }
    }

    private func changePins(adding: [Int64], removing: Set<Int64>) throws(FileSystemError) {
        let rows = try pinRows()
        try changing { state throws(FileSystemError) in
            guard state.isTracking else { throw .notSupported }
            if adding.isEmpty {
                // It makes room.
                state.removes = true
            } else {
                try ensureSpace(for: 4096 + 64 * adding.count, state)
            }
            var changes: [KeptChange] = []
            for number in adding { changes.append(KeptChange(try Self.pinKey(number, state), [])) }
            for row in rows where try Self.item(row, state).map({ removing.contains($0) }) ?? true {
                changes.append(KeptChange(row.key, nil))
            }
            try state.keep(changes)
        }
        cache.withLock { $0.pinnedUse.forget() }
        try commitIndex()
    }

    /// Items that are pinned and still there.
    package func pinnedItems() throws(FileSystemError) -> [Int64] {
        let rows = try pinRows()
        if rows.isEmpty { return [] }
        return try reading { state throws(FileSystemError) in
            var numbers: Set<Int64> = []
            for row in rows {
                if let number = try Self.item(row, state) { numbers.insert(number) }
            }
            return numbers.sorted()
        }
    }

    private func pinRows() throws(FileSystemError) -> [KeptRow] {
        var rows: [KeptRow] = []
        while true {
            let page = try reading { state throws(FileSystemError) in
                guard state.isTracking else { return [KeptRow]() }
                return try storing { () throws(StoreError) in
                    try state.index.keptRows(
                        .pin ... .pin, after: rows.last?.key, limit: Self.pageCount)
                }
            }
            rows += page
            if page.count < Self.pageCount { return rows }
        }
    }

    private static func pinKey(_ number: Int64, _ state: VaultState) throws(FileSystemError) -> KeptRow.Key {
        KeptRow.Key(
            .pin, id: try state.peek(number).id.bytes, number: UInt64(bitPattern: number))
    }

    /// The item of a row; nil where it is gone.
    private static func item(_ row: KeptRow, _ state: VaultState) throws(FileSystemError) -> Int64? {
        let number = Int64(bitPattern: row.key.number)
        if let item = try state.row(number), item.links > 0, item.id.bytes == row.key.id { return number }
        // A version that came from elsewhere has another number.
        guard let id = ItemID(bytes: row.key.id) else { return nil }
        let version = try storing { () throws(StoreError) in
            if let facts = state.facts { return try facts.number(of: id) }
            return try state.index.factItem(id)?.row.number
        }
        guard let version, let item = try state.row(version), item.links > 0, item.id == id else {
            return nil
        }
        return version
    }

    // MARK: Files

    /// The number of what a path in the vault leads to; symbolic links are not followed.
    ///
    /// - Throws: `.notFound`, `.notDirectory`, `.nameTooLong`.
    package func number(atPath path: [UInt8]) throws(FileSystemError) -> Int64 {
        var number = Self.rootNumber
        for name in path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: true) {
            number = try lookup(Array(name), in: number).number
        }
        return number
    }

    /// Regular files among items, and in those of them that are directories.
    ///
    /// Takes the lock for moments only; what is moved meanwhile may be left out.
    package func files(below numbers: [Int64]) throws(FileSystemError) -> Set<Int64> {
        var files: Set<Int64> = []
        var directories: [Int64] = []
        for number in numbers {
            switch try reading({ state throws(FileSystemError) in try state.row(number) }).flatMap({
                FileType(mode: $0.mode)
            }) {
            case .regular: files.insert(number)
            case .directory: directories.append(number)
            default: continue
            }
        }
        while let directory = directories.popLast(), !upkeep.isStopped {
            var cookie: Int64 = 2
            while true {
                let page = try entries(of: directory, after: cookie)
                for entry in page {
                    switch FileType(rawValue: entry.type) {
                    case .regular: files.insert(entry.item)
                    case .directory: directories.append(entry.item)
                    default: continue
                    }
                }
                guard page.count == Self.pageCount, let last = page.last else { break }
                cookie = last.cookie
            }
        }
        return files
    }

    /// Names of a directory; none where it was removed meanwhile.
    private func entries(of directory: Int64, after cookie: Int64) throws(FileSystemError) -> [Entry] {
        do throws(FileSystemError) {
            return try readDirectory(directory, after: cookie, limit: Self.pageCount, attributes: false)
        } catch {
            switch error {
            case .stale, .notDirectory: return []
            default: throw error
            }
        }
    }

    /// Files whose contents stay: pinned, or in a directory that is.
    package func pinnedFiles() throws(FileSystemError) -> Set<Int64> {
        let items = try pinnedItems()
        return items.isEmpty ? [] : try files(below: items)
    }

    /// Goes through the ranges of a file, some at a time; a file that is gone has none.
    func forEachPage(
        of file: Int64, _ body: ([ExtentRow]) throws(FileSystemError) -> Void
    ) throws(FileSystemError) {
        var offset: Int64 = -1
        while !upkeep.isStopped {
            let page = try reading { state throws(FileSystemError) in
                try storing { () throws(StoreError) in
                    try state.index.extents(after: file, offset, limit: Self.pageCount)
                }
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

    /// What came of fetching pinned contents.
    package enum PinnedFetch: Sendable {
        /// Nothing was changed in the vault since all of them were here.
        case unchanged
        /// All of them are here; says as of which change.
        case complete(asOf: Int64)
        /// It was to end.
        case interrupted
        case failed(FileSystemError)
    }

    /// Whether something may be pinned; asks nobody.
    package var mayHavePins: Bool { cache.withLock { $0.hasPins != false } }

    /// Fetches what is missing of all that is pinned.
    ///
    /// - Parameters:
    ///   - change: What the last call said, if that was complete.
    ///   - isWanted: Whether to go on.
    package func fetchPinned(since change: Int64?, while isWanted: () -> Bool) -> PinnedFetch {
        do throws(FileSystemError) {
            let now = state.withLock { $0.index.base.commits }
            if isReadOnly || now == change { return .unchanged }
            try notePinned()
            let files = cache.withLock { $0.pinned }
            return try fetchContents(of: files, while: isWanted) ? .complete(asOf: now) : .interrupted
        } catch {
            return .failed(error)
        }
    }

    /// Fetches what is missing of files, as if they were read.
    ///
    /// Waits for the remote, and takes the lock for moments only. What is damaged keeps no other file waiting.
    ///
    /// - Parameters:
    ///   - isWanted: Whether to go on; asked after each MiB.
    ///   - progress: Told how many bytes are done, and of how many.
    /// - Returns: Whether it came to its end.
    /// - Throws: `.unreachable`, `.timedOut`, `.damaged`, `.notArrived`, `.keyMissing` for what cannot be fetched;
    ///   `.noSpace` where it could be, and there is no room for it: then nothing more is fetched.
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
                        guard isWanted(), !upkeep.isStopped else { return }
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
            guard isWanted(), !upkeep.isStopped else { return false }
        }
        remoteReads.waitUntilStored()
        // What two files share is stored for the one that it was fetched for; the other one comes for it anew.
        remoteReads.letGo()
        if let failure { throw failure }
        let left = try contentUse(of: wanted).missing
        if left == 0 { return true }
        guard left < total else {
            try ensureRoom(for: left)
            throw .unreachable(reason: "it changes faster than it is fetched")
        }
        return try fetchContents(of: wanted, while: isWanted, progress)
    }

    /// Bytes that stay free on the disk when contents are fetched.
    private static let spareByteCount = 64 << 20

    private func ensureRoom(for byteCount: Int64) throws(FileSystemError) {
        guard Int64(try space().available) > byteCount + Int64(Self.spareByteCount) else { throw .noSpace }
    }
}
