/// Declarations that need no doc comment, because they are documented elsewhere.
///
/// - `description`, `rawValue`, `init(rawValue:)` and operators, which the standard library documents.
/// - Memberwise initializers, which do nothing but set properties that other targets see: those have doc
///   comments of their own.
/// - Witnesses: members of a type, or of an extension, whose first line names a protocol of ours that has a
///   documented requirement of that name. It ignores overloads and the inheritance of protocols.
struct DocumentedElsewhere {
    /// The documented requirements of each protocol: “func read” and the like.
    private var requirements: [String: Set<String>] = [:]

    /// Reads the protocols in `files`.
    init(_ files: [SourceFile]) {
        for file in files {
            for index in file.code.indices {
                guard let name = TextRules.anyDeclaration(file.code[index])?.name, name.hasPrefix("protocol ")
                else { continue }
                requirements[String(name.dropFirst(9)), default: []] = Self.requirements(file, behind: index)
            }
        }
    }

    /// Whether a declaration, by the name that `TextRules.declaration` gives it, needs no doc comment.
    func covers(_ name: String, _ file: SourceFile, _ index: Int) -> Bool {
        switch name {
        case "var description", "var rawValue", "let rawValue": true
        case "init": file.code[index].contains(/init\??\(rawValue:/) || Self.isMemberwise(file, index)
        default: Self.isOperator(name) || isWitness(name, file, index)
        }
    }

    private static func isOperator(_ name: String) -> Bool {
        guard name.hasPrefix("func "), let first = name.dropFirst(5).first else { return false }
        return !first.isLetter && first != "_" && first != "`"
    }

    // MARK: Memberwise initializers

    /// Whether each line between the braces is “self.name = name”, for a property that other targets see.
    private static func isMemberwise(_ file: SourceFile, _ index: Int) -> Bool {
        let text = file.code[index...].joined(separator: "\n")
        guard let start = text.firstIndex(of: "{"), let end = text[start...].firstIndex(of: "}") else {
            return false
        }
        let lines = text[start..<end].dropFirst().split(separator: "\n").map(\.trimmed).filter { !$0.isEmpty }
        return !lines.isEmpty
            && lines.allSatisfy { line in
                let sides = line.split(separator: " = ")
                guard sides.count == 2, sides[0] == "self." + sides[1] else { return false }
                return hasProperty(file, String(sides[1]))
            }
    }

    private static func hasProperty(_ file: SourceFile, _ property: String) -> Bool {
        file.code.contains { code in
            guard let name = TextRules.declaration(code) else { return false }
            // One line may declare several: “let low: UInt64, high: UInt64”.
            return (name.hasPrefix("let ") || name.hasPrefix("var ")) && code.contains(" \(property):")
        }
    }

    // MARK: Witnesses

    private static func requirements(_ file: SourceFile, behind index: Int) -> Set<String> {
        let indentation = file.code[index].indentation
        var names: Set<String> = []
        for below in file.code.indices.dropFirst(index + 1) {
            if file.code[below].indentation <= indentation, !file.code[below].trimmed.isEmpty { break }
            guard let name = TextRules.anyDeclaration(file.code[below])?.name,
                TextRules.isDocumented(file, below)
            else { continue }
            names.insert(name)
        }
        return names
    }

    private func isWitness(_ name: String, _ file: SourceFile, _ index: Int) -> Bool {
        let indentation = file.code[index].indentation
        let enclosing = file.code[..<index].last { !$0.trimmed.isEmpty && $0.indentation < indentation }
        return Self.conformances(enclosing ?? "").contains { requirements[$0, default: []].contains(name) }
    }

    /// The text after the colon in the first line of a type or an extension.
    private static func conformances(_ code: String) -> [String] {
        let words = code.split(separator: " ")
        let isType = ["struct", "class", "enum", "actor", "extension"].contains { words.contains($0) }
        guard isType, let colon = code.firstIndex(of: ":") else { return [] }
        return code[colon...].dropFirst().prefix { $0 != "{" }.split(separator: ",").map(\.trimmed)
    }
}

extension String {
    /// The number of leading spaces.
    fileprivate var indentation: Int { prefix { $0 == " " }.count }
}
