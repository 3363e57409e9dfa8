internal import CofferFacts
package import CofferFormat
internal import CofferStore
internal import CofferSystem

// Copying what only this device has to another vault, before it is removed from this one.
extension Incoming {
    /// Copies items to another vault, each to its path in this vault.
    ///
    /// When it is repeated, it makes no second copies of what is already there. If bytes that were written on
    /// this device are damaged, the copy has a hole; the problem log names the file.
    ///
    /// - Parameters:
    ///   - items: The items to copy; those without a name are skipped.
    ///   - unsent: Whether to include files that were created or written to on this device and are in no
    ///     commit.
    ///   - place: Opens the other vault; called if there is something to copy.
    /// - Throws: `.busy` if items keep being moved; any error that keeps a content from being read that may
    ///   be readable later.
    /// - Returns: The number of items copied.
    package func setAside(
        _ items: [ItemID], andUnsent unsent: Bool, in place: () throws(FileSystemError) -> Vault
    ) throws(FileSystemError) -> Int {
        let numbers = try vault.exchanging.withLock { _ throws(FileSystemError) in
            defer { vault.facts.close() }
            var numbers = unsent ? try unsentNumbers() : []
            try vault.reading { state throws(FileSystemError) in
                for id in items {
                    if let row = try state.row(id, nil) { numbers.insert(row.number) }
                }
            }
            return numbers
        }
        guard !numbers.isEmpty else { return 0 }
        return try withoutActuallyEscaping(place) { place throws(FileSystemError) in
            let copying = SettingAside(of: vault, numbers, in: place)
            try copying.run()
            return copying.count
        }
    }

    /// Items that were created, and files that were written to, on this device and are in no commit.
    private func unsentNumbers() throws(FileSystemError) -> Set<Int64> {
        try vault.changing { state throws(FileSystemError) in
            try state.tree.storeItems()
            state.tree.asideChanges = state.tree.localChanges
            var numbers: Set<Int64> = []
            try state.tree.forEachUnsent { row throws(FileSystemError) in
                if !row.unsent.isDisjoint(with: [.existence, .content]) { numbers.insert(row.number) }
            }
            try state.tree.forEachJournalRecord { record throws(FileSystemError) in
                if case .make(let item, _) = record { numbers.insert(item.number) }
            }
            return numbers
        }
    }
}

extension ItemTree {
    /// The number of items that are looked up at a time.
    private static let unsentPageCount = 1000

    /// Runs `body` with each existing item whose changes are not in facts, as of the last `storeItems`.
    func forEachUnsent(_ body: (ItemRow) throws(FileSystemError) -> Void) throws(FileSystemError) {
        var last: Int64 = 0
        while true {
            let page = try index.unsentItems(after: last, limit: Self.unsentPageCount)
            guard let end = page.last else { return }
            last = end
            for number in page {
                if let row = try row(number) { try body(row) }
            }
        }
    }

    /// Runs `body` with each record of the journal, in order, as of the last `storeItems`.
    ///
    /// - Returns: The number of the last row.
    @discardableResult
    func forEachJournalRecord(
        _ body: (JournalRecord) throws(FileSystemError) -> Void
    ) throws(FileSystemError) -> Int64 {
        var last: Int64 = 0
        while true {
            let page = try index.journal(after: last, limit: 64)
            if page.isEmpty { return last }
            for row in page {
                last = row.number
                let records: [JournalRecord]
                do throws(FormatError) {
                    records = try unsafe JournalRecord.records(row.record.span.bytes)
                } catch {
                    throw .damaged(place: "the journal in the index")
                }
                for record in records { try body(record) }
            }
        }
    }
}

/// Copies items of a vault to another, by their paths.
private final class SettingAside {
    private static let pageCount = 1000
    private static let bufferByteCount = 1 << 20
    /// The number of bytes that are read at a time where some are damaged.
    private static let pieceByteCount = 4096
    /// How often all directories are searched, as items may be moved in the meantime.
    private static let walkCountMax = 5
    /// The name of a file in the target until its copy is complete.
    private static let partName = Array(".coffer-part".utf8)

    private let source: Vault
    private let place: () throws(FileSystemError) -> Vault
    /// The items that are still to be copied.
    private var rest: Set<Int64>
    private let buffer = AlignedBuffer(count: bufferByteCount)
    private let otherBuffer = AlignedBuffer(count: bufferByteCount)
    private var target: Vault?
    /// Items of the target, by the items that they are copies of.
    private var copies: [Int64: Int64] = [Vault.rootNumber: Vault.rootNumber]
    private(set) var count = 0

