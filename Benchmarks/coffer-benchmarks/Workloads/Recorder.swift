internal import BenchmarkReport

/// Records figures, and prints them.
final class Recorder {
    private(set) var samples: [Sample] = []
    private var system = ""
    private var round = 0
    private var line = ""

    /// Sets the system, round and group of the following figures.
    func begin(_ system: String, round: Int, _ group: Measure.Group) {
        self.system = system
        self.round = round
        line = ""
        Terminal.line(Terminal.padded("\(group.rawValue) \(round)", 10) + system)
    }

    func record(_ measure: String, _ value: Double, round: Int? = nil) {
        Cleanup.shared.stopIfEnding()
        samples.append(Sample(system: system, measure: measure, round: round ?? self.round, value: value))
        guard let known = Catalogue.measures.first(where: { $0.id == measure }) else { return }
        let text = "\(Figure.text(value)) \(known.unit)"
        Terminal.line("            " + Terminal.padded(known.title, 42) + text)
    }

    /// Removes the figures of a system that failed in a group.
    func forget(_ system: String, _ group: Measure.Group) {
        samples.removeAll { $0.system == system && $0.measure.hasPrefix(group.rawValue + ".") }
    }
}
