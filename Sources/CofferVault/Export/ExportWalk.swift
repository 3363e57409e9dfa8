package import CofferFormat

/// The items of a vault as it was at a moment, in the order of an archive: the root, and each directory before what is in
/// it.
///
/// Only what other devices of a shared vault get, and the access lists, is in the entries: no owners, and no other times.
package struct ExportWalk {
    private let view: HistoryView
    private var isBegun = false
    /// What is still to come of the directories that lead to the present one, each in reverse: the root, and those of
    /// which `path` has the names.
    private var levels: [[HistoryView.Entry]] = []
    /// The first paths of files with several names, by their numbers.
    private var links: [Int64: [[UInt8]]] = [:]
    /// The names that lead to the item that was looked at last; where something failed.
    package private(set) var path: [[UInt8]] = []
    /// The paths of sockets, which an archive cannot have.
    package private(set) var sockets: [[[UInt8]]] = []

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
            path.removeLast(path.count - level)
            guard let entry = levels[level].popLast() else {
                levels.removeLast()
                continue
            }
            path.append(entry.name)
            if let step = try step(try view.attributes(of: entry.item)) { return step }
        }
        return nil
    }

    private mutating func step(_ item: Attributes) throws(FileSystemError) -> Step? {
        if item.type != .directory, item.links > 1 {
            if let first = links[item.number] { return step(item, .link(to: first), []) }
            links[item.number] = path
        }
        let kind: ArchiveEntry.Kind
        switch item.type {
        case .directory:
            kind = .directory
            levels.append(try view.entries(of: item.number).reversed())
        case .regular: kind = .file(size: item.size, data: try ranges(of: item))
        case .symbolicLink: kind = .symbolicLink(try view.readLink(item.number))
        case .fifo: kind = .fifo
        case .characterDevice: kind = .characterDevice(ArchiveDevice(item.device))
        case .blockDevice: kind = .blockDevice(ArchiveDevice(item.device))
        case .socket:
            links[item.number] = nil
            sockets.append(path)
            return nil
        case nil: throw .damaged(place: "the type of an item")
        }
        return step(item, kind, try exportedAttributes(of: item))
    }

    private func step(
        _ item: Attributes, _ kind: ArchiveEntry.Kind, _ attributes: [ArchiveEntry.Attribute]
    ) -> Step {
        Step(
            entry: ArchiveEntry(
                path: path, kind: kind, permissions: item.mode & ModeBits.permissions,
                modified: item.modified, attributes: attributes),
            item: item.number)
    }

    private func ranges(of item: Attributes) throws(FileSystemError) -> [Range<Int64>] {
        Self.fitting(
            try view.dataRanges(of: item.number), size: item.size, max: ArchiveLimits.rangeCountMax)
    }

    /// Ranges of whole blocks, at most `max` of them: the smallest holes between them become zeros in the archive, and
    /// holes again in an import.
    static func fitting(_ data: [Range<Int64>], size: Int64, max: Int) -> [Range<Int64>] {
        let count = Int64(ArchiveLimits.blockByteCount)
        let blocks = data.map {
            $0.lowerBound / count * count..<min(($0.upperBound + count - 1) / count * count, size)
        }
        let ranges = merged(blocks, across: 0)
        if ranges.count <= max { return ranges }
        let gaps = zip(ranges, ranges.dropFirst()).map { $1.lowerBound - $0.upperBound }.sorted()
        return merged(ranges, across: gaps[ranges.count - max - 1])
    }

    /// Makes one range of those between which there are no more bytes than `gap`.
    private static func merged(_ ranges: [Range<Int64>], across gap: Int64) -> [Range<Int64>] {
        var merged: [Range<Int64>] = []
        for range in ranges {
            if let last = merged.last, range.lowerBound - last.upperBound <= gap {
                merged[merged.count - 1] = last.lowerBound..<Swift.max(last.upperBound, range.upperBound)
            } else {
                merged.append(range)
            }
        }
        return merged
    }

    private func exportedAttributes(
        of item: Attributes
    ) throws(FileSystemError) -> [ArchiveEntry.Attribute] {
        try view.extendedAttributes(of: item.number)
            .filter { ExtendedAttributeName.isExported($0.name, of: item.type) }
            .map { ArchiveEntry.Attribute(name: $0.name, value: $0.value) }
    }
}
