internal import CofferFacts
package import CofferFormat
internal import CofferStore
internal import CofferSystem

/// Why an entry of an archive cannot become an item.
package enum ImportProblem: Error {
    /// No entry before it is the directory that it would be in.
    case noDirectory
    /// Another entry has its path.
    case duplicate
    /// It is a further name of something that no entry before it is, or of a directory.
    case noTarget
    /// It has an extended attribute that vaults do not take from others.
    case attribute(name: [UInt8])
    /// The names of its extended attributes have more bytes together than those of an item can have.
    case tooManyAttributes
    /// With it, the files are larger together than numbers reach.
    case tooMuchContent
    /// The vault cannot store it.
    case vault(FileSystemError)
}

/// Makes the items of a new, empty vault from the entries of an archive.
///
/// Each entry is checked as if an enemy had written it. Blocks of zeros become holes.
package struct TreeImport {
    private static let blockByteCount = 4096

    private let vault: Vault
    private let owner: Caller
    /// The directory of the last entry, which is mostly that of the next one.
    private var parent: (path: [[UInt8]], number: Int64) = ([], Vault.rootNumber)
    private var file: File?
    /// What directories get at the end: what is made in them changes their times, and some permissions keep anything from
    /// being made.
    private var directories: [(number: Int64, permissions: UInt32, modified: Int64)] = []
    /// The number of items made.
    package private(set) var items = 0
    /// The bytes of content in files, holes included.
    package private(set) var bytes: Int64 = 0

    private struct File {
        let number: Int64
        let size: Int64
        let entry: ArchiveEntry
    }

    /// - Parameter owner: The user and group of all items.
    package init(_ vault: Vault, owner: Caller) {
        self.vault = vault
        self.owner = owner
    }

    /// Makes the item of an entry, and completes the one before it.
    package mutating func begin(_ entry: ArchiveEntry) throws(ImportProblem) {
        try completeFile()
        guard let name = entry.path.last else {
            try checkAttributes(of: entry, .directory)
            try setAttributes(of: Vault.rootNumber, entry, isNew: false)
            return directories.append((Vault.rootNumber, entry.permissions, entry.modified))
        }
        let parent = try directory(Array(entry.path.dropLast()))
        if case .link(let target) = entry.kind { return try link(target, name, in: parent) }
        var new = Vault.NewItem(mode: 0)
        switch entry.kind {
        case .directory: new.mode = FileType.directory.modeBits | 0o700
        case .file: new.mode = FileType.regular.modeBits | 0o600
        case .symbolicLink(let target):
            new.mode = FileType.symbolicLink.modeBits | 0o777
            new.target = target
        case .fifo: new.mode = FileType.fifo.modeBits | 0o600
        case .characterDevice(let device):
            new.mode = FileType.characterDevice.modeBits | 0o600
            new.device = device.number
        case .blockDevice(let device):
            new.mode = FileType.blockDevice.modeBits | 0o600
            new.device = device.number
        case .link: return
        }
        try checkAttributes(of: entry, FileType(mode: new.mode))
        if case .file(let size, _) = entry.kind { try count(size) }
        let number = try make(new, name, in: parent)
        items += 1
        if case .file(let size, _) = entry.kind {
            file = File(number: number, size: size, entry: entry)
            return
        }
        try setAttributes(of: number, entry, isNew: true)
        if entry.kind == .directory {
            directories.append((number, entry.permissions, entry.modified))
        } else {
            try setRights(of: number, entry)
        }
    }

    /// Few entries with holes say more than a number can count.
    private mutating func count(_ size: Int64) throws(ImportProblem) {
        let (sum, overflows) = bytes.addingReportingOverflow(size)
        if overflows { throw .tooMuchContent }
        bytes = sum
    }

    /// Writes content of the file that the last entry is.
    package func write(_ bytes: RawSpan, at offset: Int64) throws(ImportProblem) {
        guard let file else { return }
        var start = 0
        while start < bytes.byteCount {
            // A run of blocks that are all zeros, or all not.
            let isHole = Self.isZero(bytes, Self.block(at: start, offset, bytes.byteCount))
            var end = start
            while end < bytes.byteCount {
                let block = Self.block(at: end, offset, bytes.byteCount)
                guard Self.isZero(bytes, block) == isHole else { break }
                end = block.upperBound
            }
            if !isHole {
                let run = bytes.extracting(start..<end)
                try changing { () throws(FileSystemError) in
                    try vault.contents.write(
                        run, to: file.number, at: offset + Int64(start), touches: false,
                        dropsPrivileges: false)
                }
            }
            start = end
        }
    }

    /// Completes the tree, and stores it.
    package mutating func finish() throws(ImportProblem) {
        try completeFile()
        while let directory = directories.popLast() {
            var changes = AttributeChanges()
            changes.mode = directory.permissions
            changes.modified = .at(directory.modified)
            try changing { () throws(FileSystemError) in
                _ = try vault.setAttributes(of: directory.number, changes)
            }
        }
        try changing { () throws(FileSystemError) in try vault.commit() }
    }

    // MARK: Names

    private mutating func directory(_ path: [[UInt8]]) throws(ImportProblem) -> Int64 {
        if path == parent.path { return parent.number }
        guard let item = try item(at: path), item.type == .directory else { throw .noDirectory }
        parent = (path, item.number)
        return item.number
    }

    /// The item of an earlier entry; nil if there is none.
    ///
    /// Symbolic links are not followed.
    private func item(at path: [[UInt8]]) throws(ImportProblem) -> Attributes? {
        do throws(FileSystemError) {
            var item = try vault.attributes(of: Vault.rootNumber)
            for name in path { item = try vault.lookup(name, in: item.number) }
            return item
        } catch {
            switch error {
            case .notFound, .notDirectory: return nil
            default: throw .vault(error)
            }
        }
    }

    private mutating func link(
        _ target: [[UInt8]], _ name: [UInt8], in parent: Int64
    ) throws(ImportProblem) {
        guard let item = try item(at: target), item.type != .directory else { throw .noTarget }
        do throws(FileSystemError) {
            _ = try vault.link(item.number, as: name, in: parent)
        } catch {
            if case .alreadyExists = error { throw .duplicate }
            throw .vault(error)
        }
    }

    private func make(
        _ new: Vault.NewItem, _ name: [UInt8], in parent: Int64
    ) throws(ImportProblem) -> Int64 {
        do throws(FileSystemError) {
            return try vault.create(new, named: name, in: parent, by: owner).number
        } catch {
            if case .alreadyExists = error { throw .duplicate }
            throw .vault(error)
        }
    }

    // MARK: Attributes

    private mutating func completeFile() throws(ImportProblem) {
        guard let file else { return }
        self.file = nil
        try changing { () throws(FileSystemError) in
            var changes = AttributeChanges()
            changes.size = file.size
            _ = try vault.setAttributes(of: file.number, changes)
        }
        try setAttributes(of: file.number, file.entry, isNew: true)
        try setRights(of: file.number, file.entry)
    }

    /// Checks what an entry has before anything is made of it.
    private func checkAttributes(of entry: ArchiveEntry, _ type: FileType?) throws(ImportProblem) {
        var byteCount = 0
        for attribute in entry.attributes {
            guard ExtendedAttributeName.isExported(attribute.name, of: type),
                attribute.value.count <= ItemTree.valueByteCountMax
            else { throw .attribute(name: attribute.name) }
            byteCount += attribute.name.count + 1
        }
        if byteCount > ItemTree.valueByteCountMax { throw .tooManyAttributes }
    }

    /// Sets the extended attributes, in the place of those that the directory passed on.
    private func setAttributes(
        of number: Int64, _ entry: ArchiveEntry, isNew: Bool
    ) throws(ImportProblem) {
        try changing { () throws(FileSystemError) in
            if isNew {
                for name in try vault.extendedAttributeNames(of: number) {
                    try vault.removeExtendedAttribute(name, of: number)
                }
            }
            let sent = entry.attributes.filter { ExtendedAttributeName.isSent($0.name) }
            if sent.isEmpty { return }
            try vault.setSentAttributes(
                sent.map { ShownItem.ExtendedAttribute(name: $0.name, value: $0.value) }, of: number)
        }
        for list in entry.attributes where !ExtendedAttributeName.isSent(list.name) {
            do throws(FileSystemError) {
                try vault.setExtendedAttribute(list.name, of: number, to: list.value, .any)
            } catch {
                guard case .invalidArgument = error else { throw .vault(error) }
                throw .attribute(name: list.name)
            }
        }
    }

    private func setRights(of number: Int64, _ entry: ArchiveEntry) throws(ImportProblem) {
        try changing { () throws(FileSystemError) in
            var changes = AttributeChanges()
            if case .symbolicLink = entry.kind {} else { changes.mode = entry.permissions }
            changes.modified = .at(entry.modified)
            _ = try vault.setAttributes(of: number, changes)
        }
    }

    private func changing(_ body: () throws(FileSystemError) -> Void) throws(ImportProblem) {
        do throws(FileSystemError) { try body() } catch { throw .vault(error) }
    }

    // MARK: Holes

    /// The part of a block of the file that begins at a place in bytes at an offset.
    private static func block(at start: Int, _ offset: Int64, _ count: Int) -> Range<Int> {
        let rest = blockByteCount - Int((offset + Int64(start)) % Int64(blockByteCount))
        return start..<min(start + rest, count)
    }

    private static func isZero(_ bytes: RawSpan, _ range: Range<Int>) -> Bool {
        var place = range.lowerBound
        while place + 8 <= range.upperBound {
            if bytes.littleEndian(at: place, as: UInt64.self) != 0 { return false }
            place += 8
        }
        return (place..<range.upperBound).allSatisfy { bytes.byte(at: $0) == 0 }
    }
}
