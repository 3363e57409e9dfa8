package import CofferFacts
package import CofferFormat
internal import CofferStore
internal import CofferSystem

// Comparing the tree of items with what the facts show.
extension VaultFacts {
    /// Compares each name and item with what the facts show; the vault must not change in the meantime.
    ///
    /// Skips unsent changes, except those of names, which must have been collected.
    ///
    /// - Parameter compare: Whether the content of a file matches the facts.
    /// - Returns: The differences, as sentences; empty if there are none.
    package func differencesFromFacts(
        as participant: Participant, compare: (Int64, Fact.Content?) throws(FileSystemError) -> Bool
    ) throws(FileSystemError) -> [String] {
        try vault.exchanging.withLock { _ throws(FileSystemError) in
            defer { close() }
            var comparison = FactComparison(vault: vault, hashKey: participant.hashKey)
            guard try comparison.isPossible() else {
                return ["There are changes of names that are not in facts."]
            }
            try comparison.run()
            for (number, content) in comparison.contents where try !compare(number, content) {
                comparison.differences.append("The content of item \(number) differs.")
            }
            return comparison.differences
        }
    }
}

// A comparison in a vault that may change in the meantime.
extension VaultFacts {
    /// How often the comparison is retried when names change in the meantime.
    private static let attemptCount = 3

    /// Compares each name and item, except for contents, with what the facts show.
    ///
    /// Other operations continue in the meantime; syncing waits.
    ///
    /// - Parameter hashKey: The key of the hash of what is shown; the same for all members.
    /// - Returns: The differences, as sentences. Nil if they cannot be determined: in a vault without facts,
    ///   in one with changes of names that are not in facts yet, or in one that cannot be written.
    package func comparisonWithFacts(_ hashKey: StateHashKey) throws(FileSystemError) -> [String]? {
        guard vault.isTracking, !vault.isReadOnly, vault.stoppedReason == nil else { return nil }
        return try vault.exchanging.withLock { _ throws(FileSystemError) in
            defer { close() }
            for _ in 0..<Self.attemptCount {
                var comparison = FactComparison(vault: vault, hashKey: hashKey)
                guard try comparison.isPossible() else { return nil }
                do throws(FileSystemError) { try comparison.run() } catch {
                    // A directory was removed in the meantime.
                    guard case .stale = error else { throw error }
                    continue
                }
                // Only collecting removes records from the journal, and that waits.
                if comparison.differences.isEmpty { return [] }
                if try comparison.isPossible() { return comparison.differences }
            }
            return nil
        }
    }
}

/// A walk over both trees.
private struct FactComparison {
    private static let pageCount = 256

    let vault: Vault
    let hashKey: StateHashKey
    var differences: [String] = []
    /// Files whose contents must be compared.
    var contents: [(Int64, Fact.Content?)] = []

    /// Whether all changes of names are in facts.
    func isPossible() throws(FileSystemError) -> Bool {
        try vault.changing { state throws(FileSystemError) in
            try state.tree.storeItems()
            let facts = try state.openFacts()
            guard try state.index.journal(after: 0, limit: 1).isEmpty else { return false }
            return try facts.changedEntries(limit: 1).isEmpty
        }
    }

    mutating func run() throws(FileSystemError) {
        var directories = [Vault.rootNumber]
        while let directory = directories.popLast() {
            let entries = try vault.readDirectory(directory, after: 2, limit: .max - 1, attributes: false)
            try vault.reading { state throws(FileSystemError) in
                let id = try state.tree.peek(directory).id
                try compare(directory, &state)
                for entry in entries {
                    try compare(entry, in: id, &state)
                    if entry.type == FileType.directory.rawValue { directories.append(entry.item) }
                }
                let count = try count(in: id, &state)
                if count != entries.count {
                    differences.append("Directory \(directory) has \(entries.count) names, not \(count).")
                }
            }
        }
    }

    /// The number of names that the facts show in a directory.
    private func count(in directory: ItemID, _ state: inout VaultState) throws(FileSystemError) -> Int {
        let facts = try state.openFacts()
        var count = 0
        var last: EntryName?
        while true {
            let page = try facts.entries(shownIn: directory, after: last, limit: Self.pageCount)
            count += page.count
            guard page.count == Self.pageCount, let end = page.last else { return count }
            last = try facts.entry(end)?.shown?.name
        }
    }

    private mutating func compare(
        _ entry: Vault.Entry, in directory: ItemID, _ state: inout VaultState
    ) throws(FileSystemError) {
        let text = String(decoding: entry.name, as: UTF8.self)
        guard let name = EntryName(entry.name) else {
            return differences.append("“\(text)” is not a valid name.")
        }
        let facts = try state.openFacts()
        guard let id = try facts.entry(shownAt: Place(parent: directory, name: name)),
            let shown = try facts.entry(id), try state.tree.peek(entry.item).id == shown.item
        else {
            return differences.append("“\(text)” is not what the facts show.")
        }
        if entry.type != FileType.directory.rawValue { try compare(entry.item, &state) }
    }

    private mutating func compare(_ number: Int64, _ state: inout VaultState) throws(FileSystemError) {
        let row = try state.tree.peek(number)
        let tree = try state.factTree(hashKey)
        let shown = try tree.shownItem(row.id)
        guard let shown, shown.kind.type == FileType(mode: row.mode) else {
            return differences.append("Item \(number) is not what the facts say.")
        }
        if let known = try state.row(row.id, nil)?.number, known != number {
            differences.append("Item \(number) is known as \(known).")
        }
        let unsent = row.unsent
        if !unsent.contains(.mode), let mode = shown.mode, UInt32(mode) != row.mode & ModeBits.permissions {
            differences.append("The mode of item \(number) differs.")
        }
        if !unsent.contains(.times), let time = shown.modified, time != row.modified {
            differences.append("The time of item \(number) differs.")
        }
        if !unsent.contains(.attributes) {
            let attributes = try state.index.attributes(of: number)
                .filter { ExtendedAttributeName.isSent($0.name) }
            let isSame = attributes.elementsEqual(
                shown.extendedAttributes.filter { ExtendedAttributeName.isSent($0.name) }
            ) { $0.name == $1.name && $0.value == $1.value }
            if !isSame { differences.append("The attributes of item \(number) differ.") }
        }
        if !unsent.contains(.content), shown.kind == .file {
            if UInt64(row.size) != shown.content?.size ?? 0 {
                differences.append("The size of item \(number) differs.")
            }
            contents.append((number, shown.content))
        }
    }
}
