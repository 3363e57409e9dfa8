internal import CofferFormat
internal import CofferStore
internal import CofferSystem

// Finding items, and reading what the index has about them.
extension ItemTree {
    /// The item that a name in a directory leads to; "." and ".." are names, too.
    func lookup(_ name: [UInt8], in parent: Int64) throws(FileSystemError) -> Attributes {
        if name == [46] {
            // The kernel asks this for a file handle, after it has forgotten the item. The item may still
            // exist without a name, until the kernel's forget request arrives.
            let row = try peek(parent)
            guard row.links > 0 else { throw .stale }
            return Attributes(row)
        }
        if name == [46, 46] { return Attributes(try peek(try peek(parent).parent)) }
        guard let entry = try index.entry(name, in: parent) else {
            guard FileType(mode: try peek(parent).mode) == .directory else { throw .notDirectory }
            throw .notFound
        }
        return shown(try peek(entry.item))
    }

    /// The attributes of an item as a lookup shows them: of a growing file, the size that the kernel knows.
    ///
    /// The kernel may have forgotten the file. It would then learn the new size before `VaultState.divideIfGrowing`
    /// counts on that.
    private func shown(_ row: ItemRow) -> Attributes {
        var attributes = Attributes(row)
        if !growing.isEmpty, let known = growing[row.number] { attributes.size = min(row.size, known.size) }
        return attributes
    }

    /// The target of a symbolic link.
    func readLink(_ number: Int64) throws(FileSystemError) -> [UInt8] {
        let row = try peek(number)
        guard FileType(mode: row.mode) == .symbolicLink else { throw .invalidArgument }
        return row.target
    }

    /// Lower cookies are those of "." and "..".
    private static let firstCookie: Int64 = 3

    /// Reads up to `limit` entries of a directory after `cookie` (0 for the start); none at the end.
    ///
    /// - Parameter dangling: Receives the numbers of items that are missing.
    func readDirectory(
        _ number: Int64, after cookie: Int64, limit: Int, attributes: Bool, dangling: inout [Int64]
    ) throws(FileSystemError) -> [Vault.Entry] {
        let directory = try peek(number)
        guard FileType(mode: directory.mode) == .directory else { throw .notDirectory }
        var entries: [Vault.Entry] = []
        let type = FileType.directory.rawValue
        if cookie < 1 {
            entries.append(Vault.Entry(name: [46], item: number, type: type, cookie: 1, attributes: nil))
        }
        if cookie < 2 {
            entries.append(
                Vault.Entry(name: [46, 46], item: directory.parent, type: type, cookie: 2, attributes: nil))
        }
        guard directory.links > 0 else { return entries }
        let rows = try index.entries(
            in: number, after: max(cookie, Self.firstCookie - 1), limit: limit)
        for row in rows {
            var item: ItemRow?
            do throws(FileSystemError) {
                item = attributes ? try peek(row.item) : nil
            } catch {
                // One name without an item, or with a damaged page, must not hide the others.
                switch error {
                case .stale: dangling.append(row.item)
                case .damaged: break
                default: throw error
                }
            }
            entries.append(
                Vault.Entry(
                    name: row.name, item: row.item, type: row.type, cookie: row.cookie,
                    attributes: item.map { shown($0) }))
        }
        return entries
    }
}
