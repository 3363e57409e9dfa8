internal import CofferFormat
internal import CofferStore
internal import CofferSystem

/// A file that another device has appended to, until the kernel shows that to programs.
struct GrowingFile {
    /// The size that the kernel knows, or is about to know, in bytes.
    let size: Int64
    /// The file's names.
    let names: [Vault.Name]
}

// Programs that append to a file before they can see that another device has.
extension VaultState {
    /// Whether the facts are used without the lock at this moment, so that a growing file cannot be divided.
    func mustWaitToDivide(_ number: Int64) -> Bool {
        factsAreLent && tree.growing[number] != nil
    }

    /// Makes an outdated version of a file that a program changes while it is growing.
    ///
    /// The kernel writes at the end that it knows, over what another device has appended. So the file that
    /// the kernel knows gets back the content that it had, and a new version has its names and what was
    /// appended.
    mutating func divideIfGrowing(_ item: CachedItem) throws(FileSystemError) {
        let number = item.row.number
        guard !tree.growing.isEmpty, let growing = tree.growing[number], !factsAreLent else { return }
        let rows = try index.extents(of: number, overlapping: 0..<Int64.max)
        // Items share only extents that are on a remote; nothing of a file that grew is elsewhere. A program may
        // have moved one of the names meanwhile.
        let isWhole = growing.names.count == Int(item.row.links) && rows.allSatisfy { $0.remote != 0 }
        guard isWhole, try lead(growing.names, to: number) else { return tree.growing[number] = nil }
        try space.ensure(for: 8192 + rows.count * 256)
        let isOpen = facts != nil
        let facts = try openFacts()
        let version = try supersede(number, by: index.nextItemNumber(), growing.names)
        try facts.setNumber(version.row.number, of: version.row.id)
        try facts.flush()
        if !isOpen { self.facts = nil }
        for row in rows {
            var copy = row
            copy.item = version.row.number
            copy.place = .remote
            try index.insert(copy)
            _ = try index.addLive(copy.length, toRemote: copy.remote)
        }
        version.row.size = item.row.size
        version.row.allocated = item.row.allocated
        tree.touch(version, [])
        try removeContent(of: item, growing.size..<Int64.max)
        try keepHoles(in: growing.size..<Int64.max, of: item)
        item.row.size = growing.size
        for name in growing.names { showAtOnce?(.entry(name)) }
    }

    private func lead(_ names: [Vault.Name], to number: Int64) throws(FileSystemError) -> Bool {
        for name in names {
            guard try index.entry(name.name, in: name.parent)?.item == number else { return false }
        }
        return true
    }
}

extension Vault {
    /// Records that the kernel is about to show programs what another device has appended to a file.
    ///
    /// Lookups show the new size from now on. The answers to earlier ones may be on their way.
    ///
    /// - Parameter size: The size that they will see, in bytes.
    /// - Returns: The file's names; nil if it is not growing any more, as a program has changed it since.
    package func beginGrowth(of number: Int64, to size: Int64) -> [Vault.Name]? {
        state.withLock { state in
            guard let growing = state.tree.growing[number] else { return nil }
            state.tree.growing[number] = GrowingFile(size: size, names: growing.names)
            return growing.names
        }
    }

    /// Records that programs see what another device has appended to a file.
    ///
    /// - Parameter size: The size that they see; nil if none has the file open.
    package func endGrowth(of number: Int64, at size: Int64?) {
        state.withLock { state in
            guard let growing = state.tree.growing[number] else { return }
            let now = try? state.tree.row(number)?.size
            let isWhole = size == nil || size == now
            state.tree.growing[number] = isWhole ? nil : GrowingFile(size: size ?? 0, names: growing.names)
        }
    }
}
