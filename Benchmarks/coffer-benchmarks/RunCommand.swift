internal import ArgumentParser
internal import BenchmarkReport
internal import Glibc

struct RunCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Measure, and write the report.",
        discussion:
            "Rows with cold caches need root, and are left out without it.")

    @Option(help: ArgumentHelp("The coffer binary to time.", valueName: "path"), completion: .file())
    var coffer: String?

    @Option(help: ArgumentHelp("The directory for stores (default: $TMPDIR or /var/tmp).", valueName: "path"))
    var directory: String?

    @Option(help: ArgumentHelp("The directory for the report.", valueName: "path"))
    var output = "docs/benchmarks"

    @Option(help: "The number of rounds (default: 5; 1 with --quick).")
    var rounds: Int?

    @Option(parsing: .upToNextOption, help: "Only these systems.")
    var systems: [String] = []

    @Option(parsing: .upToNextOption, help: "Only these groups: large, small, tree, mount, space, slow.")
    var groups: [String] = []

    @Flag(help: "Small sizes, one round, four systems: under two minutes. Do not quote these figures.")
    var quick = false

    @Flag(
        help:
            "Also put a million files into one vault (coffer, gocryptfs, plain; others if named)."
    )
    var million = false

    @Option(help: "The seed for the order of systems and for positions in files.")
    var seed: UInt64 = 1

    func validate() throws {
        if let rounds, !(1...1_000).contains(rounds) { throw ValidationError("--rounds must be 1 to 1000.") }
        let unknown = groups.filter { Measure.Group(rawValue: $0) == nil }
        if !unknown.isEmpty { throw ValidationError("Unknown groups: \(unknown.joined(separator: ", ")).") }
    }

    func run() throws {
        Cleanup.handleSignals()
        defer {
            Cleanup.shared.stopIfEnding()
            Cleanup.shared.run()
        }
        let directory = try makeDirectory()
        let machine = Machine(storing: directory)
        let quickSystems = ["coffer", "gocryptfs", "plain", "fuse-passthrough"]
        let wanted = systems.isEmpty ? (quick ? quickSystems : nil) : systems
        let list = try SystemList(coffer: coffer, machine: machine, wanted: wanted)
        var plan = Plan(
            groups: chosenGroups, rounds: rounds ?? (quick ? 1 : 5), sizes: quick ? .quick : .full,
            seed: seed,
            isQuick: quick, directory: directory)
        plan.allowsAllInMillion = !systems.isEmpty
        let results = try BenchmarkRun(plan, list, machine).results()
        try ReportFiles(results).write(to: output)
    }

    private var chosenGroups: [Measure.Group] {
        let usual: [Measure.Group] =
            quick ? [.large, .small, .tree, .mount] : [.large, .small, .tree, .mount, .space, .slow]
        let chosen = groups.isEmpty ? usual : groups.compactMap(Measure.Group.init(rawValue:))
        return chosen.filter { $0 != .million } + (million ? [.million] : [])
    }

    private func makeDirectory() throws -> String {
        let parent = directory ?? getenv("TMPDIR").map { String(cString: $0) } ?? "/var/tmp"
        var template = Array((parent + "/coffer-benchmarks-XXXXXX").utf8CString)
        guard mkdtemp(&template) != nil else { throw Failure(call: "mkdtemp in \(parent)") }
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        Cleanup.shared.uses(path)
        return path
    }
}
