internal import CofferFacts
internal import CofferFormat
internal import CofferStore
internal import CofferSystem

// Old contents that programs have open, after an incoming change has replaced them.
extension VaultState {
    /// The highest number that is tried in a name by rule.
    private static var conflictNumberMax: Int { 1000 }

    /// Creates a new, empty version of a file, and makes `names` lead to it.
    ///
    /// The old version keeps its number and content. It is removed once it is not used any more, unless a
    /// program writes to it before that (`keepIfOutdated`). The new version gets its attributes.
    ///
    /// - Parameter version: The number of the new version; unused so far.
    /// - Returns: The new version; the caller sets its content and times.
    mutating func supersede(
        _ number: Int64, by version: Int64, _ names: [Vault.Name]
    ) throws(FileSystemError) -> CachedItem {
        let old = try tree.item(number)
        guard old.type == .regular, let name = names.first, names.count <= Int(old.row.links) else {
            throw .invalidArgument
        }
        var entries: [EntryRow] = []
        for name in names {
            let entry = try index.entry(name.name, in: name.parent)
            guard let entry, entry.item == number else { throw .notFound }
            entries.append(entry)
        }
        for var entry in entries {
            try tree.remove(entry)
            entry.item = version
            try tree.insert(entry)
        }
        if old.row.flags.contains(.hasAttributes) {
            for (name, value) in try index.attributes(of: number) {
                try index.setAttribute(name, of: version, to: value, replacing: nil)
            }
        }
        var row = old.row
        row.number = version
        row.links = UInt32(names.count)
        row.size = 0
        row.allocated = 0
        row.changed = Clock.fileTime
        row.unsent.remove(.content)
        row.flags.remove(.hasPages)
        old.row.links -= row.links
        old.row.changed = row.changed
        tree.touch(old, [])
        tree.growing[number] = nil
        if old.row.links == 0 {
            // The item continues as its new version: nothing of this one is sent.
            old.row.unsent = []
            tree.orphans.insert(number)
            tree.outdated[number] = name
        }
        try tree.passAuthors(of: number, to: version)
        return tree.add(row)
    }

    /// Keeps an outdated version that a program writes to, as a file of its own: next to the new version, or
    /// in place of a file that another device removed.
    ///
    /// Call this before each change of content. A program that still has the old version open then neither
    /// loses its writes nor overwrites the new version: both stay. Writes continue in the old version, which
    /// has a name from the first byte on and so survives a crash.
    mutating func keepIfOutdated(_ item: CachedItem) throws(FileSystemError) {
        let number = item.row.number
        try divideIfGrowing(item)
        guard !tree.outdated.isEmpty, let place = tree.outdated[number] else { return }
        try space.ensure(for: 8192)
        let isRemoved = tree.removedElsewhere.contains(number)
        // While names are held, the directory may be about to be removed, too.
        let directory =
            isRemoved && holdsNames
            ? try tree.directory(Vault.rootNumber) : try home(of: place)
        let parent = directory.row.number
        let time = Clock.fileTime
        let name =
            isRemoved
            ? try nameForKept(place.name, in: parent, at: time)
            : try conflictName(for: place.name, in: parent, at: time)
        try tree.insertEntry(name, in: directory, to: number, .regular, time)
        item.row.links = 1
        item.row.changed = time
        // The new version is the item that other devices know; the extents stay sealed for that item.
        item.row.id = .random()
        tree.touch(item, [.existence, .mode, .times, .content, .attributes])
        try tree.noteMade(item, name, in: directory)
        tree.orphans.remove(number)
        tree.outdated[number] = nil
        tree.removedElsewhere.remove(number)
        showAtOnce?(.entry(Vault.Name(name, in: parent)))
        showAtOnce?(.attributes(item: number, Vault.Name(name, in: parent)))
    }

    /// Gives another name to a file that is about to be replaced by a program that cannot know of it yet.
    mutating func keepUnseen(
        _ target: Vault.Name, replacedBy source: Vault.Name
    ) throws(FileSystemError) {
        guard let item = try unseenItem(target), let other = try index.entry(source.name, in: source.parent),
            other.item != item, FileType(rawValue: other.type) != .directory
        else { return }
        try space.ensure(for: 8192)
        let name = try conflictName(for: target.name, in: target.parent, at: Clock.fileTime)
        _ = try tree.rename(target.name, in: target.parent, to: name, in: target.parent, .keep)
        showAtOnce?(.entry(Vault.Name(name, in: target.parent)))
        showAtOnce?(.attributes(item: item, Vault.Name(name, in: target.parent)))
    }

    /// Leaves a file that a program removes and cannot know of yet.
    ///
    /// - Returns: The file's number; nil if the name may be removed.
    mutating func leaveUnseen(_ name: Vault.Name) throws(FileSystemError) -> Int64? {
        guard let item = try unseenItem(name) else { return nil }
        // The kernel counts one name less from now on.
        showAtOnce?(.attributes(item: item, name))
        return item
    }

    private mutating func unseenItem(_ name: Vault.Name) throws(FileSystemError) -> Int64? {
        guard !tree.unseen.isEmpty || !tree.growing.isEmpty,
            let entry = try index.entry(name.name, in: name.parent),
            tree.isUnseen(name, leadingTo: try tree.item(entry.item))
        else { return nil }
        return entry.item
    }

    /// The name for an outdated version that is kept: its own if that is free, because the file was removed.
    private func nameForKept(
        _ name: [UInt8], in parent: Int64, at time: Int64
    ) throws(FileSystemError) -> [UInt8] {
        let holder = try index.entry(name, in: parent)
        // While names are held, another item may be about to get it.
        if holder == nil, !holdsNames { return name }
        return try conflictName(for: name, in: parent, at: time)
    }

    /// The first free name by rule: `name (conflict, 2026-11-20).ext`, then with a number.
    func conflictName(
        for name: [UInt8], in parent: Int64, at time: Int64
    ) throws(FileSystemError) -> [UInt8] {
        guard let name = EntryName(name) else { throw .invalidArgument }
        let wanted = ConflictName.wanted(for: name, milliseconds: UInt64(max(0, time / 1_000_000)))
        for number in 1...Self.conflictNumberMax {
            let numbered = ConflictName.numbered(wanted, number).bytes
            let other = try index.entry(numbered, in: parent)
            if other == nil { return numbered }
        }
        throw .alreadyExists
    }

    /// The directory that contained an outdated version's name; the root if that directory was removed.
    private mutating func home(of place: Vault.Name) throws(FileSystemError) -> CachedItem {
        do throws(FileSystemError) {
            return try tree.directory(place.parent)
        } catch {
            switch error {
            case .stale, .notFound: return try tree.directory(Vault.rootNumber)
            default: throw error
            }
        }
    }
}
