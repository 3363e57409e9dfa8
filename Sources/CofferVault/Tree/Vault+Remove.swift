package import CofferFormat
internal import CofferStore
internal import CofferSystem

// Removing names.
extension Vault {
    /// Items with more content than this are removed in the background.
    static let eraseAtOnceMax: Int64 = 64 << 20
    /// The number of ranges that are removed from such an item at a time.
    private static let sliceRowCount = 256

    /// Removes a name; the item is removed once it is not used any more.
    ///
    /// Behaves like unlink(2).
    ///
    /// - Returns: The item's number, and whether this was its last name.
    @discardableResult
    package func unlink(
        _ name: [UInt8], in parent: Int64
    ) throws(FileSystemError) -> (number: Int64, isLast: Bool) {
        try changingNames { state throws(FileSystemError) in
            let directory = try state.directory(parent)
            guard
                let entry = try state.index.entry(name, in: parent)
            else { throw .notFound }
            let item = try state.item(entry.item)
            guard item.type != .directory else { throw .isDirectory }
            try Self.checkCount(of: item)
            let time = Clock.fileTime
            try state.index.remove(entry)
            self.stamp(directory, time, state)
            self.dropName(of: item, time, state)
            try state.noteRemoved(name, in: directory)
            return (entry.item, item.row.links == 0)
        }
    }

    /// Removes an empty directory.
    ///
    /// Behaves like rmdir(2).
    ///
    /// - Throws: `.directoryNotEmpty`, `.notDirectory`, `.notFound`, `.invalidArgument` for ".".
    @discardableResult
    package func removeDirectory(_ name: [UInt8], in parent: Int64) throws(FileSystemError) -> Int64 {
        if name == [46] { throw .invalidArgument }
        if name == [46, 46] { throw .directoryNotEmpty }
        return try changingNames { state throws(FileSystemError) in
            let directory = try state.directory(parent)
            guard
                let entry = try state.index.entry(name, in: parent)
            else { throw .notFound }
            let item = try state.item(entry.item)
            guard item.type == .directory else { throw .notDirectory }
            guard try state.index.isEmpty(entry.item) else {
                throw .directoryNotEmpty
            }
            try Self.checkCount(of: directory)
            let time = Clock.fileTime
            try state.index.remove(entry)
            directory.row.links -= 1
            self.stamp(directory, time, state)
            self.dropDirectory(item, time, state)
            try state.noteRemoved(name, in: directory)
            return entry.item
        }
    }

    /// Checks that the count of an item's names, or of a directory's directories, can be decremented: a page
    /// from an older state of the index may say otherwise.
    static func checkCount(of item: CachedItem) throws(FileSystemError) {
        // The name of a directory and its "." make two.
        guard item.row.links > (item.type == .directory ? 2 : 0) else {
            throw .damaged(place: "the number of names of item \(item.row.number)")
        }
    }

    /// Decrements the number of names of an item.
    func dropName(of item: CachedItem, _ time: Int64, _ state: VaultState) {
        item.row.links -= 1
        item.row.changed = time
        state.removes = true
        state.touch(item, item.row.links == 0 ? .existence : [])
        if item.row.links == 0 { state.orphans.insert(item.row.number) }
    }

    /// Marks an empty directory as removed.
    func dropDirectory(_ item: CachedItem, _ time: Int64, _ state: VaultState) {
        item.row.links = 0
        item.row.changed = time
        state.removes = true
        state.touch(item, .existence)
        state.orphans.insert(item.row.number)
    }

    /// Records that an item is not used any more; removes it if it has no name.
    package func release(_ number: Int64) {
        let needsUpkeep = state.withLock { state in
            guard state.orphans.contains(number), let item = try? state.item(number) else { return false }
            state.noticeRollback()
            if state.stopped != nil { return false }
            if item.row.allocated > Self.eraseAtOnceMax { return true }
            do throws(FileSystemError) {
                try erase(item, state)
                upkeep.note(changes: state.changeCount)
            } catch {
                state.stopped =
                    state.stopped ?? "an item without a name could not be removed (\(error.summary))"
                state.noticeRollback()
                problems.add("An item without a name could not be removed: \(error.summary)")
            }
            return false
        }
        if needsUpkeep { upkeep.release(number) }
    }

    /// Removes an item with its content and attributes.
    func erase(_ item: CachedItem, _ state: VaultState) throws(FileSystemError) {
        readAhead.end(item.row.number)
        if item.row.allocated > 0 {
            try removeContent(of: item, 0..<Int64.max, state)
        }
        if item.row.flags.contains(.hasAttributes) {
            for (name, value) in try state.index.attributes(of: item.row.number) {
                try state.index.removeAttribute(name, of: item.row.number, value: value)
            }
        }
        if item.row.flags.contains(.hasPages) { try forgetPages(of: item, state) }
        try state.erase(item)
    }

    /// Removes an item of any size without blocking other operations for long: some ranges at a time, each
    /// with a commit.
    ///
    /// If the vault is closed before that is done, the next mount continues.
    func eraseInSlices(_ number: Int64) throws(FileSystemError) {
        var isDone = false
        while !isDone, !upkeep.isStopped {
            isDone = try changing { state throws(FileSystemError) in
                guard state.orphans.contains(number) else { return true }
                let item = try state.item(number)
                let rows = try state.index.extents(after: number, -1, limit: Self.sliceRowCount)
                guard let last = rows.last(where: { $0.item == number }) else {
                    try self.erase(item, state)
                    return true
                }
                try self.removeContent(of: item, 0..<last.end, state)
                state.removes = true
                state.touch(item, [])
                return false
            }
            try commitIndex()
            try moveLog()
            upkeep.pause()
        }
    }
}
