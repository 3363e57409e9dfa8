/// Something that is measured: a row of the tables.
package struct Measure: Codable, Equatable {
    /// Which way is better.
    package enum Direction: String, Codable {
        /// As of a rate.
        case higher
        /// As of a time.
        case lower
    }

    /// Rows that are measured together, and stand in one table.
    package enum Group: String, Codable, CaseIterable {
        /// One large file.
        case large
        /// Thousands of small files.
        case small
        /// A tree of sources, by the tools that everybody uses.
        case tree
        /// Mounting.
        case mount
        /// Room on the disk.
        case space
        /// A million files.
        case million

        /// A heading.
        package var title: String {
            switch self {
            case .large: "Large files"
            case .small: "Small files"
            case .tree: "A source tree"
            case .mount: "Mounting"
            case .space: "Room on the disk"
            case .million: "A million files"
            }
        }
    }

    /// A short name, as in “large.write”.
    package var id: String
    /// What a person calls it.
    package var title: String
    /// As in “MB/s”.
    package var unit: String
    /// Which way is better.
    package var direction: Direction
    /// The table that it is in.
    package var group: Group
    /// Whether it is in the overview chart.
    package var isInOverview: Bool

    /// The name is that of the group and one of its own.
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

    /// How many times better one value is than another; nil where no ratio has a meaning.
    package func ratio(_ value: Double, to other: Double) -> Double? {
        guard value > 0, other > 0 else { return nil }
        return direction == .higher ? value / other : other / value
    }
}
