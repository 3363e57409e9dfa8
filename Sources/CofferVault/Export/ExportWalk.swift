package import CofferFormat

/// The items of a vault as it was at a moment, in the order of an archive: the root, and each directory before what is in
/// it.
///
/// Only what other devices of a shared vault get, and the access lists, is in the entries: no owners, and no other times.
package struct ExportWalk {
    private let view: HistoryView
    private var isBegun = false
    /// The directories that lead to the present one, and what is still to come of each.
    private var levels: [Level] = []
    /// The first paths of files with several names, by their numbers.
    private var links: [Int64: [[UInt8]]] = [:]
    /// The names that lead to the item that was looked at last; where something failed.
    package private(set) var path: [[UInt8]] = []
    /// The paths of sockets, which an archive cannot have.
    package private(set) var sockets: [[[UInt8]]] = []

    private struct Level {
        let path: [[UInt8]]
        var entries: [HistoryView.Entry]
    }

    /// An entry, and the number of the item that it is about.
    package struct Step: Sendable {
        /// The entry.
        package let entry: ArchiveEntry
        /// The number.
        package let item: Int64
    }

    /// Begins with the root.
    package init(_ view: HistoryView) {
        self.view = view
    }

    /// The next entry; nil at the end.
    ///
    /// - Throws: What keeps the item at `path` from being read.
    package mutating func next() throws(FileSystemError) -> Step? {
        if !isBegun {
            isBegun = true
            return try step(try view.attributes(of: Vault.rootNumber))
        }
        while let level = levels.indices.last {
            guard let entry = levels[level].entries.popLast() else {
                levels.removeLast()
                continue
            }
            path = levels[level].path + [entry.name]
            if let step = try step(try view.attributes(of: entry.item)) { return step }
        }
        return nil
    }

    private mutating func step(_ item: Attributes) throws(FileSystemError) -> Step? {
        var kind: ArchiveEntry.Kind
        switch item.type {
        case .directory:
            kind = .directory
            levels.append(Level(path: path, entries: try view.entries(of: item.number).reversed()))
        case .regular: kind = .file(size: item.size, data: try ranges(of: item))
        case .symbolicLink: kind = .symbolicLink(try view.readLink(item.number))
        case .fifo: kind = .fifo
        case .characterDevice: kind = .characterDevice(ArchiveDevice(item.device))
        case .blockDevice: kind = .blockDevice(ArchiveDevice(item.device))
        case .socket:
            sockets.append(path)
            return nil
        case nil: throw .damaged(place: "the type of an item")
        }
        var attributes: [ArchiveEntry.Attribute] = []
        if item.type != .directory, item.links > 1 {
            if let first = links[item.number] { kind = .link(to: first) } else { links[item.number] = path }
        }
        if case .link = kind {} else { attributes = try exportedAttributes(of: item) }
        return Step(
            entry: ArchiveEntry(
                path: path, kind: kind, permissions: item.mode & ModeBits.permissions,
                modified: item.modified, attributes: attributes),
            item: item.number)
    }

    private func ranges(of item: Attributes) throws(FileSystemError) -> [Range<Int64>] {
        let count = Int64(ArchiveLimits.blockByteCount)
        var blocks = RangeSet<Int64>()
        for range in try view.dataRanges(of: item.number) {
            let end = (range.upperBound + count - 1) / count * count
            blocks.insert(contentsOf: range.lowerBound / count * count..<min(end, item.size))
        }
        let ranges = Array(blocks.ranges)
        // With so many holes, they are zeros in the archive, and holes again after an import.
        return ranges.count > ArchiveLimits.rangeCountMax ? [0..<item.size] : ranges
    }

    private func exportedAttributes(
        of item: Attributes
    ) throws(FileSystemError) -> [ArchiveEntry.Attribute] {
        try view.extendedAttributes(of: item.number).filter { ExtendedAttributeName.isExported($0.name) }
            .map { ArchiveEntry.Attribute(name: $0.name, value: $0.value) }
    }
}
