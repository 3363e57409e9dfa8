internal import CofferFormat
internal import CofferStore
internal import CofferSystem

// Renaming.
extension ItemTree {
    private struct End {
        let directory: CachedItem
        let name: [UInt8]
        var entry: EntryRow?
    }

    /// Renames an item, replacing an item that has the new name, which is valid.
    ///
    /// - Returns: The number of an item that lost its last name; nil if there is none.
    mutating func rename(
        _ name: [UInt8], in parent: Int64, to newName: [UInt8], in newParent: Int64, _ mode: Vault.RenameMode
    ) throws(FileSystemError) -> Int64? {
        var source = End(directory: try self.directory(parent), name: name)
        var target = End(directory: try self.directory(newParent), name: newName)
        source.entry = try index.entry(name, in: parent)
        target.entry = try index.entry(newName, in: newParent)
        guard let moved = source.entry else { throw .notFound }
        let item = try self.item(moved.item)
        if item.type == .directory, try isInside(newParent, moved.item) {
            throw .invalidArgument
        }
        if mode == .exchange { return try exchange(source, target) }
        if item.type == .directory { try Self.checkCount(of: source.directory) }
        guard let existing = target.entry else {
            let cookie = parent == newParent ? moved.cookie : nil
            if cookie == nil { try index.visitOrder(of: newParent, index.nextCookieToCome) }
            try move(moved, item, source, target, cookie: cookie)
            return nil
        }
        if mode == .keep { throw .alreadyExists }
        if existing.item == moved.item { return nil }
        try index.visitOrder(of: parent, moved.cookie)
        let replaced = try self.item(existing.item)
        try checkReplacing(replaced, by: item)
        try Self.checkCount(of: replaced.type == .directory ? target.directory : replaced)
        try remove(existing)
        let time = Clock.fileTime
        if replaced.type == .directory {
            target.directory.row.links -= 1
            dropDirectory(replaced, time)
        } else {
            dropName(of: replaced, time)
        }
        try move(moved, item, source, target, cookie: existing.cookie)
        return replaced.row.links == 0 ? existing.item : nil
    }

    private mutating func checkReplacing(
        _ replaced: CachedItem, by item: CachedItem
    ) throws(FileSystemError) {
        switch (item.type == .directory, replaced.type == .directory) {
        case (true, false): throw .notDirectory
        case (false, true): throw .isDirectory
        case (true, true):
            let number = replaced.row.number
            guard try index.isEmpty(number) else { throw .directoryNotEmpty }
        case (false, false): return
        }
    }

    private mutating func move(
        _ moved: EntryRow, _ item: CachedItem, _ source: End, _ target: End, cookie: Int64?
    ) throws(FileSystemError) {
        guard let type = item.type else { throw .invalidArgument }
        let time = Clock.fileTime
        try remove(moved)
        stamp(source.directory, time)
        try insertEntry(
            target.name, in: target.directory, to: moved.item, type, time, cookie: cookie)
        if type == .directory {
            source.directory.row.links -= 1
            target.directory.row.links += 1
            item.row.parent = target.directory.row.number
        }
        item.row.changed = time
        touch(item, [])
        try noteMoved(source.name, in: source.directory, to: target.name, in: target.directory)
    }

    private mutating func exchange(_ source: End, _ target: End) throws(FileSystemError) -> Int64? {
        guard let one = source.entry, let other = target.entry else { throw .notFound }
        let first = try self.item(one.item)
        let second = try self.item(other.item)
        guard let firstType = first.type, let secondType = second.type else { throw .invalidArgument }
        if secondType == .directory, try isInside(source.directory.row.number, other.item) {
            throw .invalidArgument
        }
        if one.item == other.item { return nil }
        if firstType == .directory { try Self.checkCount(of: source.directory) }
        if secondType == .directory { try Self.checkCount(of: target.directory) }
        try index.visitOrder(of: other.parent, other.cookie)
        let time = Clock.fileTime
        try remove(one)
        try remove(other)
        try insertEntry(
            target.name, in: target.directory, to: one.item, firstType, time, cookie: other.cookie)
        try insertEntry(
            source.name, in: source.directory, to: other.item, secondType, time, cookie: one.cookie)
        relocate(first, from: source, to: target, time)
        relocate(second, from: target, to: source, time)
        try noteExchanged(source.name, in: source.directory, target.name, in: target.directory)
        return nil
    }

    private mutating func relocate(
        _ item: CachedItem, from source: End, to target: End, _ time: Int64
    ) {
        if item.type == .directory {
            source.directory.row.links -= 1
            target.directory.row.links += 1
            item.row.parent = target.directory.row.number
        }
        item.row.changed = time
        touch(item, [])
    }

    /// Whether directory `number` is `ancestor` or lies below it.
    private mutating func isInside(
        _ number: Int64, _ ancestor: Int64
    ) throws(FileSystemError) -> Bool {
        var number = number
        var seen: Set<Int64> = []
        while number != ancestor {
            if number == Vault.rootNumber { return false }
            // Pages from an older state of the index may form a cycle.
            guard seen.insert(number).inserted else {
                throw .damaged(place: "the place of directory \(number)")
            }
            number = try peek(number).parent
        }
        return true
    }
}
