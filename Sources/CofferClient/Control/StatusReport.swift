/// What `coffer status` and `coffer vault list` tell; `--json` prints it as it is.
package struct StatusReport: Codable, Sendable {
    /// The path of the profile's directory.
    package let profile: String
    /// The person's name.
    package let name: String
    /// This machine's name.
    package let device: String
    /// Absent if not mounted.
    package let mountPoint: String?
    /// Every vault of the profile, also one that could not be opened.
    package let vaults: [VaultReport]
    /// Vaults that the person has asked to join, and is not a member of yet.
    package let joins: [AskedJoin]
    /// Absent if it could not be asked, as when no vault is open.
    package let disk: DiskReport?
    /// The latest, oldest first.
    package let problems: [ProblemReport]
}

/// A vault in a report.
package struct VaultReport: Codable, Sendable {
    /// Unique in the profile.
    package let name: String
    /// The vault id: 32 hexadecimal digits.
    package let id: String
    /// When it was made, seconds since 1970.
    package let created: Int64
    /// The epoch that new data is sealed under.
    package let epoch: UInt32
    /// Whether it could be opened.
    package let isOpen: Bool
    /// Items, the root not included.
    package let items: Int64
    /// Bytes of content.
    package let contentBytes: Int64
    /// Bytes that the vault's store takes on this disk.
    package let storeBytes: Int64
    /// Why nothing can be written, if so.
    package let stopped: String?
    /// How many bytes of content stay here that are at the remote, too; absent for all.
    package let cacheLimit: Int64?
    /// What is pinned; absent where nothing is.
    package var pinned: PinnedReport?
    /// Absent without a remote.
    package let sync: SyncReport?
}

/// The disk that holds the profile, in bytes.
package struct DiskReport: Codable, Sendable {
    /// Bytes in all.
    package let total: Int
    /// Bytes that users other than root can still write.
    package let available: Int
}

/// Something that went wrong in a mount.
package struct ProblemReport: Codable, Sendable {
    /// Seconds since 1970.
    package let time: Int64
    /// What went wrong, for people; may name files.
    package let text: String
}
