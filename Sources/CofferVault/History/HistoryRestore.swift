internal import CofferCrypto
package import CofferFormat
internal import CofferStore
internal import CofferSystem
internal import Glibc

/// Bringing items back as they were in an earlier state.
///
/// Each step is a change as programs make them, so the present state becomes part of the history, too.
struct HistoryRestore {
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
    private let copies: PastCopies

    init(
        _ vault: Vault, _ view: HistoryView, isExact: Bool, newest: Int64,
        step: @escaping (History.Restored) -> Bool
    ) {
        self.vault = vault
        self.view = view
        self.isExact = isExact
        self.newest = newest
        self.step = step
        copies = PastCopies(vault)
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
        if names.isEmpty {
            try restoreNames(of: past, in: parent)
            return try show(past, parent, [], in: parent)
        }
        var made: [(past: Attributes, number: Int64, name: [UInt8], parent: Int64)] = []
        for (place, name) in names.enumerated() {
            past = try view.lookup(name, in: past.number)
            if place == names.count - 1 {
                try restore(past, name, in: parent)
                // What is restored into a directory changes its times.
                for directory in made.reversed() {
                    try show(directory.past, directory.number, directory.name, in: directory.parent)
                }
                return
            }
            if let present = try present(name, in: parent) {
                guard present.type == .directory else { throw .notDirectory }
                parent = present.number
            } else {
                let directory = try copies.make(past, in: view, named: name, in: parent)
                try show(past, directory, name, in: parent)
                made.append((past, directory, name, parent))
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
        } else if let present, try copies.isSame(past, in: view, present, isAwaited: { step(restored) }) {
            restored.unchanged += 1
        } else {
            if present?.type == .directory {
                guard isExact else { throw .isDirectory }
                guard try remove(name, in: parent) else { return }
            }
            try restoreFile(past, name, in: parent)
        }
        try awaitCaller()
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
        if let number {
            directory = number
        } else {
            directory = try copies.make(past, in: view, named: name, in: parent)
        }
        try restoreNames(of: past, in: directory)
        try show(past, directory, name, in: parent)
    }

    /// Gives a directory its past attributes, and shows them to programs; the root has an empty name in itself.
    private func show(
        _ past: Attributes, _ directory: Int64, _ name: [UInt8], in parent: Int64
    ) throws(FileSystemError) {
        try change { changes throws(FileSystemError) in
            changes.append(.attributes(item: directory, Vault.Name(name, in: parent)))
            try copies.setAttributes(of: directory, like: past, in: view)
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
        let number = try copies.make(past, in: view, named: draft, in: parent)
        do throws(FileSystemError) {
            if past.type == .regular {
                try copies.copyContent(of: past, in: view, to: number) { step(restored) }
            }
            try copies.setAttributes(of: number, like: past, in: view)
            try move(draft, to: name, in: parent)
        } catch {
            try? unlink(draft, in: parent)
            throw error
        }
        if past.links > 1 { links[past.number] = number }
        restored.items += 1
        restored.bytes += past.type == .regular ? past.size : 0
    }

    private func awaitCaller() throws(FileSystemError) {
        if !step(restored) { throw .system(SystemError("restore", code: EINTR)) }
    }

    private func draftName(in parent: Int64) throws(FileSystemError) -> [UInt8] {
        while true {
            let name = Array(".restoring-\(Random.number())".utf8)
            if try present(name, in: parent) == nil { return name }
        }
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
