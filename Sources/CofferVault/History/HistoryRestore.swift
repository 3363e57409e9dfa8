internal import CofferCrypto
package import CofferFormat
internal import CofferStore
internal import CofferSystem
internal import Glibc

/// Bringing items back as they were in an earlier state.
///
/// Each step is a change as programs make them, so the present state becomes part of the history, too.
struct HistoryRestore {
    private static let pieceByteCount = 1 << 20

    let vault: Vault
    let view: HistoryView
    /// Whether items go that were not there.
    let isExact: Bool
    /// Called after each item; returns whether the caller still waits.
    let step: (History.Restored) -> Bool
    private(set) var restored = History.Restored()
    /// Items from this number on came while the restore went on.
    ///
    /// No state has them, so they stay.
    private let newest: Int64
    /// The new numbers of files with several names, by the old numbers.
    private var links: [Int64: Int64] = [:]
    private let buffer = AlignedBuffer(count: pieceByteCount)
    private let presentBuffer = AlignedBuffer(count: pieceByteCount)

    init(
        _ vault: Vault, _ view: HistoryView, isExact: Bool, newest: Int64,
        step: @escaping (History.Restored) -> Bool
    ) {
        self.vault = vault
        self.view = view
        self.isExact = isExact
        self.newest = newest
        self.step = step
    }

