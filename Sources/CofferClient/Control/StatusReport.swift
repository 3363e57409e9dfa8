/// The report of `coffer status` and `coffer vault list`; `--json` prints all of it.
package struct StatusReport: Codable, Sendable {
    /// The path of the profile's directory.
    package let profile: String
    /// The person's name.
    package let name: String
    /// This machine's name.
    package let device: String
    /// The path where the vaults are mounted; absent if they are not.
    package let mountPoint: String?
    /// The path from which the mount was detached while programs use it; absent otherwise.
    package var detachedFrom: String?
    /// Every vault of the profile, including those that could not be opened.
    package let vaults: [VaultReport]
    /// Vaults that the person has asked to join, and is not a member of yet.
    package let joins: [AskedJoin]
    /// The disk that holds the profile; absent if unknown, for example if no vault is open.
    package let disk: DiskReport?
    /// The latest problems, oldest first.
    package let problems: [ProblemReport]
    /// When the profile was locked, in seconds since 1970; absent if it is not.
    ///
    /// A locked profile tells only its path and its mount point.
    package var locked: Int64?
}

/// A vault of the profile.
package struct VaultReport: Codable, Sendable {
    /// The name, unique in the profile.
    package let name: String
    /// The vault id: 32 hexadecimal digits.
    package let id: String
    /// The time of creation on this device, in seconds since 1970.
    package let created: Int64
    /// The epoch under which new data is sealed.
    package let epoch: UInt32
    /// Whether it could be opened.
    package let isOpen: Bool
    /// The number of items, without the root.
    package let items: Int64
    /// The bytes of content.
    package let contentBytes: Int64
    /// How long past states are kept, in seconds; 0 for none, −1 for ever; absent if that is not known.
    package let historySeconds: Int64?
    /// The bytes of content that only the history has.
    package let historyBytes: Int64
    /// The number of snapshots.
    package let snapshots: Int
    /// The bytes that the vault's store occupies on this disk.
    package let storeBytes: Int64
    /// Why the vault cannot be written to; absent if it can.
    package let stopped: String?
    /// Why the latest changes cannot be stored on this disk now; absent if they are stored.
    package var unstored: String?
    /// The number of bytes of content to keep here that are also at the remote; absent for no limit.
    package let cacheLimit: Int64?
    /// The sum of all pins; absent without pins.
    package var pinned: PinnedReport?
    /// The state of sync; absent without a remote.
    package let sync: SyncReport?
}

/// The disk that holds the profile, in bytes.
package struct DiskReport: Codable, Sendable {
    /// The size of the filesystem.
    package let total: Int
    /// The space available to users other than root.
    package let available: Int
    /// The space that is set aside for removals on a full disk, 0 if there was no room for it; absent if the
    /// filesystem cannot do that, and for a read-only mount.
    package var reserve: Int?
}

/// A problem in the mount's problem log.
package struct ProblemReport: Codable, Sendable {
    /// The time of the problem, in seconds since 1970.
    package let time: Int64
    /// A text about the problem; may contain names of files.
    package let text: String
}
