internal import CofferCrypto
internal import CofferFormat
internal import CofferTrust

/// What the devices of a person derive the person's next transient key from, so that each has its private half.
///
/// A seed gives one key and the next seed, and not the one before: a key that was destroyed stays destroyed.
final class TransientSeed: Sendable {
    private let key: SymmetricKey<TransientSeedRole>
    private let user: UserID

    /// How many keys further another device may be.
    private static let leadMax = 64

    /// Makes a random seed.
    init(of user: UserID) {
        key = .random()
        self.user = user
    }

    private init(_ key: consuming SymmetricKey<TransientSeedRole>, _ user: UserID) {
        self.key = key
        self.user = user
    }

    /// The id of the key.
    var id: TransientKeyID {
        let bytes = unsafe key.derive(TransientIDRole.self, context: user.bytes.span.bytes).published
        return TransientKeyID(bytes: Array(bytes.prefix(16))) ?? TransientKeyID(low: 0, high: 0)
    }

    /// The pair with the key's private half.
    func agreement() -> AgreementKey {
        let secret = unsafe key.derive(TransientSecretRole.self, context: user.bytes.span.bytes)
        return AgreementKey(secretKey: secret.bytes.duplicate())
    }

    /// The seed of the next key.
    func following() -> TransientSeed {
        TransientSeed(unsafe key.derive(TransientSeedRole.self, context: user.bytes.span.bytes), user)
    }

    /// The seed of a key that another device has made already; nil if there is none of this id soon.
    func ahead(to id: TransientKeyID) -> TransientSeed? { seeds(to: id).last }

    /// The seeds of all keys up to one that another device has made already; empty if there is none of this id
    /// soon.
    func seeds(to id: TransientKeyID) -> [TransientSeed] {
        var seeds = [self]
        for _ in 0..<Self.leadMax {
            let last = seeds[seeds.count - 1]
            if last.id == id { return seeds }
            seeds.append(last.following())
        }
        return []
    }

    func write(into writer: inout ByteWriter) {
        key.bytes.withBytes { writer.append($0) }
    }

    init(of user: UserID, _ cursor: inout ByteCursor, from bytes: RawSpan) throws(FormatError) {
        key = SymmetricKey(try cursor.secret(SymmetricKey<TransientSeedRole>.byteCount, from: bytes))
        self.user = user
    }
}
