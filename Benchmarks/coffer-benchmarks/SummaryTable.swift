internal import BenchmarkReport

/// A table of the medians for the terminal.
struct SummaryTable {
    let results: Results

    init(_ results: Results) {
        self.results = results
    }

    var lines: [String] {
        let widths = results.systems.map { max(9, $0.id.count + 2) }
        let head =
            Terminal.padded("median", 52) + zip(results.systems, widths).map { Self.left($0.id, $1) }.joined()
        return ["", head]
            + results.measures.map { measure in
                let cells = zip(results.systems, widths).map { system, width in
                    let value = results.summary(system.id, measure.id)?.median
                    return Self.left(value.map(Figure.text) ?? "–", width)
                }
                let title = Terminal.padded("\(measure.title)", 42) + Terminal.padded(measure.unit, 10)
                return title + cells.joined()
            }
    }

    private static func left(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(1, width - text.count)) + text
    }
}
