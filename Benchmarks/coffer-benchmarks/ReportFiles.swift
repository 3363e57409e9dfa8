internal import BenchmarkReport
internal import Glibc

/// Writes the files of a report: samples, page and charts.
struct ReportFiles {
    let results: Results

    init(_ results: Results) {
        self.results = results
    }

    func write(to directory: String) throws {
        try Command("mkdir", ["-p", directory]).run()
        try write(try results.json(), to: directory + "/results.json")
        try write(Array(MarkdownReport(results).text.utf8), to: directory + "/README.md")
        if let svg = OverviewChart(results).svg {
            try write(Array(svg.utf8), to: directory + "/overview.svg")
        }
        for group in Measure.Group.allCases {
            guard let svg = GroupChart(results, group).svg else { continue }
            try write(Array(svg.utf8), to: "\(directory)/\(group.rawValue).svg")
        }
        Terminal.note("The report is in \(directory).")
    }

    private func write(_ bytes: [UInt8], to path: String) throws {
        let file = try File(path, O_WRONLY | O_CREAT | O_TRUNC)
        try bytes.withUnsafeBytes { try file.write($0, at: 0) }
    }
}
