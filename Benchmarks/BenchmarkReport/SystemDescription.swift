/// One of the filesystems that are compared.
package struct SystemDescription: Codable, Equatable {
    /// What it is compared as.
    package enum Role: String, Codable {
        /// The one that this is about.
        case subject
        /// An encrypted filesystem that makes the same promises.
        case peer
        /// The disk's own filesystem, without encryption.
        case plain
        /// What FUSE allows: no encryption.
        case ceiling
    }

    /// A short name, as in “gocryptfs-xchacha”.
    package var id: String
    /// What it is compared as.
    package var role: Role
    /// As it tells it itself.
    package var version: String
    /// How it was made and mounted.
    package var options: String
    /// Measures in which its figure is no race, by id, and why.
    package var notRacing: [String: String]

    package init(id: String, role: Role, version: String, options: String, notRacing: [String: String] = [:])
    {
        self.id = id
        self.role = role
        self.version = version
        self.options = options
        self.notRacing = notRacing
    }
}
