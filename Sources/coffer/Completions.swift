internal import ArgumentParser
internal import CofferClient

/// Shell completions of names of vaults and members.
///
/// They need a running mount: without one, the profile cannot be opened without the passphrase.
enum Completions {
    /// Completes names of vaults.
    static let vaults = CompletionKind.custom { words, _, _ in vaultNames(words) }

    /// Completes names of the members of the vault that the command line names.
    static let members = CompletionKind.custom { words, _, _ in
        let typed = words.map(unquoted)
        guard let vault = vaultNames(words).first(where: typed.contains),
            let names = names(of: vault, words)
        else { return [] }
        return names.members.filter(isPlain)
    }

    private static func vaultNames(_ words: [String]) -> [String] {
        names(of: nil, words)?.vaults.filter(isPlain) ?? []
    }

    /// Removes the quoting from a word, which shells pass to completions as it was typed.
    static func unquoted(_ word: String) -> String {
        var (text, quote, isEscaped) = ("", Character?.none, false)
        for character in word {
            if isEscaped {
                text.append(character)
                isEscaped = false
            } else if character == "\\", quote != "'" {
                isEscaped = true
            } else if character == quote {
                quote = nil
            } else if quote == nil, character == "'" || character == "\"" {
                quote = character
            } else {
                text.append(character)
            }
        }
        return text
    }

    /// Removes the quoting from a path, and expands `~` or `$HOME` at its beginning, as the shell does later.
    ///
    /// No other expansion happens, and nothing is run.
    static func path(_ word: String, environment: (String) -> String? = Environment.value) -> String {
        let text = unquoted(word)
        let parts = word.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first else { return text }
        let start: String?
        switch first {
        case "~": start = environment("HOME")
        case "\"$HOME", "\"${HOME}", "$HOME", "${HOME}": start = environment("HOME")
        default: start = nil
        }
        guard let start else { return text }
        // An opening quotation mark also applies to the rest.
        let quote = first.hasPrefix("\"") ? "\"" : ""
        let rest = parts.count > 1 ? unquoted("\(quote)/\(parts[1])") : ""
        return start + rest
    }

    /// Whether a name has no characters that are special to a shell.
    ///
    /// bash expands completions, including commands in them, and other people choose names.
    private static func isPlain(_ name: String) -> Bool {
        !name.hasPrefix("-")
            && name.unicodeScalars.allSatisfy { scalar in
                scalar.properties.isAlphabetic || scalar.properties.numericType != nil
                    || " _-.,@+".unicodeScalars.contains(scalar)
            }
    }

    /// Returns the names of all vaults, and of the members of one; nil without a mount.
    private static func names(of vault: String?, _ words: [String]) -> KnownNames? {
        var location = ProfileLocation.standard(Environment.value)
        if let option = words.firstIndex(of: "--home"), option + 1 < words.count {
            location = ProfileLocation(path: path(words[option + 1]))
        } else if let option = words.first(where: { $0.hasPrefix("--home=") }) {
            location = ProfileLocation(path: unquoted(String(option.dropFirst("--home=".count))))
        }
        guard let location, location.isLocked else { return nil }
        let access = try? ProfileAccess.open(location) { () throws(ClientError) in throw .profile(.noTerminal)
        }
        return try? access?.perform(NamesRequest(vault: vault))
    }
}
