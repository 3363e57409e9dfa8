/// The contents of files: reading, writing, and fetching what is only on the remote.
package struct Contents: Sendable {
    let vault: Vault
}

/// The contents that stay on this device: eviction, pins, and what is only on the remote.
package struct Cache: Sendable {
    let vault: Vault
}

/// Sealing stored contents again, in the background: compaction, re-encryption, and erasing large items.
package struct Repacking: Sendable {
    let vault: Vault
}

/// The facts of a vault: what sync keeps beside them, and whether the tree shows them.
package struct VaultFacts: Sendable {
    let vault: Vault
}

/// From changes on this device to commits, and to packs on the remote.
package struct Outgoing: Sendable {
    let vault: Vault
}

/// From commits of other devices to changes of the tree.
package struct Incoming: Sendable {
    let vault: Vault
}

// What is built on a vault's names and commits, in this order: a room calls only the vault and rooms before it, by their
// names (Tests/ArchitectureTests).
extension Vault {
    /// The contents of files.
    package var contents: Contents { Contents(vault: self) }
    /// The contents that stay on this device.
    package var cache: Cache { Cache(vault: self) }
    /// The facts.
    package var facts: VaultFacts { VaultFacts(vault: self) }
    /// Sealing stored contents again.
    package var repacking: Repacking { Repacking(vault: self) }
    /// What is to be sent.
    package var outgoing: Outgoing { Outgoing(vault: self) }
    /// What arrives.
    package var incoming: Incoming { Incoming(vault: self) }
}
