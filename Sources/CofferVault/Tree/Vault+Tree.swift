internal import CofferFacts
package import CofferFormat
internal import CofferStore
internal import CofferSystem

// Names, items, and attributes: an operation takes the lock, and leaves the work to `ItemTree`.
extension Vault {
    // MARK: Finding

    /// The item that a name in a directory leads to; "." and ".." are names, too.
    ///
    /// The size of a file that another device has appended to is the old one until programs see the new one
    /// (`beginGrowth`); `attributes(of:)` has the new one.
    ///
    /// - Throws: `.notFound`, `.notDirectory`, `.nameTooLong`.
    package func lookup(_ name: [UInt8], in parent: Int64) throws(FileSystemError) -> Attributes {
        guard name.count <= Self.nameByteCountMax else { throw .nameTooLong }
        return try looking { state throws(FileSystemError) in
            let attributes = try state.tree.lookup(name, in: parent)
            state.tree.unseen.remove(Name(name, in: parent))
            return attributes
        }
    }

    /// The attributes of an item, as for stat(2).
    package func attributes(of number: Int64) throws(FileSystemError) -> Attributes {
        try looking { state throws(FileSystemError) in Attributes(try state.tree.peek(number)) }
    }

    /// The target of a symbolic link.
    package func readLink(_ number: Int64) throws(FileSystemError) -> [UInt8] {
        try looking { state throws(FileSystemError) in try state.tree.readLink(number) }
    }

    /// A directory entry, as readdir(3) returns it.
    package struct Entry: Sendable {
        /// 1 to 255 bytes without "/" and NUL; also "." and "..".
        package let name: [UInt8]
        /// The number of the item that it leads to.
        package let item: Int64
        /// The item's type, as d_type.
        package let type: UInt8
        /// Where to continue after this entry.
        package let cookie: Int64
        /// Set by `readDirectory(attributes: true)`, unless the item is missing or damaged.
        package let attributes: Attributes?

        package init(name: [UInt8], item: Int64, type: UInt8, cookie: Int64, attributes: Attributes?) {
            self.name = name
            self.item = item
            self.type = type
            self.cookie = cookie
            self.attributes = attributes
        }
    }

    /// Reads up to `limit` entries of a directory after `cookie` (0 for the start); none at the end.
    ///
    /// Entries keep their cookies as long as they exist, and new ones come last. So a reader continues in the
    /// right place while the directory changes.
    package func readDirectory(
        _ number: Int64, after cookie: Int64, limit: Int, attributes: Bool
    ) throws(FileSystemError) -> [Entry] {
        var dangling: [Int64] = []
        defer {
            for item in dangling { problems.add("A name in \(path(of: number)) leads to no item (\(item)).") }
        }
        return try looking { state throws(FileSystemError) in
            dangling = []
            let entries = try state.tree.readDirectory(
                number, after: cookie, limit: limit, attributes: attributes, dangling: &dangling)
            if attributes, !state.tree.unseen.isEmpty {
                for entry in entries { state.tree.unseen.remove(Name(entry.name, in: number)) }
            }
            return entries
        }
    }

    /// The cookie that the next new entry of a directory gets, or a greater one.
    package var nextCookie: Int64 { state.withLock { $0.index.nextCookieToCome } }

    /// The number of an item; nil if the vault has no such item, or does not track changes.
    func number(of item: ItemID) throws(FileSystemError) -> Int64? {
        try reading { state throws(FileSystemError) in
            state.tree.isTracking ? try state.row(item, nil)?.number : nil
        }
    }

    // MARK: Creating

    /// An item to create.
    package struct NewItem: Sendable {
        /// Type and permissions, before the umask.
        package var mode: UInt32
        /// As st_rdev, for device nodes.
        package var device: UInt64 = 0
        /// The target of a symbolic link.
        package var target: [UInt8] = []

        package init(mode: UInt32, device: UInt64 = 0, target: [UInt8] = []) {
            self.mode = mode
            self.device = device
            self.target = target
        }
    }

