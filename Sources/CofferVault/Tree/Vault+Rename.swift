package import CofferFormat
internal import CofferStore
internal import CofferSystem

// Renaming.
extension Vault {
    /// What a rename does if the new name exists.
    package enum RenameMode: Sendable {
        case replace
        /// RENAME_NOREPLACE
        case keep
        /// RENAME_EXCHANGE
        case exchange
    }

    private struct End {
        let directory: CachedItem
        let name: [UInt8]
        var entry: EntryRow?
    }

    /// Renames an item, replacing an item that has the new name.
    ///
    /// Behaves like renameat2(2): there is no moment at which the new name does not exist. A concurrent
    /// reader of the directory finds a replaced name at the place of the replaced entry, and a new name at
    /// the place of the old one. So a reader that renames what it finds terminates.
    ///
    /// - Returns: The number of an item that lost its last name; nil if there is none.
    @discardableResult
    package func rename(
        _ name: [UInt8], in parent: Int64, to newName: [UInt8], in newParent: Int64, _ mode: RenameMode
    ) throws(FileSystemError) -> Int64? {
        guard ![[46], [46, 46]].contains(name), ![[46], [46, 46]].contains(newName) else { throw .busy }
        try Self.validate(newName)
        return try changingNames { state throws(FileSystemError) in
            var source = End(directory: try state.directory(parent), name: name)
            var target = End(directory: try state.directory(newParent), name: newName)
            source.entry = try state.index.entry(name, in: parent)
            target.entry = try state.index.entry(newName, in: newParent)
            guard let moved = source.entry else { throw .notFound }
            let item = try state.item(moved.item)
            if item.type == .directory, try self.isInside(newParent, moved.item, state) {
                throw .invalidArgument
            }
            if mode == .exchange { return try self.exchange(source, target, state) }
            if item.type == .directory { try Self.checkCount(of: source.directory) }
            guard let existing = target.entry else {
                let cookie = parent == newParent ? moved.cookie : nil
                try self.move(moved, item, source, target, cookie: cookie, state)
                return nil
            }
            if mode == .keep { throw .alreadyExists }
            if existing.item == moved.item { return nil }
            let replaced = try state.item(existing.item)
            try self.checkReplacing(replaced, by: item, state)
            try Self.checkCount(of: replaced.type == .directory ? target.directory : replaced)
            try state.index.remove(existing)
            let time = Clock.fileTime
            if replaced.type == .directory {
                target.directory.row.links -= 1
                self.dropDirectory(replaced, time, state)
            } else {
                self.dropName(of: replaced, time, state)
            }
            try self.move(moved, item, source, target, cookie: existing.cookie, state)
            return replaced.row.links == 0 ? existing.item : nil
        }
    }

    private func checkReplacing(
        _ replaced: CachedItem, by item: CachedItem, _ state: VaultState
    ) throws(FileSystemError) {
        switch (item.type == .directory, replaced.type == .directory) {
        case (true, false): throw .notDirectory
        case (false, true): throw .isDirectory
        case (true, true):
            let number = replaced.row.number
            guard try state.index.isEmpty(number) else {
                throw .directoryNotEmpty
            }
        case (false, false): return
        }
    }

    private func move(
        _ moved: EntryRow, _ item: CachedItem, _ source: End, _ target: End, cookie: Int64?,
        _ state: VaultState
    ) throws(FileSystemError) {
        guard let type = item.type else { throw .invalidArgument }
        let time = Clock.fileTime
        try state.index.remove(moved)
        stamp(source.directory, time, state)
        try insertEntry(
            target.name, in: target.directory, to: moved.item, type, time, cookie: cookie, state)
        if type == .directory {
            source.directory.row.links -= 1
            target.directory.row.links += 1
            item.row.parent = target.directory.row.number
        }
        item.row.changed = time
        state.touch(item, [])
        try state.noteMoved(source.name, in: source.directory, to: target.name, in: target.directory)
    }

    private func exchange(_ source: End, _ target: End, _ state: VaultState) throws(FileSystemError) -> Int64?
    {
        guard let one = source.entry, let other = target.entry else { throw .notFound }
        let first = try state.item(one.item)
        let second = try state.item(other.item)
        guard let firstType = first.type, let secondType = second.type else { throw .invalidArgument }
        if secondType == .directory, try isInside(source.directory.row.number, other.item, state) {
            throw .invalidArgument
        }
        if one.item == other.item { return nil }
        if firstType == .directory { try Self.checkCount(of: source.directory) }
        if secondType == .directory { try Self.checkCount(of: target.directory) }
        let time = Clock.fileTime
        try state.index.remove(one)
        try state.index.remove(other)
        try insertEntry(
            target.name, in: target.directory, to: one.item, firstType, time, cookie: other.cookie, state)
        try insertEntry(
            source.name, in: source.directory, to: other.item, secondType, time, cookie: one.cookie, state)
        settle(first, movedFrom: source, to: target, time, state)
        settle(second, movedFrom: target, to: source, time, state)
        try state.noteExchanged(source.name, in: source.directory, target.name, in: target.directory)
        return nil
    }

    private func settle(
        _ item: CachedItem, movedFrom source: End, to target: End, _ time: Int64, _ state: VaultState
    ) {
        if item.type == .directory {
            source.directory.row.links -= 1
            target.directory.row.links += 1
            item.row.parent = target.directory.row.number
        }
        item.row.changed = time
        state.touch(item, [])
    }

    /// Whether directory `number` is `ancestor` or lies below it.
    private func isInside(
        _ number: Int64, _ ancestor: Int64, _ state: VaultState
    ) throws(FileSystemError) -> Bool {
        var number = number
        var seen: Set<Int64> = []
        while number != ancestor {
            if number == Self.rootNumber { return false }
            // Pages from an older state of the index may form a cycle.
            guard seen.insert(number).inserted else {
                throw .damaged(place: "the place of directory \(number)")
            }
            number = try state.peek(number).parent
        }
        return true
    }
}
