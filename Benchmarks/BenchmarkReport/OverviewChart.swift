internal import Glibc

/// A chart of how many times better the subject is than each peer, by measure, on a logarithmic scale.
package struct OverviewChart {
    private let rows: [Comparison]
    private let peers: [SystemDescription]
    private let others: [SystemDescription]

    /// Makes the chart of the measures that are marked for the overview, and that the subject has figures
    /// for.
    package init(_ results: Results) {
        rows = results.measures.filter(\.isInOverview).compactMap { Comparison(results, $0) }.filter {
            $0.subject != nil
        }
        peers = results.systems.filter { $0.role == .peer }
        others = results.systems.filter { $0.role == .plain }
    }

    private var systems: [SystemDescription] { peers + others }

    /// The picture, or nil if there is nothing to compare.
    package var svg: String? {
        let points = rows.map { row in systems.map { ratio(row, $0) } }
        let all = points.flatMap { $0.compactMap { $0 } }
        guard let least = all.min(), let greatest = all.max() else { return nil }
        let axis = LogarithmicAxis(least: min(least, 0.5), greatest: max(greatest, 2), from: 250, to: 780)
        let top = 84.0
        let bottom = top + Double(rows.count) * 24
        var drawing = Drawing(width: 820, height: Int(bottom) + 40)
        drawing.text(16, 24, "How many times better Coffer is", "head")
        legend(&drawing)
        for tick in axis.ticks {
            let x = axis.position(tick)
            drawing.line(x, top - 8, to: x, bottom, tick == 1 ? "one" : "grid")
            drawing.text(x, bottom + 16, Self.tickText(tick), "quiet", at: .middle)
        }
        drawing.text(axis.position(1) - 8, top - 14, "← worse", "quiet", at: .end)
        drawing.text(axis.position(1) + 8, top - 14, "better →", "quiet")
        for (index, row) in rows.enumerated() {
            let y = top + Double(index) * 24 + 12
            drawing.text(240, y + 4, row.measure.title, at: .end)
            drawing.line(250, y, to: 780, y, "grid")
            for (place, system) in systems.enumerated() {
                guard let ratio = points[index][place] else { continue }
                let title = "\(row.measure.title): \(Figure.ratio(ratio)) \(system.id)"
                drawing.dot(axis.position(ratio), y, colour(place), title: title)
            }
        }
        return drawing.svg
    }

    /// The ratio to draw; nil if the peer does not keep the measure's promise.
    private func ratio(_ row: Comparison, _ system: SystemDescription) -> Double? {
        system.notRacing[row.measure.id] == nil ? row.ratio(toSystem: system.id) : nil
    }

    private func legend(_ drawing: inout Drawing) {
        var x = 22.0
        for (place, system) in systems.enumerated() {
            let text = system.role == .plain ? "\(system.id) (not encrypted)" : system.id
            drawing.dot(x, 44, colour(place), title: system.id)
            drawing.text(x + 10, 48, text)
            x += 30 + Double(text.count) * 6.6
        }
    }

    private func colour(_ place: Int) -> String {
        systems[place].role == .plain ? "c6" : "c\(place % 6)"
    }

    private static func tickText(_ tick: Double) -> String {
        tick < 1 ? "1/\(Figure.fixed(1 / tick, decimals: 0))" : Figure.fixed(tick, decimals: 0) + "×"
    }
}

/// Maps numbers to positions on a logarithmic scale.
struct LogarithmicAxis {
    let ticks: [Double]
    private let low: Double
    private let high: Double
    private let start: Double
    private let end: Double

    init(least: Double, greatest: Double, from start: Double, to end: Double) {
        // The axis extends slightly beyond the values.
        low = log(least / 1.15)
        high = log(greatest * 1.15)
        self.start = start
        self.end = end
        // 1, 2 and 5 between one tenth and ten; beyond, only powers of ten.
        let steps: [Double] = [0.001, 0.01, 0.1, 0.2, 0.5, 1, 2, 5, 10, 100, 1_000, 10_000]
        let range = least / 1.15...greatest * 1.15
        ticks = steps.filter { range.contains($0) }
    }

    func position(_ value: Double) -> Double {
        start + (log(value) - low) / (high - low) * (end - start)
    }
}
