import Foundation

/// Rules about the text of a file.
///
/// Each one reports all violations.
enum TextRules {
    static let lineCountMax = 450

    // MARK: Documentation

    /// Every declaration that another target can use has a doc comment, unless it is documented elsewhere.
    static func documentation(_ files: [SourceFile]) -> [Violation] {
        let elsewhere = DocumentedElsewhere(files)
        return files.flatMap { file in
            file.code.indices.compactMap { index in
                guard let name = declaration(file.code[index]), !isDocumented(file, index),
                    !elsewhere.covers(name, file, index)
                else { return nil }
                return Violation(file, line: index + 1, "\(name) has no doc comment")
            }
        }
    }

    private static let keywords: Set<Substring> = [
        "func", "init", "var", "let", "struct", "class", "enum", "protocol", "typealias", "actor",
        "subscript",
    ]
    private static let modifiers: Set<Substring> = [
        "static", "final", "class", "override", "mutating", "nonmutating", "consuming", "borrowing", "lazy",
        "weak", "unowned", "unowned(safe)", "unowned(unsafe)", "indirect", "required", "convenience",
        "dynamic",
        "nonisolated", "nonisolated(unsafe)", "isolated", "distributed", "optional",
        "private(set)", "fileprivate(set)", "internal(set)", "package(set)",
    ]

    /// “func read”, if a line begins a declaration that other targets see.
    static func declaration(_ code: String) -> String? {
        guard let (name, isVisible) = anyDeclaration(code), isVisible else { return nil }
        return name
    }

    /// “func read”, if a line begins a declaration that is not private to the file.
    static func anyDeclaration(_ code: String) -> (name: String, isVisible: Bool)? {
        var words = code.split(separator: " ")
        while let word = words.first, word.first == "@" {
            // An attribute's arguments may have spaces: “@available(*, deprecated)”.
            var depth = 0
            while let part = words.first {
                depth += part.filter { $0 == "(" }.count - part.filter { $0 == ")" }.count
                words.removeFirst()
                if depth <= 0 { break }
            }
        }
        var isVisible = false
        while let word = words.first {
            if word == "package" || word == "public" || word == "open" {
                isVisible = true
            } else if !modifiers.contains(word) || (word == "class" && !isModifier(words)) {
                break
            }
            words.removeFirst()
        }
        guard let word = words.first else { return nil }
        let keyword = word.prefix { $0.isLetter }
        guard keywords.contains(keyword) else { return nil }
        if keyword != word { return (String(keyword), isVisible) }
        let following = words.dropFirst().first ?? ""
        let name = following.prefix { !"(<:{=".contains($0) }
        // An operator's name is of those characters.
        return ("\(keyword) \(name.isEmpty ? following : name)", isVisible)
    }

    /// Whether “class” stands for “static”, and does not begin a class.
    private static func isModifier(_ words: [Substring]) -> Bool {
        ["func", "var", "let", "subscript"].contains(words.dropFirst().first ?? "")
    }

    /// Whether a doc comment precedes it, with only attributes and other comments between.
    static func isDocumented(_ file: SourceFile, _ index: Int) -> Bool {
        for above in stride(from: index - 1, through: 0, by: -1) {
            let line = file.lines[above].trimmed
            if line.hasPrefix("///") || line.hasSuffix("*/") { return true }
            if !line.hasPrefix("//"), !line.hasPrefix("@") { return false }
        }
        return false
    }

    // MARK: Safety

    /// A claim of safety to the compiler says why it holds.
    static func safety(_ files: [SourceFile]) -> [Violation] {
        ["@unchecked Sendable", "nonisolated(unsafe)"].flatMap { claim in
            files.flatMap { file in
                file.code.indices.compactMap { index in
                    guard file.code[index].contains(claim), !hasSafetyComment(file, index) else { return nil }
                    let complaint = "\(claim) without a “// SAFETY:” comment on it or above it"
                    return Violation(file, line: index + 1, complaint)
                }
            }
        }
    }

