/// The results of `coffer check`.
package struct CheckReport: Codable, Sendable {
    /// The results for each vault.
    package let vaults: [VaultCheck]

    /// Whether no damage was found.
    package var isClean: Bool {
        vaults.allSatisfy { $0.damage.isEmpty && $0.remote?.problems.isEmpty != false }
    }

    /// Whether everything could be checked.
    package var isComplete: Bool {
        vaults.allSatisfy { $0.unchecked.isEmpty && $0.remote?.unchecked.isEmpty != false }
    }
}

/// The results of the check of one vault.
package struct VaultCheck: Codable, Sendable {
    /// The vault's name.
    package let vault: String
    /// The number of items found, including the root; 0 if the vault could not be opened.
    package let items: Int
    /// The number of blocks of content read, including damaged ones.
    package let blocks: Int
    /// The number of bytes of content read, including damaged ones.
    package let bytes: Int
    /// Whether items and names were compared with the commits; absent if the vault has none.
    ///
    /// They are not compared while changes of names are not in a commit yet.
    package let isCompared: Bool?
    /// The damage that was found.
    package let damage: [Damage]
    /// Sentences about what could not be checked, and why; empty if everything was.
    package let unchecked: [String]
    /// What the remote lacks; absent if that was not asked for, and for a vault without a remote.
    package var remote: RemoteCheck?

    /// A damaged part of the vault.
    package struct Damage: Codable, Sendable {
        /// The path of the file in the vault; absent if the file is unknown.
        package let path: String?
        /// The offset of the first unreadable byte; absent if the bytes are unknown.
        package let from: Int64?
        /// The offset after the last unreadable byte; absent with `from`.
        package let to: Int64?
        /// A text about the damage.
        package let text: String
    }
}
