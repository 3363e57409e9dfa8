internal import CofferCrypto
internal import CofferFormat
internal import CofferVault
internal import CofferSystem

/// What the sealed body of a profile holds (docs/format.md, "Profile body"): a row of records, each a
/// 16-bit kind, a 32-bit length, and as many bytes.
struct ProfileBody: ~Copyable {
    var identity: IdentityKeys
    var device: DeviceKeys
    var vaults: [VaultRecord]
    /// The slot that the next vault gets.
    var nextSlot: UInt16

    private enum Kind: UInt16 {
        case identity = 1
        case device = 2
        case vault = 3
        case nextSlot = 4
    }

    /// The bytes, to be sealed and wiped.
    func encoded() -> [UInt8] {
        var writer = ByteWriter(capacity: 8192 + vaults.reduce(0) { $0 + 1024 + 64 * $1.keys.count })
        Self.write(.identity, into: &writer) { identity.write(into: &$0) }
        Self.write(.device, into: &writer) { device.write(into: &$0) }
        Self.write(.nextSlot, into: &writer) { $0.number(nextSlot) }
        for vault in vaults { Self.write(.vault, into: &writer) { vault.write(into: &$0) } }
        return writer.finish()
    }

    private static func write(
        _ kind: Kind, into writer: inout ByteWriter, _ body: (inout ByteWriter) -> Void
    ) {
        var record = ByteWriter(capacity: 4096)
        body(&record)
        var bytes = record.finish()
        writer.number(kind.rawValue)
        writer.number(UInt32(bytes.count))
        writer.append(bytes)
        SecretBytes.wipe(&bytes)
    }

    /// Reads the bytes of a body.
    ///
    /// - Throws: `.invalid` for a kind of record that this version does not know, so that nothing is lost.
    init(_ bytes: RawSpan) throws(FormatError) {
        var cursor = ByteCursor()
        var identity: IdentityKeys?
        var device: DeviceKeys?
        var vaults: [VaultRecord] = []
        var nextSlot: UInt16?
        while cursor.offset < bytes.byteCount {
            let kind = try cursor.number(UInt16.self, from: bytes)
            let length = Int(try cursor.number(UInt32.self, from: bytes))
            let record = bytes.extracting(try cursor.range(length, of: bytes))
            switch Kind(rawValue: kind) {
            case .identity: identity = try IdentityKeys(record)
            case .device: device = try DeviceKeys(record)
            case .vault:
                let vault = try VaultRecord(record)
                guard !vaults.contains(where: { $0.slot == vault.slot }) else {
                    throw .invalid(field: "slot")
                }
                vaults.append(vault)
            case .nextSlot:
                var inner = ByteCursor()
                nextSlot = try inner.number(UInt16.self, from: record)
                guard nextSlot != 0 else { throw .invalid(field: "next slot") }
                try inner.expectEnd(of: record)
            case nil: throw .invalid(field: "kind of record")
            }
        }
        guard let identity, let device, let nextSlot else { throw .truncated }
        self.identity = identity
        self.device = device
        self.vaults = vaults
        self.nextSlot = nextSlot
    }

    init(identity: IdentityKeys, device: DeviceKeys) {
        self.identity = identity
        self.device = device
        vaults = []
        nextSlot = 1
    }
}

/// The keys of a person: name, Ed25519 seed, X25519 secret key.
final class IdentityKeys: Sendable {
    let name: String
    let signing: SigningKey
    let agreement: AgreementKey

    init(name: String) {
        self.name = name
        signing = .random()
        agreement = .random()
    }

    init(_ bytes: RawSpan) throws(FormatError) {
        var cursor = ByteCursor()
        name = try cursor.text("name", from: bytes)
        signing = SigningKey(seed: try cursor.secret(SigningKey.seedByteCount, from: bytes))
        agreement = AgreementKey(secretKey: try cursor.secret(AgreementKey.byteCount, from: bytes))
        try cursor.expectEnd(of: bytes)
    }

