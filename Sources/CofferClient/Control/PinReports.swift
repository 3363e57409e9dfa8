/// A pinned file or directory, and how much of it is on this device.
package struct PinReport: Codable, Sendable {
    /// The vault's name.
    package let vault: String
    /// The path in the vault; empty for the whole vault.
    package let path: String
    /// The number of files in it; 1 for a file.
    package let files: Int
    /// The bytes of their content.
    package let bytes: Int64
    /// The bytes of their content that are only at the remote.
    package let missingBytes: Int64
}

/// The sum of all pins of a vault.
package struct PinnedReport: Codable, Sendable {
    /// The number of pinned files and directories.
    package let paths: Int
    /// The number of files among and in them.
    package let files: Int
    /// The bytes of their content.
    package let bytes: Int64
    /// The bytes of their content that are only at the remote.
    package let missingBytes: Int64
}

/// The result of an eviction.
package struct EvictReport: Codable, Sendable {
    /// The vault's name.
    package let vault: String
    /// The bytes that are now only at the remote.
    package let evictedBytes: Int64
    /// The content that stays, by reason.
    package let kept: [Kept]

    /// Content that stays for one reason.
    package struct Kept: Codable, Sendable {
        /// The reason: unsent, not-seen or pinned.
        package let reason: String
        /// The bytes of content.
        package let bytes: Int64
    }
}