    /// Restores what a path led to, and the directories on the way to it that are gone.
    ///
    /// - Throws: `.notFound` if it led to nothing, `.notDirectory` if a part of it is not a directory now.
    mutating func run(_ path: [UInt8]) throws(FileSystemError) {
        var past = try view.attributes(of: Vault.rootNumber)
        let names = path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: true).map {
            Array($0)
        }
        _ = try view.item(atPath: path)
        var parent = Vault.rootNumber
        if names.isEmpty { return try restoreNames(of: past, in: parent) }
        for (place, name) in names.enumerated() {
            past = try view.lookup(name, in: past.number)
            if place == names.count - 1 { return try restore(past, name, in: parent) }
            if let present = try present(name, in: parent) {
                guard present.type == .directory else { throw .notDirectory }
                parent = present.number
            } else {
                let directory = try make(past, name, in: parent)
                try show(past, directory, name, in: parent)
                parent = directory
            }
        }
    }

    private func present(_ name: [UInt8], in parent: Int64) throws(FileSystemError) -> Attributes? {
        do throws(FileSystemError) { return try vault.lookup(name, in: parent) } catch {
            guard case .notFound = error else { throw error }
            return nil
        }
    }

    private mutating func restore(
        _ past: Attributes, _ name: [UInt8], in parent: Int64
    ) throws(FileSystemError) {
        let present = try present(name, in: parent)
        if past.type == .directory {
            try restoreDirectory(past, present, name, in: parent)
        } else if let present, present.type != .directory, present.number >= newest {
            restored.kept += 1
        } else if let present, try isSame(past, present) {
            restored.unchanged += 1
        } else {
            if present?.type == .directory {
                guard isExact else { throw .isDirectory }
                guard try remove(name, in: parent) else { return }
            }
            try restoreFile(past, name, in: parent)
        }
        if !step(restored) { throw .system(SystemError("restore", code: EINTR)) }
    }

    private mutating func restoreDirectory(
        _ past: Attributes, _ present: Attributes?, _ name: [UInt8], in parent: Int64
    ) throws(FileSystemError) {
        var number = present?.number
        if let present, present.type != .directory {
            guard isExact else { throw .notDirectory }
            guard try remove(name, in: parent) else { return }
            number = nil
        }
        let directory: Int64
        if let number { directory = number } else { directory = try make(past, name, in: parent) }
        try restoreNames(of: past, in: directory)
        try show(past, directory, name, in: parent)
    }

    /// Gives a directory its past attributes, and shows them to programs.
    private func show(
        _ past: Attributes, _ directory: Int64, _ name: [UInt8], in parent: Int64
    ) throws(FileSystemError) {
        try change { changes throws(FileSystemError) in
            changes.append(.attributes(item: directory, Vault.Name(name, in: parent)))
            try setAttributes(of: directory, like: past)
        }
    }

    private mutating func restoreNames(of past: Attributes, in directory: Int64) throws(FileSystemError) {
        let entries = try view.entries(of: past.number)
        if isExact {
            let names = Set(entries.map(\.name))
            for name in try self.names(in: directory) where !names.contains(name) {
                try remove(name, in: directory)
            }
        }
        for entry in entries {
            try restore(try view.attributes(of: entry.item), entry.name, in: directory)
        }
    }

    private func names(in directory: Int64) throws(FileSystemError) -> [[UInt8]] {
        var names: [[UInt8]] = []
        var cookie: Int64 = 2
        while true {
            let entries = try vault.readDirectory(directory, after: cookie, limit: 256, attributes: false)
            names += entries.map(\.name)
            guard let last = entries.last else { return names }
            cookie = last.cookie
        }
    }

    /// Whether an item is as it was, as far as a restore would change it.
    private func isSame(_ past: Attributes, _ present: Attributes) throws(FileSystemError) -> Bool {
        // No program can set the time of change.
        if past.number == present.number, past.changed == present.changed { return true }
        guard past.mode == present.mode, past.user == present.user, past.group == present.group,
            past.size == present.size, past.modified == present.modified, past.links == 1, present.links == 1,
            try hasSameContent(past, present)
        else { return false }
        var attributes: [[UInt8]: [UInt8]] = [:]
        for (name, value) in try view.extendedAttributes(of: past.number) { attributes[name] = value }
        var others: [[UInt8]: [UInt8]] = [:]
        for name in try vault.extendedAttributeNames(of: present.number)
        where ExtendedAttributeName.isKept(name) {
            others[name] = try vault.extendedAttribute(name, of: present.number)
        }
        return attributes == others
    }

    private func hasSameContent(_ past: Attributes, _ present: Attributes) throws(FileSystemError) -> Bool {
        if past.type == .symbolicLink {
            return try view.readLink(past.number) == vault.readLink(present.number)
        }
        guard past.type == .regular else { return past.device == present.device }
        var offset: Int64 = 0
        while offset < past.size {
            let count = try view.read(past.number, at: offset, count: Self.pieceByteCount, into: buffer)
            let other = try vault.contents.read(
                present.number, at: offset, count: Self.pieceByteCount, into: presentBuffer)
            guard count == other, count > 0,
                buffer.withBytes(0..<count, { $0.array }) == presentBuffer.withBytes(0..<count, { $0.array })
            else { return false }
            offset += Int64(count)
        }
        return true
    }

    /// Makes an item like a past one in a place of its own, and puts it in the place of what has the name.
    private mutating func restoreFile(
        _ past: Attributes, _ name: [UInt8], in parent: Int64
    ) throws(FileSystemError) {
        if let number = links[past.number] {
            let draft = try draftName(in: parent)
            try change { changes throws(FileSystemError) in
                _ = try vault.link(number, as: draft, in: parent)
                changes.append(.entry(Vault.Name(draft, in: parent)))
            }
            try move(draft, to: name, in: parent)
            restored.items += 1
            return
        }
        let draft = try draftName(in: parent)
        let number = try make(past, draft, in: parent)
        do throws(FileSystemError) {
            if past.type == .regular { try copyContent(of: past, to: number) }
            try setAttributes(of: number, like: past)
            try move(draft, to: name, in: parent)
        } catch {
            try? unlink(draft, in: parent)
            throw error
        }
        if past.links > 1 { links[past.number] = number }
        restored.items += 1
        restored.bytes += past.type == .regular ? past.size : 0
    }

    private func draftName(in parent: Int64) throws(FileSystemError) -> [UInt8] {
        while true {
            let name = Array(".restoring-\(Random.number())".utf8)
            if try present(name, in: parent) == nil { return name }
        }
    }

    private func make(
        _ past: Attributes, _ name: [UInt8], in parent: Int64
    ) throws(FileSystemError) -> Int64 {
        var new = Vault.NewItem(mode: past.mode & ~ModeBits.setUser & ~ModeBits.setGroup)
        new.device = past.device
        if past.type == .symbolicLink { new.target = try view.readLink(past.number) }
        return try change { changes throws(FileSystemError) in
            changes.append(.entry(Vault.Name(name, in: parent)))
            return try vault.create(
                new, named: name, in: parent, by: Caller(user: past.user, group: past.group, umask: 0)
            ).number
        }
    }

    private mutating func copyContent(of past: Attributes, to number: Int64) throws(FileSystemError) {
        var offset: Int64 = 0
        while offset < past.size {
            let count = try view.read(past.number, at: offset, count: Self.pieceByteCount, into: buffer)
            if count == 0 { break }
            try buffer.withBytes(0..<count) { bytes throws(FileSystemError) in
                if bytes.array.allSatisfy({ $0 == 0 }) { return }
                try vault.contents.write(
                    bytes, to: number, at: offset, touches: false, dropsPrivileges: false)
            }
            offset += Int64(count)
            if !step(restored) { throw .system(SystemError("restore", code: EINTR)) }
        }
        var size = AttributeChanges()
        size.size = past.size
        _ = try vault.setAttributes(of: number, size)
    }

    private func setAttributes(of number: Int64, like past: Attributes) throws(FileSystemError) {
        // A change of the owner takes privileges away, so it comes first.
        var owner = AttributeChanges()
        owner.user = past.user
        owner.group = past.group
        _ = try vault.setAttributes(of: number, owner)
        if past.type != .symbolicLink {
            var mode = AttributeChanges()
            mode.mode = past.mode & ModeBits.permissions
            _ = try vault.setAttributes(of: number, mode)
        }
        let attributes = try view.extendedAttributes(of: past.number)
        for name in try vault.extendedAttributeNames(of: number)
        where ExtendedAttributeName.isKept(name) && !attributes.contains(where: { $0.name == name }) {
            try vault.removeExtendedAttribute(name, of: number)
        }
        for (name, value) in attributes {
            try vault.setExtendedAttribute(name, of: number, to: value, .any)
        }
        var times = AttributeChanges()
        times.modified = .at(past.modified)
        _ = try vault.setAttributes(of: number, times)
    }

    private func move(_ draft: [UInt8], to name: [UInt8], in parent: Int64) throws(FileSystemError) {
        try change { changes throws(FileSystemError) in
            let replaced = try vault.rename(draft, in: parent, to: name, in: parent, .replace)
            changes.append(.entry(Vault.Name(draft, in: parent)))
            changes.append(.entry(Vault.Name(name, in: parent)))
            if let replaced { changes.append(.nameless(item: replaced)) }
        }
    }

    /// Removes an item, with all that is in it; returns whether it is gone.
    @discardableResult
    private mutating func remove(_ name: [UInt8], in parent: Int64) throws(FileSystemError) -> Bool {
        guard let item = try present(name, in: parent) else { return true }
        if item.number >= newest {
            restored.kept += 1
            return false
        }
        if item.type == .directory {
            var isEmpty = true
            for inner in try names(in: item.number) {
                isEmpty = try remove(inner, in: item.number) && isEmpty
            }
            if !isEmpty { return false }
            try change { changes throws(FileSystemError) in
                let number = try vault.removeDirectory(name, in: parent)
                changes.append(.entry(Vault.Name(name, in: parent)))
                changes.append(.nameless(item: number))
            }
        } else {
            try unlink(name, in: parent)
        }
        restored.removed += 1
        return true
    }

    private func unlink(_ name: [UInt8], in parent: Int64) throws(FileSystemError) {
        try change { changes throws(FileSystemError) in
            let removed = try vault.unlink(name, in: parent)
            changes.append(.entry(Vault.Name(name, in: parent)))
            if removed.isLast { changes.append(.nameless(item: removed.number)) }
        }
    }

    private func change<Result>(
        _ body: (inout [VaultChange]) throws(FileSystemError) -> Result
    ) throws(FileSystemError) -> Result {
        try vault.changeElsewhere(body)
    }
}