    func write(into writer: inout ByteWriter) {
        writer.text(name)
        signing.seed.withBytes { writer.append($0) }
        agreement.secretKey.withBytes { writer.append($0) }
    }
}

/// The keys of this machine: id, label, Ed25519 seed, X25519 secret key.
final class DeviceKeys: Sendable {
    let id: DeviceID
    let label: String
    let signing: SigningKey
    let agreement: AgreementKey

    init(label: String) {
        id = DeviceID(low: Random.number(), high: Random.number())
        self.label = label
        signing = .random()
        agreement = .random()
    }

    init(_ bytes: RawSpan) throws(FormatError) {
        var cursor = ByteCursor()
        id = try cursor.identifier(DeviceID.self, from: bytes)
        label = try cursor.text("label", from: bytes)
        signing = SigningKey(seed: try cursor.secret(SigningKey.seedByteCount, from: bytes))
        agreement = AgreementKey(secretKey: try cursor.secret(AgreementKey.byteCount, from: bytes))
        try cursor.expectEnd(of: bytes)
    }

    func write(into writer: inout ByteWriter) {
        writer.identifier(id)
        writer.text(label)
        signing.seed.withBytes { writer.append($0) }
        agreement.secretKey.withBytes { writer.append($0) }
    }
}

/// A vault of this profile: id, slot, when it was made, name, store key, and its keyring: a number of
/// epochs, each with its vault key.
final class VaultRecord: Sendable {
    let id: VaultID
    let slot: UInt16
    let created: Int64
    let name: String
    let store: SymmetricKey<StoreRole>
    let keys: [ContentKeys.VaultKey]

    /// A new vault with fresh keys.
    init(slot: UInt16, name: String) {
        id = VaultID(low: Random.number(), high: Random.number())
        self.slot = slot
        created = Clock.realTime
        self.name = name
        store = .random()
        keys = [ContentKeys.VaultKey(epoch: .first, key: .random())]
    }

    private init(renaming other: VaultRecord, to name: String) {
        id = other.id
        slot = other.slot
        created = other.created
        self.name = name
        store = other.store.duplicate()
        keys = other.keys
    }

    func renamed(to name: String) -> VaultRecord {
        VaultRecord(renaming: self, to: name)
    }

    init(_ bytes: RawSpan) throws(FormatError) {
        var cursor = ByteCursor()
        id = try cursor.identifier(VaultID.self, from: bytes)
        slot = try cursor.number(UInt16.self, from: bytes)
        // Slot 0 is the root of the mount.
        guard slot != 0 else { throw .invalid(field: "slot") }
        created = try cursor.number(Int64.self, from: bytes)
        name = try cursor.text("name", from: bytes)
        store = SymmetricKey(try cursor.secret(SymmetricKey<StoreRole>.byteCount, from: bytes))
        let count = try cursor.number(UInt32.self, from: bytes)
        guard count > 0 else { throw .invalid(field: "number of epochs") }
        var keys: [ContentKeys.VaultKey] = []
        for _ in 0..<count {
            let epoch = Epoch(try cursor.number(UInt32.self, from: bytes))
            guard epoch >= .first else { throw .invalid(field: "epoch") }
            let key = SymmetricKey<VaultRole>(
                try cursor.secret(SymmetricKey<VaultRole>.byteCount, from: bytes))
            keys.append(ContentKeys.VaultKey(epoch: epoch, key: key))
        }
        self.keys = keys
        try cursor.expectEnd(of: bytes)
    }

    func write(into writer: inout ByteWriter) {
        writer.identifier(id)
        writer.number(slot)
        writer.number(created)
        writer.text(name)
        store.bytes.withBytes { writer.append($0) }
        writer.number(UInt32(keys.count))
        for key in keys {
            writer.number(key.epoch.number)
            key.key.bytes.withBytes { writer.append($0) }
        }
    }
}

extension ByteCursor {
    /// `count` secret bytes.
    mutating func secret(_ count: Int, from bytes: RawSpan) throws(FormatError) -> SecretBytes {
        SecretBytes(copying: bytes.extracting(try range(count, of: bytes)))
    }
}
