internal import FoundationEssentials

/// Everything that one run found out: enough to make the report again.
package struct Results: Codable, Equatable {
    /// Where it ran.
    package var machine: Machine
    /// How it ran.
    package var run: Run
    /// What was compared, in the order of the tables.
    package var systems: [SystemDescription]
    /// What was measured, in the order of the tables.
    package var measures: [Measure]
    /// Every single figure.
    package var samples: [Sample]

    package init(
        machine: Machine, run: Run, systems: [SystemDescription], measures: [Measure], samples: [Sample]
    ) {
        self.machine = machine
        self.run = run
        self.systems = systems
        self.measures = measures
        self.samples = samples
    }

    /// Reads what `json()` wrote.
    package init(json: [UInt8]) throws {
        self = try JSONDecoder().decode(Results.self, from: Data(json))
    }

    /// As text, in an order that does not change from run to run.
    package func json() throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(self)) + Array("\n".utf8)
    }

    /// The figures of one system in one measure, in the order of the rounds; empty if it was not measured.
    package func values(_ system: String, _ measure: String) -> [Double] {
        samples.filter { $0.system == system && $0.measure == measure }.sorted { $0.round < $1.round }
            .map(\.value)
    }

    /// Median and spread of one system in one measure.
    package func summary(_ system: String, _ measure: String) -> Summary? {
        Summary(values(system, measure))
    }
}

/// The machine that a run was made on.
package struct Machine: Codable, Equatable {
    /// The processor's name and how many of it there are.
    package var processor: String
    /// Main memory, in bytes.
    package var memory: UInt64
    /// The kernel's release.
    package var kernel: String
    /// The distribution.
    package var distribution: String
    /// The filesystem that everything is stored on, and its device.
    package var disk: String

    package init(processor: String, memory: UInt64, kernel: String, distribution: String, disk: String) {
        self.processor = processor
        self.memory = memory
        self.kernel = kernel
        self.distribution = distribution
        self.disk = disk
    }
}

/// How a run was made.
package struct Run: Codable, Equatable {
    /// When it began, as 2026-01-31 12:00 UTC.
    package var date: String
    /// How often everything was measured.
    package var rounds: Int
    /// Whether it was the short run, whose sizes are too small to be quoted.
    package var isQuick: Bool
    /// What the order of systems and all places in files were drawn from.
    package var seed: UInt64
    /// The sizes, in words.
    package var sizes: [String]
    /// Load of the machine when it began and when it ended.
    package var load: String
    /// What was left out, and why.
    package var omitted: [String]

    package init(
        date: String, rounds: Int, isQuick: Bool, seed: UInt64, sizes: [String], load: String,
        omitted: [String]
    ) {
        self.date = date
        self.rounds = rounds
        self.isQuick = isQuick
        self.seed = seed
        self.sizes = sizes
        self.load = load
        self.omitted = omitted
    }
}

/// One figure.
package struct Sample: Codable, Equatable {
    /// `SystemDescription.id`.
    package var system: String
    /// `Measure.id`.
    package var measure: String
    /// Counted from 1.
    package var round: Int
    /// In the measure's unit.
    package var value: Double

    package init(system: String, measure: String, round: Int, value: Double) {
        self.system = system
        self.measure = measure
        self.round = round
        self.value = value
    }
}
