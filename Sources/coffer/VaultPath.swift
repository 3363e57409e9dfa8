internal import ArgumentParser
internal import CofferClient
internal import CofferSystem

/// An item of a vault, given by its path in the mount, or as VAULT/PATH.
struct VaultPath {
    /// The vault's name.
    let vault: String
    /// The path below the vault's root; empty for the whole vault.
    let path: String

    init(_ argument: String, _ location: ProfileLocation) throws {
        let whole = Directory.absolute(argument)
        if let point = location.lockNote?.mountPoint, !point.isEmpty,
            let found = Self.resolved(whole)
        {
            if let inside = Self.parts(of: found, below: point) {
                self = inside
                return
            }
            if found == point { throw ValidationError("Name one of the vaults in \(point).") }
        }
        guard !argument.hasPrefix("/"), !argument.hasPrefix("./"), !argument.hasPrefix("../"),
            let named = Self.parts(of: "/\(argument)", below: "")
        else {
            throw ValidationError(
                "\(argument) is not in the mount. Without a mount, use VAULT/PATH, for example Taxes/2026.")
        }
        self = named
    }

    /// Resolves symbolic links and dots; of a path that does not exist, only those of its directory.
    private static func resolved(_ path: String) -> String? {
        if let found = try? Directory.resolve(path) { return found }
        guard let slash = path.lastIndex(of: "/"), let found = try? Directory.resolve(String(path[..<slash]))
        else { return nil }
        return found + path[slash...]
    }

    private init(vault: String, path: String) {
        (self.vault, self.path) = (vault, path)
    }

    /// Splits a path below a directory into vault and path.
    ///
    /// Compares bytes, because Swift strings treat some different names as equal.
    private static func parts(of path: String, below point: String) -> VaultPath? {
        let (bytes, prefix) = (Array(path.utf8), Array("\(point)/".utf8))
        guard bytes.starts(with: prefix), bytes.count > prefix.count else { return nil }
        let parts = bytes.dropFirst(prefix.count).split(
            separator: UInt8(ascii: "/"), maxSplits: 1, omittingEmptySubsequences: false)
        var rest = parts.count > 1 ? parts[1] : []
        while rest.last == UInt8(ascii: "/") { rest.removeLast() }
        guard let vault = parts.first, !vault.isEmpty else { return nil }
        return VaultPath(
            vault: String(decoding: vault, as: UTF8.self), path: String(decoding: rest, as: UTF8.self))
    }

    /// Groups paths by vault, in the order of the arguments.
    static func grouped(
        _ arguments: [String], _ location: ProfileLocation
    ) throws -> [(vault: String, paths: [String])] {
        var groups: [(vault: String, paths: [String])] = []
        for argument in arguments {
            let place = try VaultPath(argument, location)
            if let index = groups.firstIndex(where: { $0.vault.hasSameBytes(as: place.vault) }) {
                groups[index].paths.append(place.path)
            } else {
                groups.append((place.vault, [place.path]))
            }
        }
        return groups
    }
}
