/// One of the compared filesystems.
package struct SystemDescription: Codable, Equatable {
    /// The role of a system in the comparison.
    package enum Role: String, Codable {
        /// The system that is compared with the others.
        case subject
        /// An encrypted filesystem that makes the same promises.
        case peer
        /// The disk's own filesystem, without encryption.
        case plain
        /// A FUSE filesystem without encryption, which shows what FUSE allows.
        case ceiling
    }

    /// A short name, such as “gocryptfs-xchacha”.
    package var id: String
    /// The role in the comparison.
    package var role: Role
    /// The version that the system reports.
    package var version: String
    /// The options with which it was created and mounted.
    package var options: String
    /// The ids of measures in which its figures are not comparable, with the reasons.
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
