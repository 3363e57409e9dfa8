internal import BenchmarkReport

/// Takes down figures, and shows them.
final class Recorder {
    private(set) var samples: [Sample] = []
    private var system = ""
    private var round = 0
    private var line = ""

    /// What is recorded next is of this system in this round.
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

    /// Forgets a group's figures of a system that failed in it.
    func forget(_ system: String, _ group: Measure.Group) {
        samples.removeAll { $0.system == system && $0.measure.hasPrefix(group.rawValue + ".") }
    }
}
