/// What `coffer check` found.
package struct CheckReport: Codable, Sendable {
    /// One for each vault that was to be checked.
    package let vaults: [VaultCheck]

    /// Whether nothing is hurt.
    package var isClean: Bool { vaults.allSatisfy(\.damage.isEmpty) }

    /// Whether all was checked.
    package var isComplete: Bool { vaults.allSatisfy(\.unchecked.isEmpty) }
}

/// What was found in one vault.
package struct VaultCheck: Codable, Sendable {
    /// The vault's name.
    package let vault: String
    /// Items that were met, the root included; 0 if the vault could not be opened.
    package let items: Int
    /// Blocks of content that were read, those that are hurt included.
    package let blocks: Int
    /// Bytes of content that were read, those that are hurt included.
    package let bytes: Int
    /// Whether items and names were compared with what commits say of them; absent where there are no commits.
    ///
    /// Not where changes of names are in no commit yet.
    package let isCompared: Bool?
    /// All that is hurt; empty if nothing is.
    package let damage: [Damage]
    /// What could not be checked and why, as sentences; empty if all was.
    package let unchecked: [String]

    /// Something that is hurt.
    package struct Damage: Codable, Sendable {
        /// The file, as a path in the vault; absent where no file can be named.
        package let path: String?
        /// Offset of the first byte of the file that cannot be read; absent where no bytes can be named.
        package let from: Int64?
        /// Offset behind the last of these bytes; absent with `from`.
        package let to: Int64?
        /// What is wrong, for people.
        package let text: String
    }
}
