internal import CofferCrypto
internal import CofferFormat
internal import CofferTrust

/// What a device of a person gives to another one (docs/trust.md, "What a pairing transfers").
///
/// Encoded as a sequence of records, like the body of a profile.
struct PairingBundle: Sendable {
    /// The person's name and identity keys.
    let identity: IdentityKeys
    /// The identity chain, and the transient keys.
    let publicIdentity: PublicIdentity
    /// The person's devices.
    let devices: DeviceChain
    /// The identities whose words were compared, and the names that they had then.
    var verified: [IdentityID] = []
    var verifiedNames: [IdentityID: String] = [:]
    /// The vaults that have a remote.
    var vaults: [Vault] = []

    /// A vault that has a remote.
    struct Vault: Sendable {
        let id: VaultID
        let name: String
        /// The URL of the remote, without credentials.
        let url: String
        /// Whether the person had only the right to read it when that was last checked.
        let isForReading: Bool
        let keys: [EpochKey]
        /// Keys of epochs on lost sides of forks of the member chain.
        let lost: [EpochKey]
        /// The links of the member chain and of the identities that it names, as the giving device has verified
        /// them.
        var links: [KeptRow] = []
    }

    private enum Kind: UInt16 {
        case identity = 1
        case publicIdentity = 5
        case verified = 8
        case devices = 11
        case vault = 32
        case link = 33
    }

    init(identity: IdentityKeys, publicIdentity: PublicIdentity, devices: DeviceChain) {
        self.identity = identity
        self.publicIdentity = publicIdentity
        self.devices = devices
    }

    /// The kinds of rows that are transferred.
    static let linkKinds: Set<KeptRow.Kind> = [.memberLink, .identityLink]
    /// The most bytes of links that are transferred; other devices fetch what is missing from the remote.
    static let linkByteCountMax = 32 << 20

    // MARK: Bytes

    /// Encodes the bundle.
    func encoded() -> SecretBytes {
        let links = vaults.reduce(0) { $0 + $1.links.reduce(0) { $0 + $1.value.count + 64 } }
        let keys = vaults.reduce(0) { $0 + 8192 + 64 * ($1.keys.count + $1.lost.count) }
        var writer = ByteWriter(
            capacity: 8192 + publicIdentity.byteCountMax + devices.byteCountMax + links + keys + verified
                .count
                * 512)
        writer.record(Kind.identity) { identity.write(into: &$0) }
        writer.record(Kind.publicIdentity, of: publicIdentity.byteCountMax) {
            publicIdentity.write(into: &$0)
        }
        writer.record(Kind.devices, of: devices.byteCountMax) { devices.write(into: &$0) }
        for identity in verified {
            writer.record(Kind.verified) {
                VerifiedIdentity(identity, name: verifiedNames[identity]).write(into: &$0)
            }
        }
        for vault in vaults {
            let size = 8192 + 64 * (vault.keys.count + vault.lost.count)
            writer.record(Kind.vault, of: size) { vault.write(into: &$0) }
            for row in vault.links {
                writer.record(Kind.link, of: row.value.count + 64) {
                    $0.identifier(vault.id)
                    $0.number(row.key.kind.rawValue)
                    $0.append(row.key.id)
                    $0.number(row.key.number)
                    $0.append(row.value)
                }
            }
        }
        var bytes = writer.finish()
        return SecretBytes(moving: &bytes)
    }

    /// Decodes a bundle, and verifies its chains and that its keys belong together.
    ///
    /// Skips records of a kind that it does not know.
    ///
    /// - Throws: any `FormatError`.
    init(_ bytes: RawSpan) throws(FormatError) {
        var cursor = ByteCursor()
        var identity: IdentityKeys?
        var publicIdentity: PublicIdentity?
        var devices: DeviceChain?
        var verified: [IdentityID] = []
        var names: [IdentityID: String] = [:]
        var vaults: [Vault] = []
        while cursor.offset < bytes.byteCount {
            let (kind, range) = try cursor.record(in: bytes)
            let record = bytes.extracting(range)
            var inner = ByteCursor()
            switch Kind(rawValue: kind) {
            case .identity: identity = try IdentityKeys(record)
            case .publicIdentity: publicIdentity = try PublicIdentity(record)
            case .devices:
                devices = try DeviceChain("device chain", &inner, from: record)
                try inner.expectEnd(of: record)
            case .verified:
                let one = try VerifiedIdentity(record)
                verified.append(one.id)
                if let name = one.name { names[one.id] = name }
            case .vault:
                let vault = try Vault(record)
                guard !vaults.contains(where: { $0.id == vault.id }) else {
                    throw .duplicate(field: "vault")
                }
                vaults.append(vault)
            case .link:
                guard let last = vaults.last, try inner.identifier(VaultID.self, from: record) == last.id
                else { throw .invalid(field: "link") }
                vaults[vaults.count - 1].links.append(try Self.link(&inner, from: record))
            case nil: continue
            }
        }
        guard let identity, let publicIdentity, let devices else { throw .truncated }
        guard publicIdentity.isOf(identity), devices.id == publicIdentity.chain.id else {
            throw .invalid(field: "identity")
        }
        self.init(identity: identity, publicIdentity: publicIdentity, devices: devices)
        (self.verified, verifiedNames, self.vaults) = (verified, names, vaults)
    }

    private static func link(
        _ cursor: inout ByteCursor, from record: RawSpan
    ) throws(FormatError) -> KeptRow {
        let kind = KeptRow.Kind(rawValue: try cursor.number(UInt8.self, from: record))
        guard linkKinds.contains(kind) else { throw .invalid(field: "link") }
        let id = try cursor.bytes(16, from: record)
        let number = try cursor.number(UInt64.self, from: record)
        let value = try cursor.bytes(record.byteCount - cursor.offset, from: record)
        return KeptRow(KeptRow.Key(kind, id: id, number: number), value)
    }
}

extension PairingBundle.Vault {
    private static let forReading: UInt8 = 1

    fileprivate func write(into writer: inout ByteWriter) {
        writer.identifier(id)
        writer.text(name)
        writer.text(url)
        writer.number(isForReading ? Self.forReading : 0)
        VaultRecord.write(keys, into: &writer)
        VaultRecord.write(lost, into: &writer)
    }

    fileprivate init(_ record: RawSpan) throws(FormatError) {
        var cursor = ByteCursor()
        id = try cursor.identifier(VaultID.self, from: record)
        name = try cursor.text("name", from: record)
        url = try cursor.text("URL", from: record)
        let flags = try cursor.number(UInt8.self, from: record)
        guard flags & ~Self.forReading == 0 else { throw .invalid(field: "use of a vault") }
        isForReading = flags & Self.forReading != 0
        keys = try VaultRecord.keys(of: id, &cursor, from: record)
        lost = try VaultRecord.keys(of: id, &cursor, from: record)
        try cursor.expectEnd(of: record)
        // Every epoch up to the newest one, as a keyring needs them.
        guard Keyring(kept: keys) != nil else { throw .invalid(field: "epoch") }
    }
}