    /// The maximum size of a symbolic link's target (PATH_MAX - 1), in bytes.
    private static let targetByteCountMax = 4095

    /// Creates an item and its name.
    ///
    /// Behaves like open(2) with O_CREAT | O_EXCL, mkdir(2), mknod(2), and symlink(2).
    ///
    /// - Throws: `.alreadyExists`, `.notFound` if the directory was removed, `.nameTooLong`, `.noSpace`.
    package func create(
        _ new: NewItem, named name: [UInt8], in parent: Int64, by caller: Caller
    ) throws(FileSystemError) -> Attributes {
        try Self.validate(name)
        guard let type = FileType(mode: new.mode) else { throw .invalidArgument }
        guard new.target.count <= Self.targetByteCountMax else { throw .nameTooLong }
        return try changingNames { state throws(FileSystemError) in
            try state.tree.create(new, type, named: name, in: parent, by: caller, &state.space)
        }
    }

    /// Gives an item another name.
    ///
    /// Behaves like link(2).
    ///
    /// - Throws: `.notPermitted` for directories, `.alreadyExists`, `.tooManyLinks`.
    package func link(
        _ number: Int64, as name: [UInt8], in parent: Int64
    ) throws(FileSystemError) -> Attributes {
        try Self.validate(name)
        return try changingNames { state throws(FileSystemError) in
            try state.tree.link(number, as: name, in: parent, &state.space)
        }
    }

    // MARK: Removing and renaming

    /// Removes a name; the item is removed once it is not used any more.
    ///
    /// Behaves like unlink(2). A file that came from elsewhere, and that the kernel has not looked up yet,
    /// stays: its predecessor of that name is gone.
    ///
    /// - Returns: The item's number, and whether this was its last name.
    @discardableResult
    package func unlink(
        _ name: [UInt8], in parent: Int64
    ) throws(FileSystemError) -> (number: Int64, isLast: Bool) {
        try changingNames { state throws(FileSystemError) in
            if let left = try state.leaveUnseen(Name(name, in: parent)) { return (left, false) }
            return try state.tree.unlink(name, in: parent)
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
            try state.tree.removeDirectory(name, in: parent)
        }
    }

    /// What a rename does if the new name exists.
    package enum RenameMode: Sendable {
        case replace
        /// RENAME_NOREPLACE
        case keep
        /// RENAME_EXCHANGE
        case exchange
    }

    /// Renames an item, replacing an item that has the new name.
    ///
    /// Behaves like renameat2(2): there is no moment at which the new name does not exist. A concurrent
    /// reader of the directory finds a replaced name at the place of the replaced entry, and a new name at
    /// the place of the old one. So a reader that renames what it finds terminates. A file that came from
    /// elsewhere, and that the kernel has not looked up yet, is not replaced but gets another name.
    ///
    /// - Returns: The number of an item that lost its last name; nil if there is none.
    @discardableResult
    package func rename(
        _ name: [UInt8], in parent: Int64, to newName: [UInt8], in newParent: Int64, _ mode: RenameMode
    ) throws(FileSystemError) -> Int64? {
        guard ![[46], [46, 46]].contains(name), ![[46], [46, 46]].contains(newName) else { throw .busy }
        try Self.validate(newName)
        return try changingNames { state throws(FileSystemError) in
            if mode == .replace {
                try state.keepUnseen(Name(newName, in: newParent), replacedBy: Name(name, in: parent))
            }
            return try state.tree.rename(name, in: parent, to: newName, in: newParent, mode)
        }
    }

    // MARK: Attributes

