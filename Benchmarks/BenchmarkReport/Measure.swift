/// A measure, which is a row of the tables.
package struct Measure: Codable, Equatable {
    /// Whether higher or lower values are better.
    package enum Direction: String, Codable {
        /// For rates.
        case higher
        /// For times and sizes.
        case lower
    }

    /// Measures that are taken together, and share a table.
    package enum Group: String, Codable, CaseIterable {
        /// One large file.
        case large
        /// Thousands of small files.
        case small
        /// A source tree, used with common tools.
        case tree
        /// Mounting.
        case mount
        /// Space on the disk.
        case space
        /// A disk of few operations per second, which others use.
        case slow
        /// A million files.
        case million

        /// The heading of the table.
        package var title: String {
            switch self {
            case .large: "Large files"
            case .small: "Small files"
            case .tree: "A source tree"
            case .mount: "Mounting"
            case .space: "Room on the disk"
            case .slow: "A slow, busy disk"
            case .million: "A million files"
            }
        }
    }

    /// The group and a short name, such as “large.write”.
    package var id: String
    /// The name in reports.
    package var title: String
    /// The unit, such as “MB/s”.
    package var unit: String
    /// Whether higher or lower values are better.
    package var direction: Direction
    /// The group, and so the table.
    package var group: Group
    /// Whether it is in the overview chart.
    package var isInOverview: Bool

    /// Makes a measure, whose id joins the group and `name`.
    package init(
        _ group: Group, _ name: String, _ title: String, _ unit: String, _ direction: Direction,
        overview: Bool = false
    ) {
        id = "\(group.rawValue).\(name)"
        self.title = title
        self.unit = unit
        self.direction = direction
        self.group = group
        isInOverview = overview
    }

    /// How many times better one value is than another; nil if a ratio is meaningless.
    package func ratio(_ value: Double, to other: Double) -> Double? {
        guard value > 0, other > 0 else { return nil }
        return direction == .higher ? value / other : other / value
    }
}
