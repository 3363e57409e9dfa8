package import CofferFormat

extension IndexReader {
    /// Names that contain some bytes, with their directories and the items that they lead to.
    ///
    /// Reads all names.
    package func names(
        containing part: [UInt8], limit: Int
    ) throws(FileSystemError) -> [(parent: Int64, name: [UInt8], item: Int64)] {
        var found: [(parent: Int64, name: [UInt8], item: Int64)] = []
        try database.prepare(
            "SELECT parent, name, item FROM \(entries) WHERE instr(name, ?) > 0 ORDER BY parent, name LIMIT ?"
        ).each(
            {
                $0.bind(1, part)
                $0.bind(2, Int64(limit))
            },
            { row throws(FileSystemError) in
                found.append((row.integer(0), row.bytes(1), row.integer(2)))
                return true
            })
        return found
    }

    /// The item that a name in a directory leads to; nil if there is no such name.
    package func item(named name: [UInt8], in parent: Int64) throws(FileSystemError) -> Int64? {
        try database.prepare("SELECT item FROM entries WHERE parent = ? AND name = ?").first(
            {
                $0.bind(1, parent)
                $0.bind(2, name)
            }, { $0.integer(0) })
    }

    /// The paths of items, each by one of its names; reads all names once.
    package func paths(of items: Set<Int64>, below root: Int64) throws(FileSystemError) -> [Int64: String] {
        var found: [Int64: (parent: Int64, name: [UInt8])] = [:]
        try database.prepare("SELECT item, parent, name FROM \(entries)").each({ _ in }) {
            row throws(FileSystemError) in
            if items.contains(row.integer(0)) { found[row.integer(0)] = (row.integer(1), row.bytes(2)) }
            return true
        }
        var paths: [Int64: String] = [:]
        for (item, place) in found {
            let directory = try path(ofDirectory: place.parent, below: root)
            paths[item] = String(decoding: directory + place.name, as: UTF8.self)
        }
        return paths
    }

    /// The path from directory `root` to an item, by one of its names.
    ///
    /// Incomplete if a name is missing, empty if the item has none. Reads all names once to find a file.
    package func path(of item: Int64, below root: Int64) throws(FileSystemError) -> String {
        guard item != root, let row = try self.item(item), row.links > 0 else { return "" }
        // Directories have a parent.
        if row.parent != 0 {
            return String(decoding: try path(ofDirectory: item, below: root).dropLast(), as: UTF8.self)
        }
        let names = try database.prepare("SELECT \(EntryRow.columns) FROM \(entries) WHERE item = ?")
        guard let entry = try names.first({ $0.bind(1, item) }, { EntryRow($0) }) else { return "" }
        return String(decoding: try path(ofDirectory: entry.parent, below: root) + entry.name, as: UTF8.self)
    }

    /// The path from directory `root` to another one, with a slash after each name.
    package func path(ofDirectory number: Int64, below root: Int64) throws(FileSystemError) -> [UInt8] {
        let names = try database.prepare("SELECT name FROM entries WHERE parent = ? AND item = ?")
        var path: [UInt8] = []
        var (number, depth) = (number, 0)
        while number != root, depth < Self.depthMax, let item = try item(number) {
            let (parent, child) = (item.parent, number)
            let name = try names.first(
                {
                    $0.bind(1, parent)
                    $0.bind(2, child)
                }, { $0.bytes(0) })
            guard let name else { break }
            path = name + [UInt8(ascii: "/")] + path
            number = parent
            depth += 1
        }
        return path
    }

    private static var depthMax: Int { 4096 }
}
