/// The report as a Markdown page, docs/benchmarks/README.md.
package struct MarkdownReport {
    private let results: Results

    /// Makes a report of results.
    package init(_ results: Results) {
        self.results = results
    }

    /// The whole page.
    package var text: String {
        ([header, overview, explanation] + Measure.Group.allCases.compactMap(section) + [systems, notes])
            .joined(separator: "\n\n") + "\n"
    }

    private var header: String {
        let run = results.run
        let machine = results.machine
        var lines = [
            "# Benchmarks", "",
            "<!-- Made by “coffer-benchmarks report”; edits by hand are lost. -->", "",
            "How Coffer compares with its peers, measured in one run, on one machine and one disk. "
                + "[Benchmarks/](../../Benchmarks/README.md) says what each row measures, and what is fair.",
        ]
        if run.isQuick {
            lines += ["", "**This was a quick run: small sizes, few rounds. Do not quote it.**"]
        }
        let rows = [
            ("date", run.date), ("processor", machine.processor),
            ("memory", "\(Figure.text(Double(machine.memory) / 1_073_741_824)) GiB"),
            ("system", "\(machine.distribution), Linux \(machine.kernel)"), ("disk", machine.disk),
            ("rounds", "\(run.rounds), the order of systems shuffled in each; seed \(run.seed)"),
            ("sizes", run.sizes.joined(separator: "; ")), ("load average", run.load),
        ]
        lines += ["", "| | |", "| --- | --- |"] + rows.map { "| \($0) | \($1) |" }
        return lines.joined(separator: "\n")
    }

    private var overview: String {
        "![How many times better Coffer is than each peer](overview.svg)"
    }

    private var explanation: String {
        """
        Figures are medians; the least and the greatest are in brackets. A ratio above 1 means that Coffer is
        better, whether more or less is better in that row. “Best peer” is the best of the encrypted
        filesystems that keep the promise of that row. Figures in *italics* do not keep it, and are not
        comparable (“no race” in the charts; see the notes at the end). The ceiling is a FUSE filesystem that
        only passes requests on, or only keeps data in memory: without encryption, as fast as FUSE allows.
        Shared machines drift: differences of less than a tenth are noise.
        """
    }

    private func section(_ group: Measure.Group) -> String? {
        let comparisons = results.measures.filter { $0.group == group }.compactMap {
            Comparison(results, $0)
        }
        if comparisons.isEmpty { return nil }
        var parts = ["## \(group.title)", "![\(group.title)](\(group.rawValue).svg)"]
        parts.append(ratios(comparisons))
        parts.append(figures(comparisons))
        return parts.joined(separator: "\n\n")
    }

    private func ratios(_ comparisons: [Comparison]) -> String {
        let rows = comparisons.compactMap { comparison -> String? in
            guard comparison.subject != nil else { return nil }
            let best = comparison.bestPeer
            let plain = comparison.figures.first { $0.system.role == .plain }
            let ceiling = comparison.ceiling
            return [
                comparison.measure.title, cell(comparison.ratio(toSystem: "gocryptfs")),
                cell(comparison.ratio(to: best?.summary.median), best?.system.id),
                cell(comparison.ratio(to: plain?.summary.median)),
                cell(comparison.ratio(to: ceiling?.summary.median), ceiling?.system.id),
            ].row
        }
        if rows.isEmpty { return "Coffer was not measured." }
        let head = ["Coffer against", "gocryptfs", "best peer", "plain", "ceiling"]
        return ([head.row, head.rule] + rows).joined(separator: "\n")
    }

    private func cell(_ ratio: Double?, _ name: String? = nil) -> String {
        guard let ratio else { return "–" }
        return Figure.ratio(ratio) + (name.map { " (\($0))" } ?? "")
    }

    private func figures(_ comparisons: [Comparison]) -> String {
        let systems = results.systems.filter { system in
            comparisons.contains { $0.figures.contains { $0.system == system } }
        }
        let head = ["", "unit"] + systems.map(\.id)
        let rows = comparisons.map { comparison in
            let measure = comparison.measure
            let cells = systems.map { system -> String in
                guard let summary = comparison.figures.first(where: { $0.system == system })?.summary else {
                    return "–"
                }
                let text = Self.text(summary)
                return system.notRacing[measure.id] == nil ? text : "*\(text)*"
            }
            let unit = "\(measure.unit) \(measure.direction == .higher ? "↑" : "↓")"
            return ([measure.title, unit] + cells).row
        }
        return ([head.row, head.rule] + rows).joined(separator: "\n")
    }

    private static func text(_ summary: Summary) -> String {
        if summary.least == summary.greatest { return Figure.text(summary.median) }
        let spread = "\(Figure.text(summary.least))–\(Figure.text(summary.greatest))"
        return "\(Figure.text(summary.median)) (\(spread))"
    }

    private var systems: String {
        let head = ["system", "compared as", "version", "options"]
        let rows = results.systems.map { [$0.id, $0.role.rawValue, $0.version, $0.options].row }
        let omitted = results.run.omitted.map { "- \($0)" }
        let table = (["## Systems", "", head.row, head.rule] + rows).joined(separator: "\n")
        return omitted.isEmpty ? table : table + "\n\nOmitted:\n\n" + omitted.joined(separator: "\n")
    }

    private var notes: String {
        var lines = ["## Not comparable"]
        for system in results.systems where !system.notRacing.isEmpty {
            let byReason = Dictionary(grouping: system.notRacing.sorted { $0.key < $1.key }, by: \.value)
            for (reason, measures) in byReason.sorted(by: { $0.key < $1.key }) {
                let titles = results.measures.filter { measure in measures.contains { $0.key == measure.id } }
                lines += [
                    "", "- **\(system.id)**: \(reason) (\(titles.map(\.title).joined(separator: ", "))).",
                ]
            }
        }
        if lines.count == 1 { lines += ["", "Every system of this run keeps the promises of every row."] }
        return lines.joined(separator: "\n")
    }
}

extension [String] {
    /// A row of a table.
    fileprivate var row: String {
        "| " + map { $0.replacing("|", with: "\\|") }.joined(separator: " | ") + " |"
    }

    /// The line below a table's head, which aligns the first column left and the others right.
    fileprivate var rule: String {
        "| --- | " + dropFirst().map { _ in "---:" }.joined(separator: " | ") + " |"
    }
}