    /// On the line itself, or above it in comments and attributes.
    private static func hasSafetyComment(_ file: SourceFile, _ index: Int) -> Bool {
        if file.lines[index].contains("// SAFETY:") { return true }
        for above in stride(from: index - 1, through: 0, by: -1) {
            if file.lines[above].contains("// SAFETY:") { return true }
            if !file.isComment(above), !file.lines[above].trimmed.hasPrefix("@") { return false }
        }
        return false
    }

    // MARK: Tuples

    /// No tuple is made in part before a suspension, and in part after it.
    ///
    /// If a task or a generic function returns such a tuple, the optimizer of Swift up to 6.3 loses the part from
    /// before (swiftlang/swift#91911), and reads uninitialized memory as a value.
    static func suspendedTuples(_ files: [SourceFile]) -> [Violation] {
        files.flatMap { file in
            let text = Array(file.code.joined(separator: "\n"))
            return text.indices.filter { text[$0] == "(" && isSuspendedTuple(text, $0) }.map { start in
                let line = text[..<start].count { $0 == "\n" } + 1
                return Violation(file, line: line, "a tuple with “await” in it: make its parts first")
            }
        }
    }

    private static func isSuspendedTuple(_ text: [Character], _ start: Int) -> Bool {
        // Directly after a name, it would be a call.
        guard start == 0 || " \n([{".contains(text[start - 1]) else { return false }
        var depth = 0
        var closures = 0
        var hasParts = false
        var inside = ""
        for character in text[start...] {
            if "([{".contains(character) { depth += 1 }
            if ")]}".contains(character) { depth -= 1 }
            if character == "{" { closures += 1 }
            if character == "}" { closures -= 1 }
            if depth == 0 { break }
            if depth == 1, character == "," { hasParts = true }
            // What a closure awaits is awaited when it is called.
            if closures == 0 { inside.append(character) }
        }
        return hasParts && inside.split { !$0.isLetter }.contains("await")
    }

    // MARK: Words, paths, length

    /// Words that must not be in code, and what to write instead.
    static let bannedCode = [
        "try!": "throw", "fatalError(": "throw, or use a precondition",
    ]

    static func bannedWords(_ files: [SourceFile]) -> [Violation] {
        files.flatMap { file in
            file.lines.indices.flatMap { index in
                var complaints = bannedCode.sorted { $0.key < $1.key }
                    .filter { file.code[index].contains($0.key) }
                    .map { "“\($0.key)” is banned: \($0.value)" }
                // In comments, too: open work is done at once, or becomes an issue.
                if file.lines[index].contains("TODO") {
                    complaints.append("“TODO” is banned: do it, or say what holds today")
                }
                return complaints.map { Violation(file, line: index + 1, $0) }
            }
        }
    }

    static func length(_ files: [SourceFile]) -> [Violation] {
        files.filter { $0.lines.count > lineCountMax }.map {
            Violation($0, line: lineCountMax + 1, "\($0.lines.count) lines; at most \(lineCountMax)")
        }
    }

    /// Paths of one machine, written so that this file does not contain them.
    static let machinePaths = ["/" + "work/", "/" + "root/", "/" + "home/"]
    static let temporaryPath = "/" + "tmp/"
    /// The last resort of RuntimeDirectory.
    static let allowedPaths = ["/" + "tmp/coffer-"]

    static func paths(_ files: [SourceFile], banned: [String]) -> [Violation] {
        let searched = banned.map { Data($0.utf8) }
        return files.flatMap { file -> [Violation] in
            // Most files have none; a search for bytes tells that much faster than one for characters.
            let bytes = Data(file.lines.joined(separator: "\n").utf8)
            guard searched.contains(where: { bytes.range(of: $0) != nil }) else { return [] }
            return
                file.lines.indices.flatMap { index in
                    let line = allowedPaths.reduce(file.lines[index]) { $0.replacing($1, with: "") }
                    return banned.filter { line.contains($0) }.map {
                        Violation(file, line: index + 1, "the path “\($0)” is this machine's own")
                    }
                }
        }
    }
}
