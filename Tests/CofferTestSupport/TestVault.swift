package import CofferCrypto
package import CofferFormat
internal import CofferTrust
package import CofferVault

/// The keys and the simulated disk of a vault, to open it as often as a test wants.
package final class TestVault: Sendable {
    package let directory: SimulatedStorageDirectory
    package let id: VaultID
    package let store: SymmetricKey<StoreRole>
    package let keys: ContentKeys
    /// The owner of the root.
    package static let owner = Caller(user: 1000, group: 1000, umask: 0o022)

    private init(
        _ directory: SimulatedStorageDirectory, _ id: VaultID, _ store: consuming SymmetricKey<StoreRole>,
        _ keys: ContentKeys
    ) {
        self.directory = directory
        self.id = id
        self.store = store
        self.keys = keys
    }

    /// Makes a vault with random keys on a new disk, of `byteCount` bytes if given.
    package static func create(byteCount: Int? = nil) throws -> TestVault {
        let id = VaultID(low: Random.number(), high: Random.number())
        let key = EpochKey(vault: id, epoch: .first, key: .random())
        guard let keys = ContentKeys(vault: id, [key]) else { throw NoKeys() }
        let vault = TestVault(SimulatedStorageDirectory(byteCount: byteCount), id, .random(), keys)
        try Vault.create(in: vault.directory, id: id, store: vault.store, owner: owner)
        return vault
    }

    /// The same vault on another device, which has no content yet.
    package func onAnotherDevice() throws -> TestVault {
        let vault = TestVault(SimulatedStorageDirectory(), id, .random(), keys)
        try Vault.create(in: vault.directory, id: id, store: vault.store, owner: Self.owner)
        return vault
    }

    private struct NoKeys: Error {}

    /// The same vault on another disk: after a crash, or a copy.
    package func on(_ directory: SimulatedStorageDirectory) -> TestVault {
        TestVault(directory, id, store.duplicate(), keys)
    }

    /// The same vault on the disk that a power cut leaves.
    package func crashed(seed: UInt64) -> TestVault { on(directory.crash(seed: seed)) }

    /// Opens the vault, without its threads; one at a time.
    ///
    /// - Parameter keys: The keys to open it with; nil for its own.
    package func open(
        problems: ProblemLog = ProblemLog(), isReadOnly: Bool = false, keys: ContentKeys? = nil
    ) throws -> Vault {
        try Vault(
            in: directory, id: id, store: store, keys: keys ?? self.keys, problems: problems,
            isReadOnly: isReadOnly)
    }
}
