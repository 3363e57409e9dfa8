/// The figures of one measure, as the tables and charts show them.
package struct Comparison {
    /// The measure.
    package let measure: Measure
    /// The systems that have figures, with their summaries.
    package let figures: [(system: SystemDescription, summary: Summary)]

    /// Returns nil if no system has figures.
    package init?(_ results: Results, _ measure: Measure) {
        self.measure = measure
        figures = results.systems.compactMap { system in
            results.summary(system.id, measure.id).map { (system, $0) }
        }
        if figures.isEmpty { return nil }
    }

    /// The median of the subject.
    package var subject: Double? {
        figures.first { $0.system.role == .subject }?.summary.median
    }

    /// The peers that keep the promise that this measure is about.
    package var racingPeers: [(system: SystemDescription, summary: Summary)] {
        figures.filter { $0.system.role == .peer && $0.system.notRacing[measure.id] == nil }
    }

    /// The peer with the best median.
    package var bestPeer: (system: SystemDescription, summary: Summary)? {
        racingPeers.min { isBetter($0.summary.median, $1.summary.median) }
    }

    /// The ceiling with the best median.
    package var ceiling: (system: SystemDescription, summary: Summary)? {
        figures.filter { $0.system.role == .ceiling }.min { isBetter($0.summary.median, $1.summary.median) }
    }

    /// How many times better the subject is than a median; nil if that is meaningless.
    package func ratio(to other: Double?) -> Double? {
        guard let subject, let other else { return nil }
        return measure.ratio(subject, to: other)
    }

    /// How many times better the subject is than a system.
    package func ratio(toSystem id: String) -> Double? {
        ratio(to: figures.first { $0.system.id == id }?.summary.median)
    }

    private func isBetter(_ one: Double, _ other: Double) -> Bool {
        measure.direction == .higher ? one > other : one < other
    }
}
