package import CofferFormat
internal import CofferStore

/// A difference between two states of a vault.
package struct HistoryDifference: Equatable, Sendable {
    /// What happened to a path from the first state to the second.
    package enum Kind: String, Sendable {
        /// The path leads to something, and led to nothing.
        case added
        /// The path leads to nothing any more.
        case removed
        /// The content, the target, or the type is another.
        case changed
        /// Only times, permissions, the owner, or extended attributes are others.
        case attributes
    }

    /// What happened.
    package let kind: Kind
    /// The path in the vault; empty for the root.
    package let path: [UInt8]
    /// Whether it leads, or led, to a directory.
    package let isDirectory: Bool
}

extension HistoryView {
    /// The item that a path led to.
    ///
    /// - Throws: `.notFound`, `.notDirectory`.
    package func item(atPath path: [UInt8]) throws(FileSystemError) -> Attributes {
        var item = try attributes(of: Vault.rootNumber)
        for name in path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: true) {
            item = try lookup(Array(name), in: item.number)
        }
        return item
    }

    /// What changed below a path from another state to this one, in the order of paths.
    ///
    /// Reads no contents: a file whose size and time of modification are the same counts as unchanged.
    ///
    /// - Parameter isHeard: Whether the caller still waits; if not, the list is cut off.
    package func differences(
        from other: HistoryView, below path: [UInt8], while isHeard: () -> Bool = { true }
    ) throws(FileSystemError) -> [HistoryDifference] {
        var differences: [HistoryDifference] = []
        let (before, after) = (try other.found(path), try found(path))
        if before == nil, after == nil { throw .notFound }
        try compare(before, other, after, path, &differences, isHeard)
        return differences
    }

    private func found(_ path: [UInt8]) throws(FileSystemError) -> Attributes? {
        do throws(FileSystemError) { return try item(atPath: path) } catch {
            switch error {
            case .notFound, .notDirectory: return nil
            default: throw error
            }
        }
    }

    private func compare(
        _ before: Attributes?, _ other: HistoryView, _ after: Attributes?, _ path: [UInt8],
        _ differences: inout [HistoryDifference], _ isHeard: () -> Bool
    ) throws(FileSystemError) {
        guard isHeard() else { return }
        if let kind = try kind(before, other, after) {
            let isDirectory = (after ?? before)?.type == .directory
            differences.append(HistoryDifference(kind: kind, path: path, isDirectory: isDirectory))
        }
        let old = try before.map { item throws(FileSystemError) in try other.names(of: item) } ?? [:]
        let new = try after.map { item throws(FileSystemError) in try names(of: item) } ?? [:]
        for name in Set(old.keys).union(new.keys).sorted(by: { $0.lexicographicallyPrecedes($1) }) {
            try compare(
                try old[name].map { number throws(FileSystemError) in try other.attributes(of: number) },
                other,
                try new[name].map { number throws(FileSystemError) in try attributes(of: number) },
                path.isEmpty ? name : path + [UInt8(ascii: "/")] + name, &differences, isHeard)
        }
    }

    private func names(of item: Attributes) throws(FileSystemError) -> [[UInt8]: Int64] {
        guard item.type == .directory else { return [:] }
        return Dictionary(try entries(of: item.number).map { ($0.name, $0.item) }) { first, _ in first }
    }

    private func kind(
        _ before: Attributes?, _ other: HistoryView, _ after: Attributes?
    ) throws(FileSystemError) -> HistoryDifference.Kind? {
        guard let before else { return after == nil ? nil : .added }
        guard let after else { return .removed }
        if before.type != after.type { return .changed }
        switch after.type {
        case .regular where before.size != after.size || before.modified != after.modified: return .changed
        case .symbolicLink where try other.readLink(before.number) != readLink(after.number): return .changed
        default: break
        }
        // The times of a directory follow from its names.
        guard before.hasSameRights(as: after),
            try hasSameExtendedAttributes(before.number, in: other, as: after.number)
        else { return .attributes }
        return nil
    }

    /// Whether an item has the extended attributes that one has in another state.
    func hasSameExtendedAttributes(
        _ before: Int64, in other: HistoryView, as after: Int64
    ) throws(FileSystemError) -> Bool {
        try other.extendedAttributes(of: before).elementsEqual(try extendedAttributes(of: after)) { $0 == $1 }
    }
}
