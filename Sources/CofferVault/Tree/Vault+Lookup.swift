package import CofferFormat
internal import CofferStore
internal import CofferSystem

// Finding items, and reading what the index has about them.
extension Vault {
    /// The item that a name in a directory leads to; "." and ".." are names, too.
    ///
    /// - Throws: `.notFound`, `.notDirectory`, `.nameTooLong`.
    package func lookup(_ name: [UInt8], in parent: Int64) throws(FileSystemError) -> Attributes {
        guard name.count <= Self.nameByteCountMax else { throw .nameTooLong }
        return try reading { state throws(FileSystemError) in
            if name == [46] {
                // The kernel asks this for a file handle, after it has forgotten the item. The item may still
                // exist without a name, until the kernel's forget request arrives.
                let row = try state.peek(parent)
                guard row.links > 0 else { throw .stale }
                return Attributes(row)
            }
            if name == [46, 46] { return Attributes(try state.peek(try state.peek(parent).parent)) }
            guard
                let entry = try state.index.entry(name, in: parent)
            else {
                guard FileType(mode: try state.peek(parent).mode) == .directory else { throw .notDirectory }
                throw .notFound
            }
            return Attributes(try state.peek(entry.item))
        }
    }

    /// The attributes of an item, as for stat(2).
    package func attributes(of number: Int64) throws(FileSystemError) -> Attributes {
        try reading { state throws(FileSystemError) in Attributes(try state.peek(number)) }
    }

    /// The target of a symbolic link.
    package func readLink(_ number: Int64) throws(FileSystemError) -> [UInt8] {
        try reading { state throws(FileSystemError) in
            let row = try state.peek(number)
            guard FileType(mode: row.mode) == .symbolicLink else { throw .invalidArgument }
            return row.target
        }
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

    /// Lower cookies are those of "." and "..".
    private static let firstCookie: Int64 = 3

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
        return try reading { state throws(FileSystemError) in
            let directory = try state.peek(number)
            guard FileType(mode: directory.mode) == .directory else { throw .notDirectory }
            var entries: [Entry] = []
            let type = FileType.directory.rawValue
            if cookie < 1 {
                entries.append(Entry(name: [46], item: number, type: type, cookie: 1, attributes: nil))
            }
            if cookie < 2 {
                entries.append(
                    Entry(name: [46, 46], item: directory.parent, type: type, cookie: 2, attributes: nil))
            }
            guard directory.links > 0 else { return entries }
            let rows = try state.index.entries(
                in: number, after: max(cookie, Self.firstCookie - 1), limit: limit)
            for row in rows {
                var item: ItemRow?
                do throws(FileSystemError) {
                    item = attributes ? try state.peek(row.item) : nil
                } catch {
                    // One name without an item, or with a damaged page, must not hide the others.
                    switch error {
                    case .stale: dangling.append(row.item)
                    case .damaged: break
                    default: throw error
                    }
                }
                entries.append(
                    Entry(
                        name: row.name, item: row.item, type: row.type, cookie: row.cookie,
                        attributes: item.map { Attributes($0) }))
            }
            return entries
        }
    }

    /// The path of an item inside the vault, by one of its names as of the last commit; for messages.
    ///
    /// Reads all names, but without the vault's lock.
    package func path(of number: Int64) -> String {
        let path = try? state.withLock { state throws(FileSystemError) in try state.index.makeReader() }
            .path(of: number, below: Self.rootNumber)
        guard let path, !path.isEmpty else { return number == Self.rootNumber ? "/" : "item \(number)" }
        return path
    }

    /// The paths of items inside the vault, each by one of its names as of the last commit.
    ///
    /// Reads all names, but without the vault's lock.
    package func paths(of numbers: [Int64]) throws(FileSystemError) -> [Int64: String] {
        let reader = try state.withLock { state throws(FileSystemError) in try state.index.makeReader() }
        return try reader.paths(of: Set(numbers), below: Self.rootNumber)
    }
}
