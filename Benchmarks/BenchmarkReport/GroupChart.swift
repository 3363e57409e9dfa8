/// A bar chart of one group, with a block for each measure and a bar for each system.
package struct GroupChart {
    private let title: String
    private let rows: [Comparison]

    /// Makes the chart of a group's measures that have figures.
    package init(_ results: Results, _ group: Measure.Group) {
        title = group.title
        rows = results.measures.filter { $0.group == group }.compactMap { Comparison(results, $0) }
    }

    private static let columnWidth = 440.0
    private static let barHeight = 15.0

    /// The picture, or nil if nothing was measured.
    package var svg: String? {
        if rows.isEmpty { return nil }
        let columns = rows.count > 1 ? 2 : 1
        var tops = [Double](repeating: 44, count: columns)
        var places: [(x: Double, y: Double)] = []
        for (index, row) in rows.enumerated() {
            let column = index % columns
            places.append((16 + Double(column) * Self.columnWidth, tops[column]))
            // The blocks of a row begin at the same height.
            tops[column] += 34 + Double(row.figures.count) * Self.barHeight
            if column == columns - 1, let lowest = tops.max() { tops = tops.map { _ in lowest } }
        }
        let height = Int((tops.max() ?? 0) + 8)
        var drawing = Drawing(width: Int(Self.columnWidth) * columns + 16, height: height)
        drawing.text(16, 24, title, "head")
        for (row, place) in zip(rows, places) { draw(row, at: place, &drawing) }
        return drawing.svg
    }

    private func draw(_ row: Comparison, at place: (x: Double, y: Double), _ drawing: inout Drawing) {
        let measure = row.measure
        let better = measure.direction == .higher ? "more is better" : "less is better"
        drawing.text(place.x, place.y + 12, measure.title, "strong")
        drawing.text(place.x + 410, place.y + 12, "\(measure.unit), \(better)", "quiet", at: .end)
        let greatest = row.figures.map(\.summary.median).max() ?? 0
        for (index, figure) in row.figures.enumerated() {
            let y = place.y + 20 + Double(index) * Self.barHeight
            let isRace = figure.system.notRacing[measure.id] == nil
            drawing.text(place.x + 124, y + 10, figure.system.id, "quiet", at: .end)
            let share = greatest > 0 ? figure.summary.median / greatest : 0
            let width = max(1, share * 200)
            drawing.bar(place.x + 130, y + 1, width: width, height: 11, figure.system.role.rawValue)
            let text = Figure.text(figure.summary.median) + (isRace ? "" : " (no race)")
            drawing.text(place.x + 136 + width, y + 10, text, "quiet")
        }
    }
}