    /// A directory to search.
    private struct Directory {
        let number: Int64
        /// The names from the root.
        let path: [[UInt8]]
        /// The directories from the root, including this one.
        let numbers: [Int64]
    }

    init(of source: Vault, _ numbers: Set<Int64>, in place: @escaping () throws(FileSystemError) -> Vault) {
        (self.source, rest, self.place) = (source, numbers, place)
    }

    func run() throws(FileSystemError) {
        for _ in 0..<Self.walkCountMax where !rest.isEmpty { try walk() }
        for number in rest {
            // An item without a name has no path.
            let isThere = try source.reading { state throws(FileSystemError) in
                try state.tree.row(number)?.links ?? 0 > 0
            }
            if isThere { throw .busy }
        }
        try target?.commit()
    }

    private func walk() throws(FileSystemError) {
        var directories = [Directory(number: Vault.rootNumber, path: [], numbers: [Vault.rootNumber])]
        while let directory = directories.popLast() {
            var cookie: Int64 = 2
            while true {
                let page = try source.readDirectory(
                    directory.number, after: cookie, limit: Self.pageCount, attributes: false)
                guard let last = page.last else { break }
                cookie = last.cookie
                for entry in page {
                    if rest.contains(entry.item) || copies[entry.item] != nil {
                        try copy(entry, in: directory)
                    }
                    guard entry.type == FileType.directory.rawValue else { continue }
                    directories.append(
                        Directory(
                            number: entry.item, path: directory.path + [entry.name],
                            numbers: directory.numbers + [entry.item]))
                }
            }
        }
    }

    private func openTarget() throws(FileSystemError) -> Vault {
        if let target { return target }
        let opened = try place()
        target = opened
        return opened
    }

    private func copy(_ entry: Vault.Entry, in directory: Directory) throws(FileSystemError) {
        let target = try openTarget()
        if entry.type == FileType.directory.rawValue {
            _ = try copyDirectory(
                path: directory.path + [entry.name], numbers: directory.numbers + [entry.item], target)
            if rest.remove(entry.item) != nil { count += 1 }
            return
        }
        let parent = try copyDirectory(path: directory.path, numbers: directory.numbers, target)
        if let known = copies[entry.item] {
            if try find(entry.name, in: parent, target) == nil {
                _ = try target.link(known, as: entry.name, in: parent)
                show(entry.name, in: parent, target)
            }
            return
        }
        copies[entry.item] = try copyItem(entry, to: parent, target)
        count += 1
        rest.remove(entry.item)
    }

    /// The directory at a path in the target, created if it is missing.
    private func copyDirectory(
        path: [[UInt8]], numbers: [Int64], _ target: Vault
    ) throws(FileSystemError) -> Int64 {
        var parent = Vault.rootNumber
        for (name, number) in zip(path, numbers.dropFirst()) {
            if let known = copies[number] {
                parent = known
                continue
            }
            let attributes = try source.attributes(of: number)
            var wanted = name
            var found = try find(name, in: parent, target)
            if let other = found, other.type != .directory {
                wanted = try Self.name(like: name, 1)
                found = try find(wanted, in: parent, target)
            }
            if let found, found.type == .directory {
                parent = found.number
            } else {
                let new = Vault.NewItem(mode: attributes.mode)
                let made = try target.create(new, named: wanted, in: parent, by: owner(attributes))
                show(wanted, in: parent, target)
                parent = made.number
            }
            copies[number] = parent
        }
        return parent
    }

    private func copyItem(
        _ entry: Vault.Entry, to parent: Int64, _ target: Vault
    ) throws(FileSystemError) -> Int64 {
        let attributes = try source.attributes(of: entry.item)
        var name = entry.name
        var number = 0
        // Similar names belong to other files, or to a copy that was made before.
        while let other = try find(name, in: parent, target) {
            if try isCopy(other, of: attributes, target) { return other.number }
            number += 1
            name = try Self.name(like: entry.name, number)
        }
        let made = try makePart(attributes, in: parent, target)
        _ = try target.rename(Self.partName, in: parent, to: name, in: parent, .keep)
        show(name, in: parent, target)
        return made
    }

