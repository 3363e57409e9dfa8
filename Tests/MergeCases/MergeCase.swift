/// A row of the merge table (docs/merge.md), or a variant of one, as a script.
///
/// If users change something while they are apart, the owner comes before the member, and the member before the
/// guest: their changes become commits in this order, even if that happens only when they meet.
public struct MergeCase: Sendable, CustomStringConvertible {
    /// What both sides do, and the outcome.
    public let description: String
    /// How many users it needs.
    public let userCount: Int
    /// Runs the script and checks the outcome; throws `Disappointment`, or an error of a device.
    public let run: @Sendable (World) throws -> Void

    init(_ description: String, users: Int = 2, _ run: @escaping @Sendable (World) throws -> Void) {
        self.description = description
        userCount = users
        self.run = run
    }

    /// All cases.
    public static let all = attributes + contents + entries + directories + copies

    /// Cases that hold if writing a file also changes its time.
    ///
    /// The new time turns a copy by rule into a file of its own, which stays when another user removes the copy.
    public static let onVaults = all.filter {
        $0.description != "A copy that one removes, while the other writes the file"
    }
}
