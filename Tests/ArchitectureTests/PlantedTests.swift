import Testing

/// Shows on planted text that each rule can fail, and what it does not treat as a violation.
@Suite struct PlantedTests {
    private func file(_ path: String, _ text: String) -> [SourceFile] { [SourceFile(path: path, text)] }
    private func lines(_ violations: [Violation]) -> [Int] { violations.map(\.line) }

    private let manifest = Manifest(
        """
        func module(_ name: String) -> Target {}
        let package = Package(
            // module("CofferGone", ["CofferSystem"]),
            targets: [
                systemLibrary("CSQLite", "sqlite3", "libsqlite3-dev"),
                module("CofferVault", ["CofferSystem", "CofferStore"]),
                module(
                    "CofferFUSE",
                    ["CFuse3"]),
                .target(name: "CofferPlain"),
                .executableTarget(
                    name: "coffer",
                    dependencies: [
                        "CofferClient", .product(name: "ArgumentParser", package: "swift-argument-parser"),
                    ],
                    swiftSettings: settings),
                tests("CofferVaultTests", ["CofferVault"]),
            ])
        """)

    @Test func manifestIsRead() {
        let expected: [String: Set<String>] = [
            "CSQLite": [], "CofferPlain": [], "CofferFUSE": ["CFuse3"], "CofferVaultTests": ["CofferVault"],
            "CofferVault": ["CofferSystem", "CofferStore"], "coffer": ["CofferClient", "ArgumentParser"],
        ]
        #expect(manifest.dependencies == expected)
    }

    @Test func importsAreRead() {
        let text = """
            internal import CofferSystem
            package import struct CofferFormat.Epoch
            @preconcurrency public import Glibc
            import Foundation // for nothing
            // import CofferVault
            let text = "import CofferStore"
            """
        let imports = file("Sources/CofferStore/File.swift", text)[0].imports
        #expect(imports.map(\.module) == ["CofferSystem", "CofferFormat", "Glibc", "Foundation"])
        #expect(imports.map(\.line) == [1, 2, 3, 4])
    }

    @Test func targetWithoutRow() {
        #expect(ImportRules.targetsWithoutRow(["CofferVault", "CofferNew"]) == ["CofferNew"])
    }

    @Test(arguments: [
        ("CofferStore", "CofferVault"), ("CofferSystem", "CofferCrypto"), ("CofferCrypto", "CofferFormat"),
        ("CofferFormat", "CofferCrypto"), ("CofferVault", "CofferFUSE"), ("CofferClient", "coffer"),
    ])
    func layer(target: String, module: String) {
        let files = file("Sources/\(target)/File.swift", "internal import Glibc\ninternal import \(module)\n")
        let violations = ImportRules.layers(files)
        #expect(lines(violations) == [2])
        #expect(violations.first?.description.hasPrefix("Sources/\(target)/File.swift:2: \(target)") == true)
    }

