/// What `coffer check --remote` found at the remote of one vault.
package struct RemoteCheck: Codable, Sendable {
    /// The URL of the remote, without credentials.
    package let remote: String
    /// The number of packs to which contents refer, and the bytes to which they refer there.
    package var packs = 0, bytes = 0
    /// The bytes that were fetched and compared with what their authors signed; absent without `--read-all`.
    package var readBytes: Int?
    /// The number of applied commits that a new device would need.
    package var commits = 0
    /// What is missing at the remote, or damaged there.
    package var problems: [Problem] = []
    /// Sentences about what could not be checked, and why; empty if everything was.
    package var unchecked: [String] = []

    /// The result before anything is checked.
    package init(remote: String) { self.remote = remote }

    /// Something that a new device, or the history of this one, would lack.
    package struct Problem: Codable, Sendable, Equatable {
        /// A text about what is missing or damaged.
        package let text: String
        /// A text about what happens by itself, or what to do.
        package let remedy: String
        /// The paths of some of the files with contents in it; empty for everything but packs.
        package var paths: [String] = []
        /// The number of such files; absent for everything but packs.
        package var files: Int?
        /// The bytes of content in it, and those of them that are also on this device; absent for everything but packs.
        package var bytes: Int64?, localBytes: Int64?
    }
}
