/// Which target may import which (docs/architecture.md).
enum Layers {
    /// A target imports only from rows above its own, that is, of lower numbers.
    static let rows: [String: Int] = [
        "CFuse3": 0, "CSodium": 0, "CLibB2": 0, "CCrypto": 0, "CSQLite": 0, "CLibBSD": 0,
        "CCofferSystem": 0, "CCurl": 0, "CExpat": 0, "CQRencode": 0,
        "CofferSystem": 1,
        "CofferCrypto": 2, "CofferFormat": 2, "CofferHTTP": 2,
        "CofferTrust": 3, "CofferFacts": 3,
        "CofferStore": 4,
        "CofferVault": 5,
        "CofferRemote": 6, "CofferFUSE": 6,
        "CofferSync": 7,
        "CofferClient": 8,
        "CofferBench": 9,
        "coffer": 10,
        // Benchmarks/ may know all of the product, which knows nothing of it.
        "CFuseCeiling": 11, "BenchmarkReport": 11,
        "fuse-ceiling-memory": 12, "fuse-ceiling-passthrough": 12,
        "coffer-benchmarks": 12, "coffer-microbenchmarks": 12,
    ]

    /// Modules that only some targets import.
    static let importers: [String: Set<String>] = [
        "CSodium": ["CofferCrypto"],
        "CLibB2": ["CofferCrypto"],
        "CCrypto": ["CofferCrypto"],
        "CSQLite": ["CofferStore"],
        "CFuse3": ["CofferFUSE"],
        "CLibBSD": ["coffer"],
        "CCurl": ["CofferHTTP"],
        "CExpat": ["CofferRemote"],
        "CQRencode": ["coffer"],
        "ArgumentParser": ["coffer", "coffer-benchmarks", "coffer-microbenchmarks"],
        "FoundationEssentials": ["CofferClient", "coffer", "BenchmarkReport"],
        // 30 MB of code and data, for tasks that FoundationEssentials can do.
        "Foundation": [],
        "FoundationNetworking": [],
        "FoundationInternationalization": [],
    ]

    /// Modules of the toolchain that every target may import.
    static let toolchain: Set<String> = ["Swift", "Glibc", "Synchronization", "_Concurrency"]
}

/// The declarations of each target in Package.swift, read from its text.
struct Manifest {
    /// The names of targets and products that a target depends on.
    let dependencies: [String: Set<String>]

    init(_ text: String) {
        // This looks for strings, so it removes only whole-line comments.
        let text = text.split(separator: "\n").filter { !$0.trimmed.hasPrefix("//") }.joined(separator: "\n")
        var dependencies: [String: Set<String>] = [:]
        for call in Self.calls(in: text) {
            let strings = Self.strings(in: call.arguments)
            guard let name = strings.first else { continue }
            switch call.name {
            case "systemLibrary":
                dependencies[name] = []
            case "module", "tests":
                dependencies[name] = Set(Self.strings(in: Self.list(in: call.arguments)))
            default:
                // Only the name of “.product(name: "ArgumentParser", package: …)” counts.
                let label = call.arguments.firstRange(of: "dependencies:")
                let list = label.map { call.arguments[$0.upperBound...] } ?? ""
                let packages = Set(Self.strings(in: list, after: "package:"))
                dependencies[name] = Set(Self.strings(in: Self.list(in: list))).subtracting(packages)
            }
        }
        self.dependencies = dependencies
    }

    private static let functions = [
        "systemLibrary", "module", "tests", ".target", ".executableTarget", ".testTarget",
    ]

    /// The calls that declare targets, with the text between their parentheses.
    private static func calls(in text: String) -> [(name: String, arguments: Substring)] {
        functions.flatMap { function in
            text.ranges(of: function + "(").compactMap { range in
                // Not the definition of the function, nor the end of a longer name.
                if let before = text[..<range.lowerBound].last, before.isLetter || before == "." {
                    return nil
                }
                if text[..<range.lowerBound].hasSuffix("func ") { return nil }
                return (function, balanced(text[range.upperBound...], "(", ")"))
            }
        }
    }

    /// The text between the first brackets.
    private static func list(in text: Substring) -> Substring {
        guard let start = text.firstIndex(of: "[") else { return "" }
        return balanced(text[text.index(after: start)...], "[", "]")
    }

    private static func balanced(_ text: Substring, _ open: Character, _ close: Character) -> Substring {
        var depth = 1
        let end = text.firstIndex { character in
            if character == open { depth += 1 }
            if character == close { depth -= 1 }
            return depth == 0
        }
        return text[..<(end ?? text.endIndex)]
    }

    private static func strings(in text: Substring) -> [String] {
        text.split(separator: "\"", omittingEmptySubsequences: false).enumerated()
            .filter { $0.offset % 2 == 1 }.map { String($0.element) }
    }

    private static func strings(in text: Substring, after label: String) -> [String] {
        text.ranges(of: label).compactMap { strings(in: text[$0.upperBound...]).first }
    }
}
