/// Something that is pinned, and how much of it is on this device.
package struct PinReport: Codable, Sendable {
    /// The vault's name.
    package let vault: String
    /// The path in the vault; empty for all of it.
    package let path: String
    /// Files that it is, or that are in it.
    package let files: Int
    /// Bytes of their contents.
    package let bytes: Int64
    /// Those of them that are at the remote only.
    package let missingBytes: Int64
}

/// What is pinned in a vault, together.
package struct PinnedReport: Codable, Sendable {
    /// How many files and directories were pinned.
    package let paths: Int
    /// Files that they are, or that are in them.
    package let files: Int
    /// Bytes of their contents.
    package let bytes: Int64
    /// Those of them that are at the remote only.
    package let missingBytes: Int64
}

/// What came of giving up contents of a vault.
package struct EvictReport: Codable, Sendable {
    /// The vault's name.
    package let vault: String
    /// Bytes that are at the remote only from now on.
    package let evictedBytes: Int64
    /// What stays, and why.
    package let kept: [Kept]

    /// What stays for one reason.
    package struct Kept: Codable, Sendable {
        /// unsent, not-seen or pinned.
        package let reason: String
        /// Bytes of it.
        package let bytes: Int64
    }
}
