import Testing

/// The rules of docs/architecture.md and CONTRIBUTING.md, applied to all of Sources.
@Suite struct ArchitectureTests {
    @Test("The sources are found")
    func sourcesAreFound() throws {
        #expect(Project.sources.count > 50)
        #expect(try Project.manifest().dependencies["coffer"]?.contains("ArgumentParser") == true)
    }

    @Test("Every target has a row")
    func rows() throws {
        #expect(ImportRules.targetsWithoutRow(try Project.targets()) == [])
    }

    @Test("Targets import only from rows above their own")
    func layers() {
        expectNone(ImportRules.layers(Project.sources + Project.benchmarks))
    }

    @Test("Targets import only what Package.swift declares for them")
    func declared() throws {
        expectNone(ImportRules.declared(Project.sources + Project.benchmarks, try Project.manifest()))
    }

    @Test("Targets import everything that Package.swift declares for them")
    func unused() throws {
        let unused = ImportRules.unused(Project.sources + Project.benchmarks, try Project.manifest())
        #expect(unused == [])
    }

    @Test("C libraries have one importer each")
    func libraries() {
        let libraries: Set<String> = [
            "CSodium", "CLibB2", "CCrypto", "CSQLite", "CFuse3", "CLibBSD", "CCurl", "CExpat",
        ]
        expectNone(ImportRules.importers(Project.sources, of: libraries))
    }

    @Test("Only programs import ArgumentParser")
    func argumentParser() {
        expectNone(ImportRules.importers(Project.sources + Project.benchmarks, of: ["ArgumentParser"]))
    }

    @Test("Foundation is imported nowhere")
    func foundation() {
        let modules: Set<String> = ["Foundation", "FoundationNetworking", "FoundationInternationalization"]
        expectNone(ImportRules.importers(Project.sources + Project.benchmarks, of: modules))
    }

    @Test("FoundationEssentials is imported by CofferClient, coffer and the benchmarks' report alone")
    func foundationEssentials() {
        expectNone(ImportRules.importers(Project.sources + Project.benchmarks, of: ["FoundationEssentials"]))
    }

    @Test("Declarations that other targets see have doc comments")
    func documentation() {
        expectNone(TextRules.documentation(Project.sources + Project.benchmarks))
    }

    @Test("Claims of safety say why they hold")
    func safety() {
        expectNone(TextRules.safety(Project.sources))
    }

    @Test("No tuple is made across a suspension")
    func suspendedTuples() {
        expectNone(TextRules.suspendedTuples(Project.sources + Project.benchmarks + Project.tests))
    }

    @Test("No banned words")
    func bannedWords() {
        expectNone(TextRules.bannedWords(Project.sources + Project.benchmarks))
    }

    @Test("At most a dozen files extend a type")
    func spread() {
        expectNone(TypeRules.spread(Project.sources))
    }

    @Test("A room of a vault calls only the rooms that it is built on")
    func rooms() {
        #expect(
            TypeRules.rooms.allSatisfy { room in
                Project.sources.contains { $0.path.contains("/\(room.folder)/") }
            })
        expectNone(TypeRules.rooms(Project.sources))
    }

    @Test("Files have at most 450 lines")
    func length() {
        expectNone(TextRules.length(Project.allSources + Project.benchmarks + Project.tests))
    }

    @Test("Sources have no paths of one machine")
    func pathsInSources() {
        let banned = TextRules.machinePaths + [TextRules.temporaryPath]
        expectNone(TextRules.paths(Project.allSources, banned: banned))
    }

    @Test("No other file has paths of the machine on which it was written")
    func pathsElsewhere() {
        expectNone(TextRules.paths(Project.others, banned: [TextRules.machinePaths[0]]))
    }

    /// Reports all violations at once.
    private func expectNone(_ violations: [Violation], sourceLocation: SourceLocation = #_sourceLocation) {
        if violations.isEmpty { return }
        let list = violations.map(\.description).joined(separator: "\n")
        Issue.record("\(violations.count) violations:\n\(list)", sourceLocation: sourceLocation)
    }
}
