internal import CofferFormat
internal import CofferStore
internal import CofferSystem

// Keeping what changes as it was. Each function comes before the change that it is about.
extension ItemTree {
    /// Begins a moment, if one is due.
    private mutating func beginMoment() throws(FileSystemError) -> MomentRow? {
        guard let recorder = history else { return nil }
        if !recorder.isDue, let moment = recorder.moment { return moment }
        let time = max(Clock.realTime, recorder.row.changed)
        let moment = MomentRow(
            number: recorder.row.last + 1, since: recorder.row.changed, begun: time,
            nextItem: recorder.committed.item, nextCookie: recorder.committed.cookie)
        try index.insert(moment)
        history?.row.last = moment.number
        history?.moment = moment
        history?.isDue = false
        history?.versions = [:]
        history?.authors = [:]
        return moment
    }

    /// The version of an item that ends with the last moment: how the item was then.
    ///
    /// - Returns: Nil if nothing of the item is to be kept: there is no history, or the item is newer than the moment.
    mutating func version(of item: CachedItem) throws(FileSystemError) -> CachedItem? {
        let number = item.row.number
        guard history != nil, !item.row.flags.contains(.isVersion), let moment = try beginMoment() else {
            return nil
        }
        history?.hasChanges = true
        guard number < moment.nextItem else {
            let isNew = item.stored == nil
            try noteAuthor(of: number, in: moment, isFirst: isNew, isCreation: isNew)
            return nil
        }
        if let version = history?.versions[number] {
            try noteAuthor(of: number, in: moment, isFirst: false)
            return try self.item(version)
        }
        if let known = try index.version(of: number, until: moment.number) {
            history?.versions[number] = known.version
            try noteAuthor(of: number, in: moment, isFirst: false)
            return try self.item(known.version)
        }
        guard var row = try index.item(number) else { return nil }
        try noteAuthor(of: number, in: moment, isFirst: true)
        let links = row.links
        row.number = index.nextItemNumber()
        row.links = 0
        row.allocated = 0
        row.unsent = []
        row.flags.insert(.isVersion)
        row.flags.remove(.hasPages)
        try index.insert(
            VersionRow(item: number, until: moment.number, version: row.number, links: Int64(links)))
        history?.versions[number] = row.number
        return add(row)
    }

    /// Records that a version was changed, which no program did.
    mutating func touch(version: CachedItem) {
        dirtyItems.insert(version.row.number)
    }

    /// Stores an entry whose name is free.
    mutating func insert(_ entry: EntryRow) throws(FileSystemError) {
        try keep(entry.name, nil, in: entry.parent, cookie: entry.cookie)
        try index.insert(entry)
    }

    /// Removes an entry, which must equal the stored one.
    mutating func remove(_ entry: EntryRow) throws(FileSystemError) {
        try keep(entry.name, entry, in: entry.parent, cookie: entry.cookie)
        try index.remove(entry)
    }

    /// Keeps what a name led to; nil if it led to nothing.
    ///
    /// A cookie that is newer than the moment says by itself that the entry was not there.
    private mutating func keep(
        _ name: [UInt8], _ entry: EntryRow?, in parent: Int64, cookie: Int64
    ) throws(FileSystemError) {
        guard history != nil, let version = try version(of: try item(parent)),
            let moment = history?.moment, cookie < moment.nextCookie
        else { return }
        let directory = version.row.number
        guard try index.entry(name, in: directory) == nil else { return }
        var kept = EntryRow(
            parent: directory, name: name, item: entry?.item ?? 0, type: entry?.type ?? 0,
            cookie: entry?.cookie ?? index.nextCookie())
        kept.unsent = false
        try index.insert(kept)
    }

    /// Keeps the extended attributes of an item.
    mutating func keepAttributes(of item: CachedItem) throws(FileSystemError) {
        guard let version = try version(of: item), !version.row.flags.contains(.ownsAttributes) else {
            return
        }
        for (name, value) in try index.attributes(of: item.row.number) {
            try index.setAttribute(name, of: version.row.number, to: value, replacing: nil)
        }
        version.row.flags.insert(.ownsAttributes)
        touch(version: version)
    }

    /// Keeps the items of which only a row changed, before the rows are stored.
    mutating func keepChangedItems() throws(FileSystemError) {
        guard history != nil else { return }
        for number in Array(dirtyItems) {
            guard let recorder = history, let item = items[number], !item.row.flags.contains(.isVersion)
            else {
                continue
            }
            let isNew = item.stored == nil
            let isNoted =
                recorder.author == .thisDevice && recorder.authors[number] == nil
                && (isNew || !recorder.isDue && recorder.hasChanges && recorder.versions[number] != nil)
            if isNoted { continue }
            if !isNew {
                guard let old = try index.item(number), !item.row.isSame(as: old) else { continue }
            }
            _ = try version(of: item)
        }
    }

    /// Stores when the vault was last changed, if it has changed since the last commit.
    mutating func storeHistory() throws(FileSystemError) {
        guard let recorder = history, recorder.hasChanges else { return }
        var row = recorder.row
        row.changed = max(Clock.realTime, row.changed)
        try index.put(row, replacing: try index.history())
        history?.row = row
    }
}

extension ItemRow {
    /// Whether two rows say the same of an item, but for what no user changes.
    fileprivate func isSame(as other: ItemRow) -> Bool {
        var other = other
        other.accessed = accessed
        other.allocated = allocated
        other.unsent = unsent
        other.flags = other.flags.subtracting(.hasPages).union(flags.intersection(.hasPages))
        return self == other
    }
}