    @Test func layerAbove() {
        #expect(
            ImportRules.layers(file("Sources/coffer/File.swift", "import CofferClient\nimport Glibc")).isEmpty
        )
    }

    @Test func undeclared() {
        let files = file(
            "Sources/CofferVault/File.swift", "import CofferStore\nimport Glibc\nimport CofferFormat")
        #expect(lines(ImportRules.declared(files, manifest)) == [3])
    }

    @Test func unused() {
        let files = file("Sources/CofferVault/File.swift", "import CofferStore")
        let expected = "Package.swift: CofferVault depends on CofferSystem, but does not import it"
        #expect(ImportRules.unused(files, manifest) == [expected])
    }

    @Test(arguments: [
        ("CSodium", "CofferCrypto"), ("CLibB2", "CofferCrypto"),
        ("CCrypto", "CofferCrypto"), ("CSQLite", "CofferStore"),
        ("CFuse3", "CofferFUSE"), ("CLibBSD", "coffer"), ("ArgumentParser", "coffer"),
        ("FoundationEssentials", "CofferClient"),
        ("FoundationEssentials", "coffer"),
    ])
    func importer(module: String, allowed: String) {
        let importing = "internal import \(module)"
        #expect(ImportRules.importers(file("Sources/\(allowed)/File.swift", importing), of: [module]).isEmpty)
        let files = file("Sources/CofferVault/File.swift", importing)
        #expect(lines(ImportRules.importers(files, of: [module])) == [1])
    }

    @Test(arguments: ["CofferClient", "coffer"])
    func foundation(target: String) {
        let files = file("Sources/\(target)/File.swift", "import FoundationEssentials\nimport Foundation")
        #expect(lines(ImportRules.importers(files, of: ["Foundation", "FoundationEssentials"])) == [2])
    }

    @Test(arguments: [
        "package func read() {}", "    public init(path: String) {", "package init?(_ text: String) {",
        "package var path: String { \"\" }", "package static let count = 1", "static package let count = 1",
        "package struct Vault {", "package final class Vault: Sendable {", "public enum Role {",
        "package protocol Storage {", "package typealias Bytes = [UInt8]",
        "@safe package final class Vault {",
        "@inline(__always) package static func read() {", "package private(set) var count = 0",
        "@available(*, deprecated, message: \"no\") public func old() {}", "package class func make() {}",
        "package nonisolated(unsafe) static let table = 1", "package mutating func move() {",
        "public subscript(at: Int)", "package var descriptions: [String] { [] }",
        "package func rawValue() {}", "package init(rawValues: [Int]) {",
    ])
    func undocumented(declaration: String) {
        let path = "Sources/CofferVault/File.swift"
        #expect(lines(TextRules.documentation(file(path, "// a note\n\(declaration)"))) == [2])
        #expect(lines(TextRules.documentation(file(path, "/// Detached.\n\n\(declaration)"))) == [3])
        #expect(TextRules.documentation(file(path, "/// What it is.\n\(declaration)")).isEmpty)
        #expect(
            TextRules.documentation(file(path, "/** What it is. */\n@safe\n// a note\n\(declaration)"))
                .isEmpty)
    }

    @Test(arguments: [
        "func read() {}", "private var path = 1", "package import CofferSystem", "case package(Int)",
        "let package = Package(", "// package func read()", "package extension Vault {",
        "x = \"package func read()\"", "package var description: String { \"\" }",
        "package let rawValue: Int32", "package init(rawValue: Int32) { self.rawValue = rawValue }",
        "package init?(rawValue: UInt8) {", "package static func < (left: Self, right: Self) -> Bool {",
    ])
    func needsNoDocumentation(line: String) {
        #expect(TextRules.documentation(file("Sources/CofferVault/File.swift", line)).isEmpty)
    }

    @Test func memberwiseInitializer() {
        let text = """
            /// Documented.
            package struct Node {
                /// Documented.
                package let slot: Int, item: Int
                private let secret: Int
                package init(slot: Int, item: Int) {
                    self.slot = slot
                    self.item = item
                }
                package init(item: Int) { self.item = item }
                package init(slot: Int) {
                    self.slot = slot
                    item = 0
                }
                package init(other: Int) { self.slot = other }
                package init(secret: Int) { self.secret = secret }
                package init() {}
            }
            """
        let violations = TextRules.documentation(file("Sources/CofferVault/File.swift", text))
        #expect(lines(violations) == [11, 15, 16, 17])
    }

    @Test func witness() {
        let storage = """
            /// Documented.
            package protocol Storage: AnyObject {
                /// Documented.
                func read() throws
                func write()
            }
            """
        let text = """
            /// Documented.
            package final class Disk: Sendable, Storage {
                package func read() throws {
                    list()
                }
                package func write() {}
                package func list() {}
                package init() {}
            }
            extension Tape: Storage {
                package func read() {}
            }
            extension Tape {
                package func read() {}
            }
            """
        let files =
            file("Sources/CofferSystem/Storage.swift", storage)
            + file("Sources/CofferVault/File.swift", text)
        #expect(lines(TextRules.documentation(files)) == [6, 7, 8, 14])
    }

    @Test func documentationReportsAllViolationsAtOnce() {
        let text = """
            package func one() {}
            package func two() {}
            /// Three.
            package func three() {}
            public let four = 4
            """
        let violations = TextRules.documentation(file("Sources/CofferVault/File.swift", text))
        #expect(lines(violations) == [1, 2, 5])
        #expect(violations.map(\.text).map { $0.prefix(8) } == ["func one", "func two", "let four"])
    }

    @Test(arguments: ["final class Vault: @unchecked Sendable {", "nonisolated(unsafe) let table = 1"])
    func unexplainedClaim(claim: String) {
        let path = "Sources/CofferVault/File.swift"
        #expect(lines(TextRules.safety(file(path, "/// Doc.\n\(claim)"))) == [2])
        #expect(lines(TextRules.safety(file(path, "// SAFETY: of another.\nlet other = 1\n\(claim)"))) == [3])
        #expect(TextRules.safety(file(path, "// SAFETY: why\n// it holds.\n@safe\n\(claim)")).isEmpty)
        #expect(TextRules.safety(file(path, "\(claim) // SAFETY: why.")).isEmpty)
        #expect(TextRules.safety(file(path, "// Not \(claim)")).isEmpty)
    }

    @Test func suspendedTuples() {
        let text = """
            let one = (await a, await b)
            return (name, .success(try await fetch(name)))
            return (
                dot,
                result[try await d()]
            )
            call(name, await fetch(name))
            let (two, three) = await (a, b)
            let four = (await a)
            run { (try await a(), 0) }
            let five = ("b", { await b() })
            """
        let violations = TextRules.suspendedTuples(file("Sources/CofferSync/File.swift", text))
        #expect(lines(violations) == [1, 2, 3, 10])
    }

    @Test func bannedWords() {
        let text = """
            let one = try! read()
            let two = try? read()
            fatalError("no")
            // try! is spoken of
            let three = "fatalError("
            // TODO: more
            let four = "\\(try! read())"
            """
        let violations = TextRules.bannedWords(file("Sources/CofferVault/File.swift", text))
        #expect(lines(violations) == [1, 3, 6, 7])
    }

    @Test func length() {
        let path = "Sources/CofferVault/File.swift"
        let text = String(repeating: "let one = 1\n", count: TextRules.lineCountMax)
        #expect(TextRules.length(file(path, text)).isEmpty)
        #expect(lines(TextRules.length(file(path, text + "let one = 1\n"))) == [TextRules.lineCountMax + 1])
    }

    @Test func spread() {
        let one = SourceFile(
            path: "Sources/CofferVault/Vault.swift", "final class Vault {}\nextension Int {}\n")
        let more = (0...TypeRules.extensionCountMax).map {
            SourceFile(
                path: "Sources/CofferVault/\($0).swift",
                "// a comment\nextension Vault {}\nextension Int {}\n")
        }
        #expect(TypeRules.spread([one] + more.dropLast()).isEmpty)
        #expect(lines(TypeRules.spread([one] + more)) == [2])
        let elsewhere = SourceFile(path: "Sources/CofferSync/Vault.swift", "extension Vault {}\n")
        #expect(TypeRules.spread([one] + more.dropLast() + [elsewhere]).isEmpty)
    }

    @Test func rooms() {
        let text = """
            try vault.contents.read()
            // vault.incoming.apply()
            vault.incoming.apply()
            """
        #expect(TypeRules.rooms(file("Sources/CofferVault/Incoming/A.swift", text)).isEmpty)
        #expect(lines(TypeRules.rooms(file("Sources/CofferVault/Cache/A.swift", text))) == [3])
        #expect(lines(TypeRules.rooms(file("Sources/CofferVault/Vault.swift", text))) == [1, 3])
        #expect(TypeRules.rooms(file("Sources/CofferClient/A.swift", text)).isEmpty)
        let bare = "let a = try contents.read()\nstate.contents.b()\nlet c = mycontents.d()\n"
        #expect(lines(TypeRules.rooms(file("Sources/CofferVault/Tree/A.swift", bare))) == [1])
        #expect(TypeRules.rooms(file("Sources/CofferVault/Contents/A.swift", bare)).isEmpty)
    }

    @Test func paths() {
        let banned = TextRules.machinePaths + [TextRules.temporaryPath]
        let text = """
            let one = "\(banned[0])main"
            let two = "\(TextRules.temporaryPath)coffer-1"
            // \(banned[3])x
            """
        let violations = TextRules.paths(file("Sources/CofferClient/File.swift", text), banned: banned)
        #expect(lines(violations) == [1, 3])
    }

    @Test func codeWithoutCommentsAndStrings() {
        let text = ##"""
            a /* b /* c */ d */ e // f
            g("h \" i \(j("k") + l) m") n
            o = #"p \(q) \#(r) " s"# t
            """##
        let code = CodeText.code(of: text)
        #expect(code.filter(\.isLetter) == "aegjlnort")
        #expect(code.split(separator: "\n").map(\.count) == text.split(separator: "\n").map(\.count))
        let block = "let a = \"\"\"\n    b \"c\" \\(d)\n    \"\"\"\ne"
        #expect(CodeText.code(of: block).filter(\.isLetter) == "letade")
    }
}
