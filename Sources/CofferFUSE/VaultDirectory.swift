package import CofferFormat
package import CofferVault

/// A vault at its place in the mount.
package struct MountedVault: Sendable {
    /// The vault's slot, which never changes: from 1 on, below `Node.firstPastSlot` if a current version chose it.
    package let slot: UInt16
    /// The name of the vault's directory in the root of the mount.
    package let name: String
    /// The vault itself.
    package let vault: Vault

    package init(slot: UInt16, name: String, vault: Vault) {
        self.slot = slot
        self.name = name
        self.vault = vault
    }
}

/// The root of a mount: the vaults of a profile as directories.
package protocol VaultDirectory: Sendable {
    /// All vaults, ordered by slot.
    var vaults: [MountedVault] { get }
    /// The vault in a slot.
    func vault(slot: UInt16) -> MountedVault?
    /// The vault with a name.
    func vault(named name: [UInt8]) -> MountedVault?
    /// Makes a vault; mkdir(2) in the root.
    func createVault(named name: [UInt8], by caller: Caller) throws(FileSystemError) -> MountedVault
    /// Renames a vault.
    func renameVault(_ name: [UInt8], to newName: [UInt8]) throws(FileSystemError)
    /// Removes an empty vault; rmdir(2) in the root.
    func removeEmptyVault(named name: [UInt8]) throws(FileSystemError)
    /// The owner and group of the root directory.
    var owner: (user: UInt32, group: UInt32) { get }
    /// When the list of vaults last changed, in nanoseconds since 1970.
    var changed: Int64 { get }
}
