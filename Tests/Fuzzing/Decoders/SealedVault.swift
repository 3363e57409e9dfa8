import CofferCrypto
import CofferFormat
import CofferSystem
import CofferTestSupport
import CofferTrust

@testable import CofferStore
@testable import CofferVault

/// A small vault with known keys, so that a fuzzer can write what no outsider could seal.
///
/// Only one of its copies may be open at a time: SQLite identifies an index by the vault's id.
struct SealedVault: Sendable {
    static let id = VaultID(low: 1, high: 2)
    static var store: SymmetricKey<StoreRole> { SymmetricKey(secret(3)) }
    static let keys = ContentKeys(
        vault: id, [EpochKey(vault: id, epoch: .first, key: SymmetricKey(secret(4)))])
    static let owner = Caller(user: 1000, group: 1000, umask: 0o022)
    static let database = "index.sqlite"
    static let log = "index.sqlite-wal"

    /// Numbers of the items that `closed` holds.
    static let items: ClosedRange<Int64> = 1...6
    static let largeFile: Int64 = 3
    static let largeContent = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }

    /// The state after an unmount: a directory, a small, a large and an empty file, and a symbolic link.
    static let closed = Result { try make() }

    private static func secret(_ byte: UInt8) -> SecretBytes {
        SecretBytes(copying: [UInt8](repeating: byte, count: 32).span.bytes)
    }

    static func sealer() -> PageSealer {
        PageSealer(key: store.derive(IndexPageRole.self, context: id.bytes.span.bytes), vault: id)
    }

    static func open(_ directory: SimulatedStorageDirectory) throws -> Vault {
        guard let keys else { throw Violation("the keys of the vault are gone") }
        return try Vault(in: directory, id: id, store: store, keys: keys, problems: ProblemLog())
    }

    static func openIndex(_ directory: SimulatedStorageDirectory) throws -> Index {
        try Index(in: directory, vault: id, key: store)
    }

    private static func make() throws -> SimulatedStorageDirectory {
        let directory = SimulatedStorageDirectory()
        try Vault.create(in: directory, id: id, store: store, owner: owner)
        try fill(directory)
        return directory.copy()
    }

    private static func fill(_ directory: SimulatedStorageDirectory) throws {
        let vault = try open(directory)
        func add(_ name: String, in parent: Int64, _ type: FileType, _ target: String = "") throws -> Int64 {
            let item = Vault.NewItem(mode: type.modeBits | 0o666, target: Array(target.utf8))
            return try vault.create(item, named: Array(name.utf8), in: parent, by: owner).number
        }
        let folder = try add("folder", in: Vault.rootNumber, .directory)
        let large = try add("large", in: folder, .regular)
        try vault.contents.write(
            largeContent.span.bytes, to: large, at: 0, touches: true, dropsPrivileges: false)
        try vault.commit()
        let small = try add("small", in: folder, .regular)
        let content = [UInt8](repeating: 7, count: 100)
        try vault.contents.write(content.span.bytes, to: small, at: 50, touches: true, dropsPrivileges: false)
        try vault.setExtendedAttribute(Array("user.a".utf8), of: small, to: [1, 2, 3], .any)
        _ = try add("empty", in: Vault.rootNumber, .regular)
        _ = try add("link", in: Vault.rootNumber, .symbolicLink, "folder/small")
        try vault.close()
    }
}
