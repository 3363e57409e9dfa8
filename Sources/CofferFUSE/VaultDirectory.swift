package import CofferVault

/// A vault at its place in the mount.
package struct MountedVault: Sendable {
    /// 1 to 65535; stays with the vault for ever.
    package let slot: UInt16
    /// The name of the vault's directory in the root of the mount.
    package let name: String
    /// What is in the directory.
    package let vault: Vault

    package init(slot: UInt16, name: String, vault: Vault) {
        self.slot = slot
        self.name = name
        self.vault = vault
    }
}

/// The root of a mount: the vaults of a profile as directories.
package protocol VaultDirectory: Sendable {
    /// All vaults, by slot.
    var vaults: [MountedVault] { get }
    /// The vault in a slot.
    func vault(slot: UInt16) -> MountedVault?
    /// The vault of a name.
    func vault(named name: [UInt8]) -> MountedVault?
    /// Makes a vault; as mkdir in the root.
    func createVault(named name: [UInt8], by caller: Caller) throws(FileSystemError) -> MountedVault
    /// Gives a vault another name.
    func renameVault(_ name: [UInt8], to newName: [UInt8]) throws(FileSystemError)
    /// Removes a vault that is empty; as rmdir in the root.
    func removeEmptyVault(named name: [UInt8]) throws(FileSystemError)
    /// User and group of the root directory.
    var owner: (user: UInt32, group: UInt32) { get }
    /// When the list of vaults last changed, in nanoseconds since 1970.
    var changed: Int64 { get }
}
