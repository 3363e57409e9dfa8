package import CofferFacts
package import CofferFormat
internal import CofferStore
internal import CofferSystem

// Conflict copies, and choosing which version stays.
extension Incoming {
    /// A conflict copy; except for its name, a file like any other.
    package struct Conflict: Equatable, Sendable {
        /// Its path in the vault.
        package let path: [UInt8]
        /// The parts of its name.
        package let parts: ConflictName.Parts
        /// The path of the item with the name that the copy could not have; nil if there is no such item now.
        package let original: [UInt8]?
    }

    /// Which version stays.
    package enum Choice: Sendable {
        /// The item that has the name.
        case original
        /// The copy, which gets the name.
        case copy
    }

    /// The maximum number of conflicts that are listed.
    private static let conflictsMax = 10_000

    /// All conflict copies, as of the last commit.
    package func conflicts() throws(FileSystemError) -> [Conflict] {
        let reader = try vault.state.withLock { state throws(FileSystemError) in try state.index.makeReader()
        }
        var conflicts: [Conflict] = []
        for found in try reader.names(containing: ConflictName.mark, limit: Self.conflictsMax) {
            guard let name = EntryName(found.name), let parts = ConflictName.parts(of: name) else {
                continue
            }
            let directory = try reader.path(ofDirectory: found.parent, below: Vault.rootNumber)
            let original = try reader.item(named: parts.original.bytes, in: found.parent)
            conflicts.append(
                Conflict(
                    path: directory + found.name, parts: parts,
                    original: original == nil ? nil : directory + parts.original.bytes))
        }
        return conflicts
    }

    /// Keeps one of two versions, and removes the other.
    ///
    /// Must not be called by a request of a mount.
    ///
    /// - Parameter path: The path of the copy.
    /// - Throws: `.notFound`; `.invalidArgument` if that is not a conflict copy.
    package func resolveConflict(_ path: [UInt8], keeping choice: Choice) throws(FileSystemError) {
        let components = path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: true).map(
            Array.init)
        guard let last = components.last else { throw .notFound }
        guard let name = EntryName(last), let parts = ConflictName.parts(of: name) else {
            throw .invalidArgument
        }
        var parent = Vault.rootNumber
        for component in components.dropLast() { parent = try vault.lookup(component, in: parent).number }
        let (directory, original) = (parent, parts.original.bytes)
        try vault.changeElsewhere { changes throws(FileSystemError) in
            switch choice {
            case .original:
                // The last version must not be removed.
                _ = try vault.lookup(original, in: directory)
                let removed = try vault.unlink(last, in: directory)
                changes.append(.entry(Vault.Name(last, in: directory)))
                if removed.isLast { changes.append(.nameless(item: removed.number)) }
            case .copy:
                let replaced = try vault.rename(last, in: directory, to: original, in: directory, .replace)
                changes.append(.entry(Vault.Name(last, in: directory)))
                changes.append(.entry(Vault.Name(original, in: directory)))
                if let replaced { changes.append(.nameless(item: replaced)) }
            }
        }
        try vault.commit()
    }
}
