internal import CofferCrypto
internal import CofferFormat
internal import CofferTrust

/// The private halves of identity and transient keys that were replaced, for wraps that were not opened before.
final class FormerKeys: Sendable {
    private let agreement: AgreementKey
    private let transients: [Transient]
    /// What the keys after those are derived from, which another device may have made before the replacement; nil
    /// if the person had one device.
    private let seed: (user: UserID, seed: TransientSeed)?
    /// When the keys were replaced, in nanoseconds since 1970.
    private let time: Int64

    private final class Transient: Sendable {
        let id: TransientKeyID
        let agreement: AgreementKey

        init(_ id: TransientKeyID, _ agreement: consuming AgreementKey) {
            self.id = id
            self.agreement = agreement
        }
    }

    /// How long they are kept, in nanoseconds: as long as a transient key after its end.
    private static let keptTime = TransientKey.grace

    /// Keeps the keys that are being replaced.
    init(_ keys: IdentityKeys, _ identity: PublicIdentity, at time: Int64) {
        agreement = AgreementKey(secretKey: keys.agreement.secretKey.duplicate())
        transients = identity.transients.map {
            Transient($0.key.record.id, AgreementKey(secretKey: $0.agreement.secretKey.duplicate()))
        }
        seed = identity.seed.map { (identity.user, $0) }
        self.time = time
    }

    /// Whether nobody needs them any more.
    func isOver(at now: Int64) -> Bool { now >= time + Self.keptTime }

    /// Lends the identity's and the transient key that open a wrap; nil without the latter.
    func withKeys<Result>(
        for id: TransientKeyID,
        _ body: (borrowing AgreementKey, borrowing AgreementKey) throws(TrustError) -> Result
    ) throws(TrustError) -> Result? {
        if let transient = transients.first(where: { $0.id == id }) {
            return try body(agreement, transient.agreement)
        }
        guard let made = seed?.seed.ahead(to: id) else { return nil }
        return try body(agreement, made.agreement())
    }

    /// Opens an export that was made for the identity before its keys were replaced.
    func open(_ recipients: [ExportHeader.Recipient]) -> SymmetricKey<ExportRole>? {
        ExportKey.open(recipients, agreement: agreement)
    }

    /// An upper bound of its encoded size.
    var byteCountMax: Int { 128 + transients.count * 64 }

    func write(into writer: inout ByteWriter) {
        writer.number(time)
        agreement.secretKey.withBytes { writer.append($0) }
        writer.number(UInt32(transients.count))
        for transient in transients {
            writer.identifier(transient.id)
            transient.agreement.secretKey.withBytes { writer.append($0) }
        }
        guard let seed else { return }
        writer.identifier(seed.user)
        seed.seed.write(into: &writer)
    }

    init(_ bytes: RawSpan) throws(FormatError) {
        var cursor = ByteCursor()
        time = try cursor.number(Int64.self, from: bytes)
        agreement = AgreementKey(secretKey: try cursor.secret(AgreementKey.byteCount, from: bytes))
        var transients: [Transient] = []
        for _ in 0..<(try cursor.number(UInt32.self, from: bytes)) {
            let id = try cursor.identifier(TransientKeyID.self, from: bytes)
            let secret = try cursor.secret(AgreementKey.byteCount, from: bytes)
            transients.append(Transient(id, AgreementKey(secretKey: secret)))
        }
        self.transients = transients
        if cursor.offset < bytes.byteCount {
            let user = try cursor.identifier(UserID.self, from: bytes)
            seed = (user, try TransientSeed(of: user, &cursor, from: bytes))
        } else {
            seed = nil
        }
        try cursor.expectEnd(of: bytes)
    }
}
