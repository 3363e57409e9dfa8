internal import BenchmarkReport

/// The plan of a run.
struct Plan {
    var groups: [Measure.Group]
    var rounds: Int
    var sizes: Sizes
    var seed: UInt64
    var isQuick: Bool
    var directory: String
    var allowsAllInMillion = false
}

/// A run, which measures every group, round and system, each with a fresh store.
final class BenchmarkRun {
    private let plan: Plan
    private var list: SystemList
    private let machine: Machine
    private let recorder = Recorder()
    private var numbers: RandomNumbers

    init(_ plan: Plan, _ list: SystemList, _ machine: Machine) {
        self.plan = plan
        self.list = list
        self.machine = machine
        numbers = RandomNumbers(seed: plan.seed)
    }

    func results() throws -> Results {
        let date = Machine.date
        let load = Machine.load
        for system in list.systems { Terminal.line("\(system.id): \(system.description.version)") }
        for text in list.omitted { Terminal.line("left out: \(text)") }
        if !PageCache.canBeDropped {
            Terminal.line("left out: all rows with cold caches, because they need root")
        }
        let tree =
            plan.groups.contains(.tree)
            ? try SourceTree(large: plan.sizes.isTreeLarge, in: plan.directory) : nil
        for group in plan.groups { try measure(group, tree) }
        let measures = Catalogue.measures.filter { measure in
            recorder.samples.contains { $0.measure == measure.id }
        }
        let run = Run(
            date: date, rounds: plan.rounds, isQuick: plan.isQuick, seed: plan.seed,
            sizes: plan.sizes.texts + (tree.map { [$0.text] } ?? []),
            load: "\(load) before, \(Machine.load) after",
            omitted: list.omitted)
        let results = Results(
            machine: machine, run: run, systems: list.systems.map(\.description), measures: measures,
            samples: recorder.samples)
        for line in SummaryTable(results).lines { Terminal.line(line) }
        return results
    }

    /// Measures all systems in each round, in a new random order, so that drift of the machine affects all of
    /// them.
    private func measure(_ group: Measure.Group, _ tree: SourceTree?) throws {
        let rounds = Self.isMeasuredOnce(group) ? 1 : plan.rounds
        var failed: Set<String> = []
        for round in 1...rounds {
            for system in list.systems.shuffled(using: &numbers)
            where takesPart(system, in: group) && !failed.contains(system.id) {
                recorder.begin(system.id, round: round, group)
                do {
                    try measure(group, system, tree, round: round)
                } catch let failure as Failure {
                    Cleanup.shared.stopIfEnding()
                    // Without Coffer or the plain disk there is nothing to compare.
                    if system.description.role == .subject || system.description.role == .plain {
                        throw failure
                    }
                    Terminal.note("\(system.id) failed and is left out of this group: \(failure)")
                    try clear(system)
                    recorder.forget(system.id, group)
                    failed.insert(system.id)
                    list.note("\(system.id), in “\(group.title)”: \(failure.description.firstLine)")
                }
            }
        }
    }

    private func measure(
        _ group: Measure.Group, _ system: BenchmarkedSystem, _ tree: SourceTree?, round: Int
    ) throws {
        let bench = try Bench(system, in: plan.directory, defaultStrength: group == .mount)
        let seed = plan.seed &+ UInt64(round) &* 1_000
        let sizes = plan.sizes
        switch group {
        case .large:
            try LargeFileWorkload(bench: bench, sizes: sizes, seed: seed, recorder: recorder).run(
                verifying: round == 1)
        case .small:
            try SmallFileWorkload(bench: bench, sizes: sizes, seed: seed, recorder: recorder).run(
                verifying: round == 1)
        case .tree:
            guard let tree else { return }
            try TreeWorkload(bench: bench, tree: tree, sizes: sizes, recorder: recorder).run(
                verifying: round == 1)
        case .mount:
            try MountWorkload(bench: bench, sizes: sizes, rounds: plan.rounds, recorder: recorder).run()
        case .space:
            try SpaceWorkload(bench: bench, sizes: sizes, seed: seed, recorder: recorder).run()
        case .slow:
            try SlowDiskWorkload(bench: bench, sizes: sizes, seed: seed, recorder: recorder).run()
        case .million:
            try MillionWorkload(bench: bench, recorder: recorder).run()
        }
        try bench.remove()
    }

    /// Whether a group has one round: mounting repeats by itself; the others take long, and hardly vary.
    private static func isMeasuredOnce(_ group: Measure.Group) -> Bool {
        group == .mount || group == .space || group == .million
    }

    private func takesPart(_ system: BenchmarkedSystem, in group: Measure.Group) -> Bool {
        switch group {
        case .large, .small, .tree: true
        case .mount: system.mount != nil && system.keepsFiles
        case .space: system.keepsFiles
        case .slow: system.mount != nil && system.keepsFiles && PageCache.canBeDropped
        case .million:
            system.keepsFiles
                && (plan.allowsAllInMillion || ["coffer", "gocryptfs"].contains(system.id)
                    || system.description.role == .plain)
        }
    }

    /// Cleans up after a failure, so that no mount and no process is left.
    private func clear(_ system: BenchmarkedSystem) throws {
        Cleanup.shared.run(keepingDirectory: true)
        try Command("rm", ["-rf", "\(plan.directory)/\(system.id)"]).run()
    }
}
