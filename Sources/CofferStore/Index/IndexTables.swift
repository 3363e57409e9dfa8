/// The tables that an index has beside those that every index has, as its user_version says.
struct IndexTables: Equatable {
    /// The tables of facts.
    var facts = false
    /// The tables of history.
    var history = false

    /// The highest user_version.
    static let versionMax: Int64 = 6

    /// The tables that a user_version stands for; nil for an unknown one.
    init?(version: Int64) {
        facts = (version - 1) & 1 != 0
        history = (version - 1) & 4 != 0
        // Others mean nothing; 3 and 4 stood for a history without authors, before there was a release.
        guard self.version == version else { return nil }
    }

    init() {}

    /// The user_version.
    var version: Int64 { 1 + (facts ? 1 : 0) + (history ? 4 : 0) }
}
