internal import CofferCrypto
internal import CofferFormat
internal import CofferTrust

/// The contents of the sealed body of a profile (docs/format.md, "Profile body").
///
/// Encoded as a sequence of records, each a 16-bit kind, a 32-bit length, and that many bytes.
struct ProfileBody: Sendable {
    var identity: IdentityKeys
    var device: DeviceKeys
    /// The public identity; nil until it is first needed.
    var publicIdentity: PublicIdentity?
    /// The person's devices; nil until another one is added.
    var devices: DeviceChain?
    /// Keys that were replaced lately.
    var former: [FormerKeys] = []
    var vaults: [VaultRecord]
    /// Shares of the vaults that have a remote, or had one.
    var shares: [VaultShare]
    /// Vaults that the user has asked to join.
    var joins: [PendingJoin]
    /// Identities whose words were compared and matched.
    var verified: [IdentityID]
    /// The names that verified identities had then, if any.
    var verifiedNames: [IdentityID: String] = [:]
    /// Settings of vaults on this device that are not the default.
    var uses: [VaultUse] = []
    /// The slot that the next vault gets.
    var nextSlot: UInt16
    /// What the last backup of the profile holds; nil if none was made.
    var backup: BackupNote?

    private enum Kind: UInt16 {
        case identity = 1
        case device = 2
        case vault = 3
        case nextSlot = 4
        case publicIdentity = 5
        case share = 6
        case join = 7
        case verified = 8
        case use = 9
        case lostKeys = 10
        case devices = 11
        case formerKeys = 12
        case backup = 16
    }

    /// Encodes the body; the caller must seal and wipe the bytes.
    ///
    /// The capacity is an upper bound, so that no freed buffer contains secrets.
    func encoded() -> [UInt8] {
        let secrets = shares.reduce(0) { $0 + $1.byteCountMax }
        let keys = vaults.reduce(0) { $0 + 2048 + 64 * ($1.keys.count + $1.lost.count) }
        let fixed =
            8192 + (publicIdentity?.byteCountMax ?? 0) + (devices?.byteCountMax ?? 0)
            + former.reduce(0) { $0 + $1.byteCountMax + 16 } + joins.count * 4096
            + (verified.count * 2 + uses.count) * 256 + (backup?.epochs.count ?? 0) * 32
        var writer = ByteWriter(capacity: fixed + secrets + keys)
        Self.write(.identity, into: &writer) { identity.write(into: &$0) }
        Self.write(.device, into: &writer) { device.write(into: &$0) }
        Self.write(.nextSlot, into: &writer) { $0.number(nextSlot) }
        for vault in vaults {
            Self.write(.vault, of: 1024 + 64 * vault.keys.count, into: &writer) { vault.write(into: &$0) }
            if vault.lost.isEmpty { continue }
            Self.write(.lostKeys, of: 1024 + 64 * vault.lost.count, into: &writer) {
                vault.writeLost(into: &$0)
            }
        }
        if let publicIdentity {
            Self.write(.publicIdentity, of: publicIdentity.byteCountMax, into: &writer) {
                publicIdentity.write(into: &$0)
            }
        }
        if let devices {
            Self.write(.devices, of: devices.byteCountMax, into: &writer) { devices.write(into: &$0) }
        }
        for keys in former {
            Self.write(.formerKeys, of: keys.byteCountMax, into: &writer) { keys.write(into: &$0) }
        }
        for share in shares {
            Self.write(.share, of: share.byteCountMax, into: &writer) { share.write(into: &$0) }
        }
        for join in joins { Self.write(.join, into: &writer) { join.write(into: &$0) } }
        for identity in verified {
            Self.write(.verified, into: &writer) {
                $0.append(identity.bytes)
                if let name = verifiedNames[identity] { $0.text(name) }
            }
        }
        for use in uses { Self.write(.use, into: &writer) { use.write(into: &$0) } }
        if let backup { Self.write(.backup, into: &writer) { backup.write(into: &$0) } }
        return writer.finish()
    }

    /// - Parameter countMax: An upper bound of the record's size, so that its buffer is not reallocated.
    private static func write(
        _ kind: Kind, of countMax: Int = 4096, into writer: inout ByteWriter,
        _ body: (inout ByteWriter) -> Void
    ) {
        var record = ByteWriter(capacity: countMax)
        body(&record)
        var bytes = record.finish()
        writer.number(kind.rawValue)
        writer.number(UInt32(bytes.count))
        writer.append(bytes)
        SecretBytes.wipe(&bytes)
    }

    /// Decodes a body.
    ///
    /// - Throws: `.invalid` for an unknown kind of record, which storing the body again would lose.
    init(_ bytes: RawSpan) throws(FormatError) {
        var cursor = ByteCursor()
        var identity: IdentityKeys?
        var device: DeviceKeys?
        var vaults: [VaultRecord] = []
        var nextSlot: UInt16?
        var publicIdentity: PublicIdentity?
        var devices: DeviceChain?
        var former: [FormerKeys] = []
        var shares: [VaultShare] = []
        var joins: [PendingJoin] = []
        var verified: [IdentityID] = []
        var verifiedNames: [IdentityID: String] = [:]
        var uses: [VaultUse] = []
        var backup: BackupNote?
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
            case .publicIdentity: publicIdentity = try PublicIdentity(record)
            case .share:
                let share = try VaultShare(record)
                guard !shares.contains(where: { $0.vault == share.vault }) else {
                    throw .invalid(field: "share")
                }
                shares.append(share)
            case .join: joins.append(try PendingJoin(record))
            case .verified:
                var inner = ByteCursor()
                let identity = try inner.bytes32(IdentityID.self, from: record)
                verified.append(identity)
                if inner.offset < record.byteCount {
                    verifiedNames[identity] = try inner.text("name", from: record)
                }
                try inner.expectEnd(of: record)
            case .use:
                let use = try VaultUse(record)
                guard !uses.contains(where: { $0.vault == use.vault }) else { throw .invalid(field: "use") }
                uses.append(use)
            case .lostKeys:
                let lost = try VaultRecord.lostKeys(record)
                guard let vault = vaults.last, vault.id == lost.first?.vault, vault.lost.isEmpty else {
                    throw .invalid(field: "lost keys")
                }
                vaults[vaults.count - 1] = vault.with(vault.keys, lost: lost)
            case .devices:
                var inner = ByteCursor()
                devices = try DeviceChain("device chain", &inner, from: record)
                try inner.expectEnd(of: record)
            case .formerKeys: former.append(try FormerKeys(record))
            case .backup: backup = try BackupNote(record)
            case nil: throw .invalid(field: "kind of record")
            }
        }
        guard let identity, let device, let nextSlot else { throw .truncated }
        self.identity = identity
        self.device = device
        self.vaults = vaults
        self.nextSlot = nextSlot
        self.publicIdentity = publicIdentity
        self.devices = devices
        self.former = former
        self.shares = shares
        self.joins = joins
        self.verified = verified
        self.verifiedNames = verifiedNames
        self.uses = uses
        self.backup = backup
    }

    init(identity: IdentityKeys, device: DeviceKeys) {
        self.identity = identity
        self.device = device
        vaults = []
        shares = []
        joins = []
        verified = []
        nextSlot = 1
    }
}

extension ByteCursor {
    /// Reads `count` secret bytes.
    mutating func secret(_ count: Int, from bytes: RawSpan) throws(FormatError) -> SecretBytes {
        SecretBytes(copying: bytes.extracting(try range(count, of: bytes)))
    }
}
