internal import CofferCrypto
internal import CofferFormat
internal import CofferSystem
internal import CofferTrust

/// A vault of this profile: its id, slot, time of creation, name, store key, and the vault key of each epoch.
final class VaultRecord: Sendable {
    let id: VaultID
    let slot: UInt16
    let created: Int64
    let name: String
    let store: SymmetricKey<StoreRole>
    let keys: [EpochKey]
    /// Keys of epochs on lost sides of forks of the member chain, stored in a separate record.
    let lost: [EpochKey]

    /// Makes a record with a new store key.
    init(id: VaultID, slot: UInt16, name: String, keys: [EpochKey], lost: [EpochKey] = []) {
        self.id = id
        self.slot = slot
        created = Clock.realTime
        self.name = name
        store = .random()
        self.keys = keys
        self.lost = lost
    }

    private init(
        _ other: VaultRecord, slot: UInt16? = nil, name: String, keys: [EpochKey], lost: [EpochKey]
    ) {
        id = other.id
        self.slot = slot ?? other.slot
        created = other.created
        self.name = name
        store = other.store.duplicate()
        self.keys = keys
        self.lost = lost
    }

    func renamed(to name: String) -> VaultRecord {
        VaultRecord(self, name: name, keys: keys, lost: lost)
    }

    /// Returns the same vault in another slot.
    func placed(in slot: UInt16) -> VaultRecord {
        VaultRecord(self, slot: slot, name: name, keys: keys, lost: lost)
    }

    /// Returns the same vault with other keys.
    func with(_ keys: [EpochKey], lost: [EpochKey] = []) -> VaultRecord {
        VaultRecord(self, name: name, keys: keys, lost: lost)
    }

    /// Returns the same vault with the keys of further epochs.
    func adding(_ others: [EpochKey]) -> VaultRecord {
        let known = Set(keys.map(\.epoch))
        return with(keys + others.filter { !known.contains($0.epoch) }, lost: lost)
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
        keys = try Self.keys(of: id, &cursor, from: bytes)
        guard !keys.isEmpty else { throw .invalid(field: "number of epochs") }
        lost = []
        try cursor.expectEnd(of: bytes)
    }

    /// Reads keys; each follows its epoch.
    static func keys(
        of vault: VaultID, _ cursor: inout ByteCursor, from bytes: RawSpan
    ) throws(FormatError) -> [EpochKey] {
        let count = try cursor.number(UInt32.self, from: bytes)
        var keys: [EpochKey] = []
        for _ in 0..<count {
            let epoch = Epoch(try cursor.number(UInt32.self, from: bytes))
            guard epoch >= .first else { throw .invalid(field: "epoch") }
            let key = SymmetricKey<VaultRole>(
                try cursor.secret(SymmetricKey<VaultRole>.byteCount, from: bytes))
            keys.append(EpochKey(vault: vault, epoch: epoch, key: key))
        }
        return keys
    }

    /// Reads a record of lost keys.
    static func lostKeys(_ bytes: RawSpan) throws(FormatError) -> [EpochKey] {
        var cursor = ByteCursor()
        let vault = try cursor.identifier(VaultID.self, from: bytes)
        let keys = try keys(of: vault, &cursor, from: bytes)
        guard !keys.isEmpty else { throw .invalid(field: "number of epochs") }
        try cursor.expectEnd(of: bytes)
        return keys
    }

    func write(into writer: inout ByteWriter) {
        writer.identifier(id)
        writer.number(slot)
        writer.number(created)
        writer.text(name)
        store.bytes.withBytes { writer.append($0) }
        Self.write(keys, into: &writer)
    }

    /// Writes a record of lost keys.
    func writeLost(into writer: inout ByteWriter) {
        writer.identifier(id)
        Self.write(lost, into: &writer)
    }

    /// Writes keys, each after its epoch.
    static func write(_ keys: [EpochKey], into writer: inout ByteWriter) {
        writer.number(UInt32(keys.count))
        for key in keys {
            writer.number(key.epoch.number)
            key.key.bytes.withBytes { writer.append($0) }
        }
    }
}