extension History {
    /// What a restore has done.
    package struct Restored: Equatable, Sendable {
        /// The number of files and other items that were made.
        package var items = 0
        /// The number of items that were as they had been.
        package var unchanged = 0
        /// The number of items that went, as they had not been there.
        package var removed = 0
        /// The number of items that came while the restore went on, and stay: the history does not have them.
        package var kept = 0
        /// The bytes of content.
        package var bytes: Int64 = 0
    }

    /// Brings back what a path led to in an earlier state, with all that was below it.
    ///
    /// What is there now is replaced, and stays in the history. A restore that fails or ends early has done a part, and
    /// can be done again. Must not be called by a request of a mount.
    ///
    /// - Parameters:
    ///   - isExact: Whether items below the path go that were not there then.
    ///   - step: Called often; returns whether the caller still waits.
    /// - Throws: `.notFound` if the path led to nothing, `.isDirectory` or `.notDirectory` if a name that led to a file
    ///   leads to a directory now, or the other way round, and `isExact` is false; `.system` if the caller no longer waits.
    package func restore(
        _ path: [UInt8], from view: HistoryView, isExact: Bool,
        step: @escaping (Restored) -> Bool = { _ in true }
    ) throws(FileSystemError) -> Restored {
        try vault.ensureChangeable()
        // All items with lower numbers are in the state that is kept.
        let newest = vault.state.withLock { $0.index.lastItemNumber } + 1
        try keepPresent()
        var restore = HistoryRestore(vault, view, isExact: isExact, newest: newest, step: step)
        try restore.run(path)
        try vault.commit()
        return restore.restored
    }
}