    /// Changes attributes: all of them or none.
    ///
    /// Behaves like chmod(2), chown(2), truncate(2), and utimensat(2). The kernel checks whether the caller
    /// is allowed to (default_permissions).
    package func setAttributes(
        of number: Int64, _ changes: AttributeChanges
    ) throws(FileSystemError) -> Attributes {
        try ensureChangeable()
        return try changingItem(
            number,
            prepare: { state throws(FileSystemError) in
                let row = try state.tree.peek(number)
                // Of an access list and a capability, some changes take something away.
                if !row.flags.isDisjoint(with: [.hasAccessList, .hasCapability]) {
                    _ = try state.index.attributes(of: number)
                }
                guard let size = changes.size, size < row.size else { return }
                try state.prepareRemoval(of: number, max(size, 0)..<Int64.max)
            }
        ) { state throws(FileSystemError) in
            let item = try state.tree.item(number)
            let time = Clock.fileTime
            // truncate(2) to the current size leaves the file's times alone. So does the kernel, which keeps
            // the times itself.
            let keepsTimes = changes.size == item.row.size && changes.mode == nil
            if let size = changes.size { try state.resize(item, to: size, time) }
            try state.tree.setAttributes(of: item, changes, at: time, keepsTimes: keepsTimes)
            return Attributes(item.row)
        }
    }

    /// Records a read of an item, if its access time is older than its times of change, or older than a day
    /// (as with the mount option relatime).
    ///
    /// - Returns: False if it was left undone, because a page of the index is absent (`LeavingWaits`).
    package func noteAccess(_ number: Int64) -> Bool {
        if isReadOnly { return true }
        do throws(FileSystemError) {
            try looking { state throws(FileSystemError) in
                guard state.stopped == nil, try state.tree.recordAccess(number) else { return }
                upkeep.noteChanges(isUrgent: state.isCommitUrgent)
            }
        } catch {
            if case .pageAbsent = error { return false }
        }
        return true
    }

    /// What setxattr(2) does if the name exists or not.
    package enum AttributeMode: Sendable {
        case any, create, replace
    }

    /// The value of an attribute.
    ///
    /// In vaults that track changes for a remote, each item has `user.coffer.state`, a `ContentState`.
    ///
    /// - Throws: `.attributeNotFound`.
    package func extendedAttribute(_ name: [UInt8], of number: Int64) throws(FileSystemError) -> [UInt8] {
        if name == ExtendedAttributeName.state {
            guard isTracking else { throw .attributeNotFound }
            return Array(try contentState(of: number).rawValue.utf8)
        }
        return try looking { state throws(FileSystemError) in
            try state.tree.extendedAttribute(name, of: number)
        }
    }

    /// The names of all attributes of an item.
    package func extendedAttributeNames(of number: Int64) throws(FileSystemError) -> [[UInt8]] {
        try looking { state throws(FileSystemError) in try state.tree.extendedAttributeNames(of: number) }
    }

    /// Sets an attribute.
    ///
    /// An access list also changes the permissions. A list that says no more than the permissions is not
    /// stored.
    ///
    /// - Parameter groups: Returns the caller's groups; nil if they do not matter, as for root.
    /// - Throws: `.attributeTooLarge`, `.noSpace` if there are too many, `.alreadyExists`,
    ///   `.attributeNotFound`, `.invalidArgument` for an invalid list, `.notSupported` for name classes other
    ///   than user, trusted, security, and system.posix_acl_*.
    package func setExtendedAttribute(
        _ name: [UInt8], of number: Int64, to value: [UInt8], _ mode: AttributeMode,
        groups: () -> [UInt32]? = { nil }
    ) throws(FileSystemError) {
        guard value.count <= ItemTree.valueByteCountMax else { throw .attributeTooLarge }
        guard ExtendedAttributeName.isValid(name) else { throw .invalidArgument }
        guard ExtendedAttributeName.isKept(name) else { throw .notSupported }
        try ensureChangeable()
        try changingItem(
            number, prepare: { state throws(FileSystemError) in _ = try state.index.attributes(of: number) }
        ) { state throws(FileSystemError) in
            try state.tree.setExtendedAttribute(
                name, of: number, to: value, mode, groups: groups, &state.space)
        }
    }

