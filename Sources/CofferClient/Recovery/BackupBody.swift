internal import CofferCrypto
internal import CofferFormat
internal import CofferTrust

/// The contents of the sealed body of a profile backup (docs/format.md, "Profile backup").
///
/// It has neither keys of the device nor ids of its logs: a profile that is restored from it is a new device.
struct BackupBody: Sendable {
    let identity: IdentityKeys
    /// The label of the device that made the backup.
    let label: String
    let publicIdentity: PublicIdentity?
    let vaults: [BackupVault]
    let joins: [PendingJoin]
    let verified: [IdentityID]
    let verifiedNames: [IdentityID: String]
    let uses: [VaultUse]

    private enum Kind: UInt16 {
        // As in the body of a profile.
        case identity = 1
        case publicIdentity = 5
        case join = 7
        case verified = 8
        case use = 9
        case lostKeys = 10
        // In backups only.
        case label = 32
        case vault = 33
    }

    /// Takes from a profile what another device can use.
    init(of body: ProfileBody) {
        let leaving = Set(body.uses.filter(\.isBeingDeleted).map(\.vault))
        let urls = Dictionary(body.shares.map { ($0.vault, $0.url) }, uniquingKeysWith: { first, _ in first })
        identity = body.identity
        label = body.device.label
        publicIdentity = body.publicIdentity
        vaults = body.vaults.filter { !leaving.contains($0.id) }.map {
            BackupVault(
                id: $0.id, created: $0.created, name: $0.name, url: urls[$0.id] ?? "", keys: $0.keys,
                lost: $0.lost)
        }
        joins = body.joins
        verified = body.verified
        verifiedNames = body.verifiedNames
        uses = body.uses.filter { !leaving.contains($0.vault) }
    }

    /// Encodes the body; the caller must seal and wipe the bytes.
    ///
    /// The capacity is an upper bound, so that no freed buffer contains secrets.
    func encoded() -> [UInt8] {
        let secrets = vaults.reduce(0) { $0 + $1.byteCountMax }
        let others = joins.count * 4096 + (verified.count * 2 + uses.count) * 256
        var writer = ByteWriter(
            capacity: 8192 + secrets + others + (publicIdentity?.byteCountMax ?? 0))
        writer.record(Kind.identity) { identity.write(into: &$0) }
        writer.record(Kind.label) { $0.text(label) }
        if let publicIdentity {
            writer.record(Kind.publicIdentity, of: publicIdentity.byteCountMax) {
                publicIdentity.write(into: &$0)
            }
        }
        for vault in vaults {
            writer.record(Kind.vault, of: vault.byteCountMax) { vault.write(into: &$0) }
            if vault.lost.isEmpty { continue }
            writer.record(Kind.lostKeys, of: vault.byteCountMax) { vault.writeLost(into: &$0) }
        }
        for join in joins { writer.record(Kind.join) { join.write(into: &$0) } }
        for identity in verified {
            writer.record(Kind.verified) {
                VerifiedIdentity(identity, name: verifiedNames[identity]).write(into: &$0)
            }
        }
        for use in uses { writer.record(Kind.use) { use.write(into: &$0) } }
        return writer.finish()
    }

    /// Decodes a body.
    init(_ bytes: RawSpan) throws(FormatError) {
        var cursor = ByteCursor()
        var identity: IdentityKeys?
        var label: String?
        var publicIdentity: PublicIdentity?
        var vaults: [BackupVault] = []
        var joins: [PendingJoin] = []
        var verified: [IdentityID] = []
        var verifiedNames: [IdentityID: String] = [:]
        var uses: [VaultUse] = []
        while cursor.offset < bytes.byteCount {
            let (kind, range) = try cursor.record(in: bytes)
            let record = bytes.extracting(range)
            switch Kind(rawValue: kind) {
            case .identity: identity = try IdentityKeys(record)
            case .label:
                var inner = ByteCursor()
                label = try inner.text("label", from: record)
                try inner.expectEnd(of: record)
            case .publicIdentity: publicIdentity = try PublicIdentity(record)
            case .vault:
                let vault = try BackupVault(record)
                guard !vaults.contains(where: { $0.id == vault.id || $0.name.hasSameBytes(as: vault.name) })
                else { throw .invalid(field: "vault") }
                vaults.append(vault)
            case .lostKeys:
                let lost = try VaultRecord.lostKeys(record)
                guard let vault = vaults.popLast(), vault.id == lost.first?.vault, vault.lost.isEmpty else {
                    throw .invalid(field: "lost keys")
                }
                vaults.append(vault.with(lost: lost))
            case .join: joins.append(try PendingJoin(record))
            case .verified:
                let one = try VerifiedIdentity(record)
                verified.append(one.id)
                if let name = one.name { verifiedNames[one.id] = name }
            case .use:
                let use = try VaultUse(record)
                guard !uses.contains(where: { $0.vault == use.vault }) else { throw .invalid(field: "use") }
                uses.append(use)
            case nil: throw .invalid(field: "kind of record")
            }
        }
        guard let identity, let label else { throw .truncated }
        self.identity = identity
        self.label = label
        self.publicIdentity = publicIdentity
        self.vaults = vaults
        self.joins = joins
        self.verified = verified
        self.verifiedNames = verifiedNames
        self.uses = uses
    }
}

/// A vault in a backup: its remote, and its keys.
struct BackupVault: Sendable {
    let id: VaultID
    let created: Int64
    let name: String
    /// The URL of the remote, without credentials; empty for a vault without one, which no backup brings back.
    let url: String
    /// The keys of all epochs; at least one.
    let keys: [EpochKey]
    /// Keys of epochs on lost sides of forks of the member chain.
    let lost: [EpochKey]

    init(id: VaultID, created: Int64, name: String, url: String, keys: [EpochKey], lost: [EpochKey]) {
        self.id = id
        self.created = created
        self.name = name
        self.url = url
        self.keys = keys
        self.lost = lost
    }

    /// Whether the vault can be fetched from a remote.
    var hasRemote: Bool { !url.isEmpty }

    /// An upper bound of the size of its records.
    var byteCountMax: Int { 2048 + url.utf8.count + 64 * (keys.count + lost.count) }

    func with(lost: [EpochKey]) -> BackupVault {
        BackupVault(id: id, created: created, name: name, url: url, keys: keys, lost: lost)
    }

    func write(into writer: inout ByteWriter) {
        writer.identifier(id)
        writer.number(created)
        writer.text(name)
        writer.text(url)
        VaultRecord.write(keys, into: &writer)
    }

    func writeLost(into writer: inout ByteWriter) {
        writer.identifier(id)
        VaultRecord.write(lost, into: &writer)
    }

    init(_ bytes: RawSpan) throws(FormatError) {
        var cursor = ByteCursor()
        id = try cursor.identifier(VaultID.self, from: bytes)
        created = try cursor.number(Int64.self, from: bytes)
        name = try cursor.text("name", from: bytes)
        url = try cursor.text("URL", from: bytes)
        keys = try VaultRecord.keys(of: id, &cursor, from: bytes)
        guard !keys.isEmpty else { throw .invalid(field: "number of epochs") }
        lost = []
        try cursor.expectEnd(of: bytes)
    }
}
