internal import CofferBench
internal import CofferClient

/// The output of `coffer bench` without `--json`.
struct BenchTable {
    let report: BenchReport

    func print() {
        let cores = "\(report.cores) core\(report.cores == 1 ? "" : "s")"
        let rounds = "\(report.rounds) round\(report.rounds == 1 ? "" : "s")"
        Output.line("\(report.directory): \(cores), \(rounds)")
        for part in BenchMeasure.Part.allCases { print(part) }
        let limits = report.rows.compactMap(\.limit)
        if !limits.isEmpty { Output.line("\nBottlenecks") }
        for limit in limits { Output.line("  \(limit)") }
        if !report.notes.isEmpty { Output.line("\nNotes") }
        for note in report.notes { Output.line("  \(note)") }
    }

    private func print(_ part: BenchMeasure.Part) {
        let rows = report.rows.filter { $0.part == part }
        guard !rows.isEmpty else { return }
        Output.line("\n\(heading(part))")
        let width = report.rows.map(\.title.count).max() ?? 0
        for row in rows {
            let title = row.title + String(repeating: " ", count: width - row.title.count)
            let spread =
                row.rounds > 1 ? "(\(Output.figure(row.minimum)) to \(Output.figure(row.maximum)))" : ""
            let ratios = [ratio("cipher", row.cipherRatio), ratio("disk", row.diskRatio)].compactMap { $0 }
            let figure = "\(right(Output.figure(row.median), 9)) \(left(row.unit.rawValue, 4))"
            var line = "  \(title) \(figure)"
            if !spread.isEmpty || !ratios.isEmpty { line += "  \(left(spread, 22))" }
            if !ratios.isEmpty { line += " \(ratios.joined(separator: ", "))" }
            while line.hasSuffix(" ") { line.removeLast() }
            Output.line(line)
        }
    }

    private func heading(_ part: BenchMeasure.Part) -> String {
        switch part {
        case .cipher: "Cipher (one core)"
        case .disk: "Disk"
        case .mount: "Mount"
        }
    }

    private func ratio(_ name: String, _ value: Double?) -> String? {
        value.map { "\(name) \(Output.figure($0))×" }
    }

    private func right(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(0, width - text.count)) + text
    }

    private func left(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }
}