    /// Creates a copy under a name that says that it may be incomplete: a crash or an error may leave it so.
    private func makePart(
        _ attributes: Attributes, in parent: Int64, _ target: Vault
    ) throws(FileSystemError) -> Int64 {
        if try find(Self.partName, in: parent, target) != nil {
            _ = try target.unlink(Self.partName, in: parent)
        }
        let source = attributes.number
        let link = attributes.type == .symbolicLink ? try self.source.readLink(source) : []
        let new = Vault.NewItem(mode: attributes.mode, device: attributes.device, target: link)
        let number = try target.create(new, named: Self.partName, in: parent, by: owner(attributes)).number
        if attributes.type == .regular { try copyContent(of: attributes, to: number, target) }
        for name in try self.source.extendedAttributeNames(of: source) {
            let value = try self.source.extendedAttribute(name, of: source)
            try target.setExtendedAttribute(name, of: number, to: value, .any)
        }
        var changes = AttributeChanges()
        if attributes.type != .symbolicLink { changes.mode = attributes.mode }
        changes.modified = .at(attributes.modified)
        _ = try target.setAttributes(of: number, changes)
        return number
    }

    private func copyContent(
        of attributes: Attributes, to number: Int64, _ target: Vault
    ) throws(FileSystemError) {
        let isSparse = attributes.allocated < attributes.size
        var offset: Int64 = 0
        while offset < attributes.size {
            let count = try read(attributes, at: offset)
            if count == 0 { break }
            try buffer.withBytes(0..<count) { bytes throws(FileSystemError) in
                // A hole stays a hole.
                if isSparse, bytes.array.allSatisfy({ $0 == 0 }) { return }
                try target.contents.write(
                    bytes, to: number, at: offset, touches: true, dropsPrivileges: false)
            }
            offset += Int64(count)
        }
        var changes = AttributeChanges()
        changes.size = max(offset, attributes.size)
        _ = try target.setAttributes(of: number, changes)
    }

    /// Reads a part of a file into the buffer; bytes that were written on this device and are damaged become
    /// zeros.
    private func read(_ attributes: Attributes, at offset: Int64) throws(FileSystemError) -> Int {
        let (number, size) = (attributes.number, Self.bufferByteCount)
        do throws(FileSystemError) {
            return try source.contents.read(number, at: offset, count: size, into: buffer)
        } catch {
            guard case .damaged = error else { throw error }
            // Contents that are only on the remote may be repaired there.
            let range = offset..<min(offset + Int64(size), attributes.size)
            guard try source.contents.missingExtents(of: number, range).isEmpty else { throw error }
        }
        let count = Int(min(Int64(size), attributes.size - offset))
        for place in stride(from: 0, to: count, by: Self.pieceByteCount) {
            do throws(FileSystemError) {
                _ = try source.contents.read(
                    number, at: offset + Int64(place), count: min(Self.pieceByteCount, count - place),
                    into: buffer, place: place)
            } catch {
                guard case .damaged = error else { throw error }
                buffer.withMutableBytes(place..<min(place + Self.pieceByteCount, count)) { $0.zero() }
            }
        }
        return count
    }

    /// Whether an item of the target is an earlier copy of an item of the source.
    private func isCopy(
        _ other: Attributes, of attributes: Attributes, _ target: Vault
    ) throws(FileSystemError) -> Bool {
        guard other.type == attributes.type else { return false }
        if other.type == .symbolicLink {
            return try target.readLink(other.number) == source.readLink(attributes.number)
        }
        guard other.type == .regular else { return other.device == attributes.device }
        guard other.size == attributes.size else { return false }
        var offset: Int64 = 0
        while offset < attributes.size {
            let count = try read(attributes, at: offset)
            let otherCount = try target.contents.read(
                other.number, at: offset, count: Self.bufferByteCount, into: otherBuffer)
            guard count == otherCount, count > 0 else { return false }
            let bytes = buffer.withBytes(0..<count) { $0.array }
            guard otherBuffer.withBytes(0..<count, { $0.array }) == bytes else { return false }
            offset += Int64(count)
        }
        return true
    }

    private func find(
        _ name: [UInt8], in parent: Int64, _ target: Vault
    ) throws(FileSystemError) -> Attributes? {
        do throws(FileSystemError) { return try target.lookup(name, in: parent) } catch {
            if case .notFound = error { return nil }
            throw error
        }
    }

    /// A name similar to one that is taken.
    private static func name(like name: [UInt8], _ number: Int) throws(FileSystemError) -> [UInt8] {
        guard let name = EntryName(name) else { throw .invalidArgument }
        let wanted = ConflictName.wanted(for: name, milliseconds: UInt64(max(0, Clock.realTime) / 1_000_000))
        return ConflictName.numbered(wanted, number).bytes
    }

    /// Shows a new name to programs.
    private func show(_ name: [UInt8], in parent: Int64, _ target: Vault) {
        target.sink.withLock { $0 }?.noteAtOnce(.entry(Vault.Name(name, in: parent)), in: target)
    }

    private func owner(_ attributes: Attributes) -> Caller {
        Caller(user: attributes.user, group: attributes.group, umask: 0)
    }
}
