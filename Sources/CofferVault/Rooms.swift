/// The contents of files: reading, writing, and fetching what is only on the remote.
package struct Contents: Sendable {
    let vault: Vault
}

/// Which contents are on this device: eviction, pins, and what is missing.
package struct Cache: Sendable {
    let vault: Vault
}

/// What the vault was in the past.
package struct History: Sendable {
    let vault: Vault
}

/// The vault as an archive: what is exported, and what is imported.
package struct Export: Sendable {
    let vault: Vault
}

/// Work on stored contents: compaction, re-encryption, and erasing large items.
package struct Repacking: Sendable {
    let vault: Vault
}

/// The facts of a vault: what sync keeps beside them, and whether the tree shows them.
package struct VaultFacts: Sendable {
    let vault: Vault
}

/// Taking back what some devices changed.
package struct Undo: Sendable {
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

// The rooms, in their order: each calls only the vault and the rooms before it. Tests/ArchitectureTests finds such
// calls by these names.
extension Vault {
    /// The contents of files.
    package var contents: Contents { Contents(vault: self) }
    /// Which contents are on this device.
    package var cache: Cache { Cache(vault: self) }
    /// The past.
    package var history: History { History(vault: self) }
    /// The vault as an archive.
    package var export: Export { Export(vault: self) }
    /// The facts.
    package var facts: VaultFacts { VaultFacts(vault: self) }
    /// Taking back changes.
    package var undo: Undo { Undo(vault: self) }
    /// Work on stored contents.
    package var repacking: Repacking { Repacking(vault: self) }
    /// What is to be sent.
    package var outgoing: Outgoing { Outgoing(vault: self) }
    /// What arrives.
    package var incoming: Incoming { Incoming(vault: self) }
}
