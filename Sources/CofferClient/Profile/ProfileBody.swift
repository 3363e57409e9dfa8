internal import CofferCrypto
internal import CofferFUSE
internal import CofferFormat
internal import CofferRemote
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
    /// The first slot that no vault gets; a mount shows past states in the slots from there on.
    ///
    /// A profile of an early version may have vaults there.
    static let slotEnd = Node.firstPastSlot

    /// The slot that the next vault gets.
    var nextSlot: UInt16
    /// What the last backup of the profile holds; nil if none was made.
    var backup: BackupNote?
    /// Credentials for remotes.
    var logins: [RemoteLogin] = []

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
        case login = 17
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
            + logins.reduce(0) { $0 + $1.byteCountMax + 16 }
        var writer = ByteWriter(capacity: fixed + secrets + keys)
        writer.record(Kind.identity) { identity.write(into: &$0) }
        writer.record(Kind.device) { device.write(into: &$0) }
        writer.record(Kind.nextSlot) { $0.number(nextSlot) }
        for vault in vaults {
            writer.record(Kind.vault, of: 1024 + 64 * vault.keys.count) { vault.write(into: &$0) }
            if vault.lost.isEmpty { continue }
            writer.record(Kind.lostKeys, of: 1024 + 64 * vault.lost.count) {
                vault.writeLost(into: &$0)
            }
        }
        if let publicIdentity {
            writer.record(Kind.publicIdentity, of: publicIdentity.byteCountMax) {
                publicIdentity.write(into: &$0)
            }
        }
        if let devices {
            writer.record(Kind.devices, of: devices.byteCountMax) { devices.write(into: &$0) }
        }
        for keys in former {
            writer.record(Kind.formerKeys, of: keys.byteCountMax) { keys.write(into: &$0) }
        }
        for share in shares {
            writer.record(Kind.share, of: share.byteCountMax) { share.write(into: &$0) }
        }
        for join in joins { writer.record(Kind.join) { join.write(into: &$0) } }
        for identity in verified {
            writer.record(Kind.verified) {
                VerifiedIdentity(identity, name: verifiedNames[identity]).write(into: &$0)
            }
        }
        for use in uses { writer.record(Kind.use) { use.write(into: &$0) } }
        if let backup { writer.record(Kind.backup) { backup.write(into: &$0) } }
        for login in logins {
            writer.record(Kind.login, of: login.byteCountMax) { login.write(into: &$0) }
        }
        return writer.finish()
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
        var logins: [RemoteLogin] = []
        while cursor.offset < bytes.byteCount {
            let (kind, range) = try cursor.record(in: bytes)
            let record = bytes.extracting(range)
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
                let one = try VerifiedIdentity(record)
                verified.append(one.id)
                if let name = one.name { verifiedNames[one.id] = name }
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
            case .login:
                let login = try RemoteLogin(record)
                guard !logins.contains(where: { $0.place == login.place }) else {
                    throw .invalid(field: "login")
                }
                logins.append(login)
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
        self.logins = logins
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
