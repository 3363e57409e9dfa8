/// A row of the merge table (docs/merge.md), or a turn of one, as a script.
public struct MergeCase: Sendable, CustomStringConvertible {
    /// What both sides do, and what comes of it.
    public let description: String
    /// How many users it needs.
    public let userCount: Int
    /// Does and expects it; throws `Disappointment`, or what a device throws.
    public let run: @Sendable (World) throws -> Void

    init(_ description: String, users: Int = 2, _ run: @escaping @Sendable (World) throws -> Void) {
        self.description = description
        userCount = users
        self.run = run
    }

    /// All cases.
    public static let all = attributes + contents + entries + directories + copies
}