    /// Sets attributes that are sent to other devices, all at once: as many as an item can have take as long as one.
    ///
    /// - Parameter attributes: Those that an item of its type can have, each once, with names and values of valid sizes.
    /// - Throws: `.noSpace`.
    func setSentAttributes(
        _ attributes: [ShownItem.ExtendedAttribute], of number: Int64
    ) throws(FileSystemError) {
        try ensureChangeable()
        try changingItem(
            number, prepare: { state throws(FileSystemError) in _ = try state.index.attributes(of: number) }
        ) { state throws(FileSystemError) in
            let item = try state.tree.item(number)
            var present: [[UInt8]: [UInt8]] = [:]
            for (name, value) in try state.index.attributes(of: number) { present[name] = value }
            try state.space.ensure(for: attributes.reduce(4096) { $0 + $1.value.count + 512 })
            item.row.changed = Clock.fileTime
            try state.tree.setAttributesFromElsewhere(attributes, of: item, having: &present)
        }
    }

    /// Removes an attribute.
    ///
    /// - Throws: `.attributeNotFound`, `.notSupported` for Coffer's own attributes.
    package func removeExtendedAttribute(_ name: [UInt8], of number: Int64) throws(FileSystemError) {
        try ensureChangeable()
        if ExtendedAttributeName.isReserved(name) { throw .notSupported }
        try changingItem(
            number, prepare: { state throws(FileSystemError) in _ = try state.index.attributes(of: number) }
        ) { state throws(FileSystemError) in
            try state.tree.removeExtendedAttribute(name, of: number)
        }
    }

    // MARK: Items without a name

    /// Items with more content than this are removed in the background.
    static let eraseAtOnceMax: Int64 = 64 << 20

    /// Records that an item is not used any more; removes it if it has no name.
    package func release(_ number: Int64) {
        let needsUpkeep = state.withLock { state in
            guard state.tree.orphans.contains(number) else { return false }
            let index = state.index
            index.failsForAbsentPages = pace.isSlow
            defer { index.failsForAbsentPages = false }
            let item: CachedItem
            do throws(FileSystemError) {
                item = try state.tree.item(number)
                if item.row.allocated > Self.eraseAtOnceMax { return true }
                if index.failsForAbsentPages { try state.prepareErasure(of: item.row) }
            } catch {
                state.noticeRollback()
                // Upkeep waits for the page; what is damaged stays.
                if case .pageAbsent = error { return true }
                return false
            }
            state.noticeRollback()
            if state.stopped != nil { return false }
            index.failsForAbsentPages = false
            do throws(FileSystemError) {
                try state.erase(item)
                upkeep.noteChanges(isUrgent: state.isCommitUrgent)
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

    /// The old versions of files among some items.
    package func outdatedVersions(among items: Set<Int64>) -> [OutdatedVersion] {
        state.withLock { state in
            state.tree.outdated.filter { items.contains($0.key) }.map { number, name in
                OutdatedVersion(
                    item: number, parent: name.parent, isRemoved: state.tree.removedElsewhere.contains(number)
                )
            }
        }
    }

    /// Makes writes to old versions keep them as files of their own, as before the vault was closed.
    ///
    /// For use before `start`.
    package func restore(_ versions: [OutdatedVersion]) {
        state.withLock { state in
            for version in versions where state.tree.orphans.contains(version.item) {
                state.tree.outdated[version.item] = version.place
                if version.isRemoved { state.tree.removedElsewhere.insert(version.item) }
            }
        }
    }
}

extension VaultState {
    /// Removes an item with its content and attributes.
    mutating func erase(_ item: CachedItem) throws(FileSystemError) {
        readAhead.end(item.row.number)
        try tree.keepAttributes(of: item)
        if item.row.allocated > 0 {
            try removeContent(of: item, 0..<Int64.max)
        }
        if item.row.flags.contains(.hasAttributes) {
            for (name, value) in try index.attributes(of: item.row.number) {
                try index.removeAttribute(name, of: item.row.number, value: value)
            }
        }
        if item.row.flags.contains(.hasPages) { try forgetPages(of: item) }
        try tree.erase(item)
        fragmented.remove(item.row.number)
    }
}
