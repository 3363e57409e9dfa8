internal import CofferFormat
internal import CofferStore
internal import CofferSystem

// Creating names.
extension ItemTree {
    /// The maximum number of names of an item, and of directories in a directory.
    static let linksMax: UInt32 = 2_000_000_000

    /// Creates an item and its name, which is valid.
    mutating func create(
        _ new: Vault.NewItem, _ type: FileType, named name: [UInt8], in parent: Int64, by caller: Caller,
        _ space: inout FreeSpace
    ) throws(FileSystemError) -> Attributes {
        let directory = try self.directory(parent)
        guard try index.entry(name, in: parent) == nil else { throw .alreadyExists }
        try space.ensure(for: 8192)
        let time = Clock.fileTime
        var row = ItemRow(
            number: index.nextItemNumber(), id: .made(at: time), mode: new.mode, user: caller.user,
            group: caller.group, time: time)
        row.device = new.device
        row.target = new.target
        row.size = Int64(new.target.count)
        if directory.row.mode & ModeBits.setGroup != 0 {
            row.group = directory.row.group
            if type == .directory { row.mode |= ModeBits.setGroup }
        }
        if type == .directory {
            guard directory.row.links < Self.linksMax else { throw .tooManyLinks }
            row.links = 2
            row.parent = parent
        }
        try inheritAccessLists(&row, from: directory.row, umask: caller.umask)
        try insertEntry(name, in: directory, to: row.number, type, time)
        if type == .directory { directory.row.links += 1 }
        let item = add(row)
        // The program that has made it is about to write it.
        if type == .regular { item.endMoved = Clock.realTime }
        try noteMade(item, name, in: directory)
        return Attributes(item.row)
    }

    /// Gives an item another name, which is valid.
    mutating func link(
        _ number: Int64, as name: [UInt8], in parent: Int64, _ space: inout FreeSpace
    ) throws(FileSystemError) -> Attributes {
        let item = try self.item(number)
        guard let type = item.type, type != .directory else { throw .notPermitted }
        let directory = try self.directory(parent)
        guard item.row.links > 0 else { throw .notFound }
        guard item.row.links < Self.linksMax else { throw .tooManyLinks }
        guard try index.entry(name, in: parent) == nil else { throw .alreadyExists }
        try space.ensure(for: 8192)
        let time = Clock.fileTime
        try insertEntry(name, in: directory, to: number, type, time)
        item.row.links += 1
        item.row.changed = time
        touch(item, [])
        try noteLinked(item, name, in: directory)
        return Attributes(item.row)
    }

    /// Adds a name to a directory and sets the directory's times.
    ///
    /// - Parameter cookie: Its place in the reading order; nil for the last.
    mutating func insertEntry(
        _ name: [UInt8], in directory: CachedItem, to item: Int64, _ type: FileType, _ time: Int64,
        cookie: Int64? = nil
    ) throws(FileSystemError) {
        let row = EntryRow(
            parent: directory.row.number, name: name, item: item, type: type.rawValue,
            cookie: cookie ?? index.nextCookie())
        try insert(row)
        stamp(directory, time)
    }

    /// Sets the times of a directory whose names changed.
    mutating func stamp(_ directory: CachedItem, _ time: Int64) {
        directory.row.modified = time
        directory.row.changed = time
        touch(directory, .times)
    }
}
