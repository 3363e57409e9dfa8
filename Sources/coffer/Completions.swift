internal import ArgumentParser
internal import CofferClient

/// What a shell can complete that only the profile knows: names of vaults and members, while they are mounted.
///
/// Nothing is completed where nobody can be asked without a passphrase.
enum Completions {
    /// Names of vaults.
    static let vaults = CompletionKind.custom { words, _, _ in vaultNames(words) }

    /// Names of the members of the vault that stands in the line.
    static let members = CompletionKind.custom { words, _, _ in
        let named = vaultNames(words).filter(words.contains)
        guard let vault = named.first, case .members(let report)? = ask(.members(vault: vault), words) else {
            return []
        }
        return report.members.filter { !$0.isThis }.map(\.name).filter(isPlain)
    }

    private static func vaultNames(_ words: [String]) -> [String] {
        guard case .status(let status)? = ask(.status, words) else { return [] }
        return status.vaults.map(\.name).filter(isPlain)
    }

    /// Whether a shell takes a name for nothing but words.
    ///
    /// bash expands what is completed, commands in it included, and others choose names.
    private static func isPlain(_ name: String) -> Bool {
        !name.hasPrefix("-")
            && name.unicodeScalars.allSatisfy { scalar in
                scalar.properties.isAlphabetic || scalar.properties.numericType != nil
                    || " _-.,@+".unicodeScalars.contains(scalar)
            }
    }

    private static func ask(_ request: ControlRequest, _ words: [String]) -> ControlResponse? {
        var location = ProfileLocation.standard(Environment.value)
        if let option = words.firstIndex(of: "--home"), option + 1 < words.count {
            location = ProfileLocation(path: words[option + 1])
        }
        guard let location, location.isLocked else { return nil }
        let access = try? ProfileAccess.open(location) { () throws(ProfileError) in throw .noTerminal }
        return try? access?.perform(request)
    }
}
