internal import CofferFormat
internal import CofferStore
internal import CofferSystem

// Removing names.
extension ItemTree {
    /// Removes a name; the item is removed once it is not used any more.
    ///
    /// - Returns: The item's number, and whether this was its last name.
    mutating func unlink(
        _ name: [UInt8], in parent: Int64
    ) throws(FileSystemError) -> (number: Int64, isLast: Bool) {
        let directory = try self.directory(parent)
        guard
            let entry = try index.entry(name, in: parent)
        else { throw .notFound }
        let item = try self.item(entry.item)
        guard item.type != .directory else { throw .isDirectory }
        try Self.checkCount(of: item)
        let time = Clock.fileTime
        try remove(entry)
        stamp(directory, time)
        dropName(of: item, time)
        try noteRemoved(name, in: directory)
        return (entry.item, item.row.links == 0)
    }

    /// Removes an empty directory.
    mutating func removeDirectory(_ name: [UInt8], in parent: Int64) throws(FileSystemError) -> Int64 {
        let directory = try self.directory(parent)
        guard
            let entry = try index.entry(name, in: parent)
        else { throw .notFound }
        let item = try self.item(entry.item)
        guard item.type == .directory else { throw .notDirectory }
        guard try index.isEmpty(entry.item) else {
            throw .directoryNotEmpty
        }
        try Self.checkCount(of: directory)
        let time = Clock.fileTime
        try remove(entry)
        directory.row.links -= 1
        stamp(directory, time)
        dropDirectory(item, time)
        try noteRemoved(name, in: directory)
        return entry.item
    }

    /// Whether the kernel does not know yet what a file contains that would lose its last name.
    func isUnseen(_ name: Vault.Name, leadingTo item: CachedItem) -> Bool {
        unseen.contains(name, leadingTo: item.row.number)
            || item.row.links == 1 && growing[item.row.number] != nil
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
    mutating func dropName(of item: CachedItem, _ time: Int64) {
        item.row.links -= 1
        item.row.changed = time
        removes = true
        touch(item, item.row.links == 0 ? .existence : [])
        if item.row.links == 0 { orphans.insert(item.row.number) }
    }

    /// Marks an empty directory as removed.
    mutating func dropDirectory(_ item: CachedItem, _ time: Int64) {
        item.row.links = 0
        item.row.changed = time
        removes = true
        touch(item, .existence)
        orphans.insert(item.row.number)
    }
}
