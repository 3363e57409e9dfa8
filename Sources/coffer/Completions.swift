internal import ArgumentParser
internal import CofferClient
internal import CofferSystem

/// Shell completions of names of vaults, members and snapshots, and of paths in vaults.
///
/// They need a running mount: without one, the profile cannot be opened without the passphrase.
enum Completions {
    /// Completes names of vaults.
    static let vaults = CompletionKind.custom { words, _, _ in vaultNames(words) }

    /// Completes names of the members of the vault that the command line names.
    static let members = CompletionKind.custom { words, _, _ in
        namesOfVault(words)?.members.filter(isPlain) ?? []
    }

    /// Completes names of the snapshots of the vault that the command line names.
    static let snapshots = CompletionKind.custom { words, _, _ in
        namesOfVault(words)?.snapshots.filter(isPlain) ?? []
    }

    /// Completes VAULT/PATH by the files in the mount; shells complete paths of files themselves.
    static let paths = CompletionKind.custom { words, _, typed in vaultPaths(unquoted(typed), words) }

    /// The most paths that are offered.
    private static let pathCountMax = 1000

    private static func vaultPaths(_ typed: String, _ words: [String]) -> [String] {
        guard let location = location(words), location.isLocked, let point = location.lockNote?.mountPoint,
            !point.isEmpty, !isHere(point)
        else { return [] }
        let end = typed.lastIndex(of: "/").map { typed.index(after: $0) } ?? typed.startIndex
        let (directory, beginning) = (String(typed[..<end]), String(typed[end...]))
        let parts = directory.split(separator: "/", omittingEmptySubsequences: false).dropLast()
        guard parts.allSatisfy({ !["", ".", ".."].contains($0) && isPlain(String($0)) }) else { return [] }
        let names = (try? Directory.names(in: "\(point)/\(directory)")) ?? []
        return names.filter { name in
            name.hasPrefix(beginning) && isPlain(name) && name.hasPrefix(".") == beginning.hasPrefix(".")
        }
        .sorted().prefix(pathCountMax).map { name in
            let path = directory + name
            return Directory.isDirectory("\(point)/\(path)") ? path + "/" : path
        }
    }

    /// Whether the working directory is in the mount, so that a relative path is that of a file.
    private static func isHere(_ point: String) -> Bool {
        guard let here = try? Directory.resolve(".") else { return false }
        return here == point || here.hasPrefix(point + "/")
    }

    /// What there is in the vault that the command line names.
    private static func namesOfVault(_ words: [String]) -> KnownNames? {
        let typed = words.map(unquoted)
        guard let vault = vaultNames(words).first(where: typed.contains) else { return nil }
        return location(words).flatMap { names(of: vault, $0) }
    }

    private static func vaultNames(_ words: [String]) -> [String] {
        location(words).flatMap { names(of: nil, $0) }?.vaults.filter(isPlain) ?? []
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

    /// The profile of a command line.
    private static func location(_ words: [String]) -> ProfileLocation? {
        if let option = words.firstIndex(of: "--home"), option + 1 < words.count {
            return ProfileLocation(path: path(words[option + 1]))
        }
        if let option = words.first(where: { $0.hasPrefix("--home=") }) {
            return ProfileLocation(path: unquoted(String(option.dropFirst("--home=".count))))
        }
        return ProfileLocation.standard(Environment.value)
    }

    /// Returns the names of all vaults, and of the members and snapshots of one; nil without a mount.
    static func names(of vault: String?, _ location: ProfileLocation) -> KnownNames? {
        guard location.isLocked else { return nil }
        let access = try? ProfileAccess.open(location) { () throws(ClientError) in throw .profile(.noTerminal)
        }
        defer { access?.close() }
        return try? access?.perform(NamesRequest(vault: vault))
    }
}
