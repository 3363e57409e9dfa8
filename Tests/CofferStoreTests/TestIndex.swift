import CofferCrypto
import CofferFormat
import CofferSystem
import CofferTestSupport

import CofferStore

/// The key and the simulated disk of an index, to open it as often as a test wants; one at a time.
final class TestIndex {
    let directory: SimulatedStorageDirectory
    let vault: VaultID
    let key: SymmetricKey<StoreRole>

    static let database = "index.sqlite"
    static let log = "index.sqlite-wal"

    private init(
        _ directory: SimulatedStorageDirectory, _ vault: VaultID, _ key: consuming SymmetricKey<StoreRole>
    ) {
        self.directory = directory
        self.vault = vault
        self.key = key
    }

    /// Makes an index on a new disk, with only the root directory.
    ///
    /// - Parameter other: The index whose key to use; a random key if nil.
    static func create(withKeyOf other: TestIndex? = nil) throws -> TestIndex {
        let new = TestIndex(
            SimulatedStorageDirectory(), VaultID(low: Random.number(), high: Random.number()),
            other?.key.duplicate() ?? .random())
        try Index.create(in: new.directory, vault: new.vault, key: new.key)
        let index = try new.open()
        var model = IndexModel()
        try model.addRoot(to: index)
        try index.close()
        return new
    }

    /// The same index on another disk.
    func on(_ directory: SimulatedStorageDirectory) -> TestIndex {
        TestIndex(directory, vault, key.duplicate())
    }

    func open() throws -> Index { try Index(in: directory, vault: vault, key: key) }

    /// The content of the index after it was reopened, and its problems.
    func inspect() throws -> (model: IndexModel, problems: [String]) {
        let index = try open()
        return (try IndexModel(reading: index), try index.makeReader().problems())
    }
}
