/// A file as the rules see it: its lines, and the same lines without comments and the text of strings.
struct SourceFile: Sendable {
    /// The path from the project's root: “Sources/CofferVault/Vault.swift”.
    let path: String
    let lines: [String]
    /// The same lines, with spaces in place of comments and of the text of strings.
    let code: [String]
    /// The modules that are imported, with the number of the line.
    let imports: [(module: String, line: Int)]

    /// - Parameter isCode: Whether rules about code are applied to it.
    init(path: String, _ text: String, isCode: Bool = true) {
        self.path = path
        lines = Self.split(text)
        let isSwift = isCode && path.hasSuffix(".swift")
        code = isSwift ? Self.split(CodeText.code(of: text)) : lines
        imports = isSwift ? Self.imports(of: code) : []
    }

    /// The directory in Sources that the file is in.
    var target: String { String(path.split(separator: "/").dropFirst().first ?? "") }

    /// Whether a line has nothing except a comment.
    func isComment(_ index: Int) -> Bool {
        let line = lines[index].trimmed
        return line.hasPrefix("//") || line.hasPrefix("*") || line.hasPrefix("/*")
    }

    private static func imports(of code: [String]) -> [(module: String, line: Int)] {
        code.indices.compactMap { index in
            let words = code[index].split(separator: " ")
            guard let keyword = words.firstIndex(of: "import"),
                words[..<keyword].allSatisfy({ $0.first == "@" || Self.accessLevels.contains(String($0)) })
            else { return nil }
            // “import struct Module.Name” imports of Module.
            var names = words[(keyword + 1)...]
            if names.count > 1 { names = names.dropFirst() }
            guard let module = names.first?.split(separator: ".").first else { return nil }
            return (String(module), index + 1)
        }
    }

    private static let accessLevels: Set<String> = [
        "public", "package", "internal", "fileprivate", "private",
    ]

    private static func split(_ text: String) -> [String] {
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        if lines.last == "" { lines.removeLast() }
        return lines
    }
}

/// The violation and its place.
struct Violation: CustomStringConvertible, Equatable {
    let path: String
    let line: Int
    let text: String

    init(_ file: SourceFile, line: Int, _ text: String) {
        path = file.path
        self.line = line
        self.text = text
    }

    var description: String { "\(path):\(line): \(text)" }
}

extension StringProtocol {
    /// The text without blanks at both ends.
    var trimmed: String {
        String(drop { $0.isWhitespace }.reversed().drop { $0.isWhitespace }.reversed())
    }
}
