/// A row of the merge table (docs/merge.md), or a turn of one, as a script.
///
/// Of two who change something while they are apart, the owner is earlier than the member, and the member than the
/// guest: what they do becomes commits in this order, also where that happens when they meet.
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

    /// Those that hold where who writes a file changes its time, too.
    ///
    /// That makes a file of its own of a copy by rule, so it stays when somebody removes the copy.
    public static let onVaults = all.filter {
        $0.description != "A copy that one removes, while the other writes the file"
    }
}
