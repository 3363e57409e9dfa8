internal import CofferCrypto
package import CofferFormat
internal import CofferStore
internal import CofferSystem

// Creating names.
extension Vault {
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
    /// The maximum number of names of an item, and of directories in a directory.
    static let linksMax: UInt32 = 2_000_000_000

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
            let directory = try state.directory(parent)
            guard try state.index.entry(name, in: parent) == nil else { throw .alreadyExists }
            try self.ensureSpace(for: 8192, state)
            let time = Clock.fileTime
            var row = ItemRow(
                number: state.index.nextItemNumber(), id: .made(at: time), mode: new.mode, user: caller.user,
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
            try self.inheritAccessLists(&row, from: directory.row, umask: caller.umask, state)
            try self.insertEntry(name, in: directory, to: row.number, type, time, state)
            if type == .directory { directory.row.links += 1 }
            let item = state.add(row)
            try state.noteMade(item, name, in: directory)
            return Attributes(item.row)
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
            let item = try state.item(number)
            guard let type = item.type, type != .directory else { throw .notPermitted }
            let directory = try state.directory(parent)
            guard item.row.links > 0 else { throw .notFound }
            guard item.row.links < Self.linksMax else { throw .tooManyLinks }
            guard try state.index.entry(name, in: parent) == nil else { throw .alreadyExists }
            try self.ensureSpace(for: 8192, state)
            let time = Clock.fileTime
            try self.insertEntry(name, in: directory, to: number, type, time, state)
            item.row.links += 1
            item.row.changed = time
            state.touch(item, [])
            try state.noteLinked(item, name, in: directory)
            return Attributes(item.row)
        }
    }

    /// Adds a name to a directory and sets the directory's times.
    ///
    /// - Parameter cookie: Its place in the reading order; nil for the last.
    func insertEntry(
        _ name: [UInt8], in directory: CachedItem, to item: Int64, _ type: FileType, _ time: Int64,
        cookie: Int64? = nil, _ state: VaultState
    ) throws(FileSystemError) {
        let row = EntryRow(
            parent: directory.row.number, name: name, item: item, type: type.rawValue,
            cookie: cookie ?? state.index.nextCookie())
        try state.index.insert(row)
        stamp(directory, time, state)
    }

    /// Sets the times of a directory whose names changed.
    func stamp(_ directory: CachedItem, _ time: Int64, _ state: VaultState) {
        directory.row.modified = time
        directory.row.changed = time
        state.touch(directory, .times)
    }
}
