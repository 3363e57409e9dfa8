internal import FoundationEssentials

/// All results of one run, from which the report can be made again.
package struct Results: Codable, Equatable {
    /// The machine of the run.
    package var machine: Machine
    /// The parameters of the run.
    package var run: Run
    /// The compared systems, in the order of the tables.
    package var systems: [SystemDescription]
    /// The measures, in the order of the tables.
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

    /// Decodes the output of `json()`.
    package init(json: [UInt8]) throws {
        self = try JSONDecoder().decode(Results.self, from: Data(json))
    }

    /// Encodes the results, with keys in a stable order.
    package func json() throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(self)) + Array("\n".utf8)
    }

    /// The figures of one system and measure, in the order of the rounds; empty without any.
    package func values(_ system: String, _ measure: String) -> [Double] {
        samples.filter { $0.system == system && $0.measure == measure }.sorted { $0.round < $1.round }
            .map(\.value)
    }

    /// Median and range of one system and measure; nil without figures.
    package func summary(_ system: String, _ measure: String) -> Summary? {
        Summary(values(system, measure))
    }
}

/// The machine of a run.
package struct Machine: Codable, Equatable {
    /// The number of processors and their name.
    package var processor: String
    /// The size of main memory, in bytes.
    package var memory: UInt64
    /// The kernel's release.
    package var kernel: String
    /// The distribution.
    package var distribution: String
    /// The filesystem that holds all stores, and its device.
    package var disk: String

    package init(processor: String, memory: UInt64, kernel: String, distribution: String, disk: String) {
        self.processor = processor
        self.memory = memory
        self.kernel = kernel
        self.distribution = distribution
        self.disk = disk
    }
}

/// The parameters of a run.
package struct Run: Codable, Equatable {
    /// The start of the run, such as “2026-01-31 12:00 UTC”.
    package var date: String
    /// The number of rounds.
    package var rounds: Int
    /// Whether it was a quick run, whose figures must not be quoted because its sizes are too small.
    package var isQuick: Bool
    /// The seed for the order of systems and for positions in files.
    package var seed: UInt64
    /// The sizes of the workloads as text.
    package var sizes: [String]
    /// The load of the machine at the start and at the end.
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
    /// The round, counted from 1.
    package var round: Int
    /// The value in the measure's unit.
    package var value: Double

    package init(system: String, measure: String, round: Int, value: Double) {
        self.system = system
        self.measure = measure
        self.round = round
        self.value = value
    }
}
