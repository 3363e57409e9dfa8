internal import CofferCrypto
internal import CofferFormat
internal import CofferSystem
internal import CofferTrust

/// The public part of a person's identity, with the private halves of its transient keys.
///
/// Created on first use, and kept in the profile (docs/format.md, "Profile body").
struct PublicIdentity: Sendable {
    /// The identity chain, with at least one link.
    let chain: IdentityChain
    /// The id by which others know the person.
    let id: IdentityID
    /// The transient keys, newest last; at least one.
    private(set) var transients: [TransientPair]
    /// What the next transient key is derived from; nil if the person has one device.
    let seed: TransientSeed?

    /// Founds an identity with a first transient key.
    init(founding keys: IdentityKeys, at time: Int64) throws(TrustError) {
        let user = UserID(low: Random.number(), high: Random.number())
        let chain = try IdentityChain.founded(
            user, signing: keys.signing, agreement: AgreementPublicKey(keys.agreement.publicKey), at: time)
        guard let id = chain.identity else { throw .wrongPlace }
        self.chain = chain
        self.id = id
        transients = [try TransientPair(of: chain, by: keys, from: time)]
        seed = nil
    }

    private init(
        _ chain: IdentityChain, _ id: IdentityID, _ transients: [TransientPair], _ seed: TransientSeed?
    ) {
        self.chain = chain
        self.id = id
        self.transients = transients
        self.seed = seed
    }

    /// Returns the identity with a seed for transient keys, which several devices can derive.
    func forSeveralDevices() -> PublicIdentity {
        PublicIdentity(chain, id, transients, seed ?? TransientSeed(of: user))
    }

    /// Returns the identity with other identity keys, and a transient key that these sign.
    func rollingKeys(
        to next: IdentityKeys, by keys: IdentityKeys, at time: Int64
    ) throws(TrustError) -> PublicIdentity {
        var chain = chain
        let agreement = AgreementPublicKey(next.agreement.publicKey)
        try chain.append(
            try chain.rolling(to: next.signing, agreement: agreement, at: time, by: keys.signing))
        // A device that lost its trust has the old seed.
        var seed: TransientSeed? = TransientSeed(of: user)
        let pair = try TransientPair(of: chain, by: next, from: time, &seed)
        return PublicIdentity(chain, id, [pair], seed)
    }

    /// Returns the identity with a transient key that another device has made from the same seed; nil if it is
    /// known, or does not follow from the seed.
    ///
    /// The keys before it were made there as well, and others may have wrapped for them: they are kept like keys
    /// that this one follows.
    func following(_ key: TransientKey, by keys: IdentityKeys) -> PublicIdentity? {
        guard !transients.contains(where: { $0.key.record.id == key.record.id }),
            let made = seed?.seeds(to: key.record.id), let last = made.last
        else { return nil }
        var kept = transients
        for seed in made.dropLast() {
            guard let pair = try? TransientPair(of: chain, by: keys, from: key.record.from, seed) else {
                return nil
            }
            kept.append(pair)
        }
        guard let pair = try? TransientPair(key.record.bytes, of: chain, last.agreement()) else { return nil }
        return PublicIdentity(chain, id, kept + [pair], last.following())
    }

    /// Whether the keys are those that are current in the chain.
    func isOf(_ keys: IdentityKeys) -> Bool {
        chain.state.current
            == IdentityPublicKeys(
                signing: SigningPublicKey(keys.signing.publicKey),
                agreement: AgreementPublicKey(keys.agreement.publicKey))
    }

    /// The user id under which remotes store the identity's records.
    var user: UserID { UserID(low: chain.id.low, high: chain.id.high) }

    /// The newest transient key.
    var transient: TransientPair { transients[transients.count - 1] }

    /// Returns the identity with its transient keys renewed; nil if there is nothing to change.
    ///
    /// A new key is added if the newest expires within five days, and keys that are no longer needed are
    /// dropped.
    func rolled(by keys: IdentityKeys, at time: Int64) throws(TrustError) -> PublicIdentity? {
        var (kept, seed) = (transients, seed)
        if time > transient.key.record.until - Self.rollingTime || time < transient.key.record.from {
            kept.append(try TransientPair(of: chain, by: keys, from: time, &seed))
        }
        let newest = kept[kept.count - 1].key
        // A device that was offline for long may find wraps for an old key, which is kept until there was
        // time to open them.
        let followers = kept.dropFirst().map(\.key.record.from)
        kept = kept.enumerated().filter { index, pair in
            guard index < followers.count, time >= followers[index] + TransientKey.grace else { return true }
            return !pair.key.mayBeDestroyed(at: time, newest: newest, pending: [])
        }.map(\.element)
        guard kept.count != transients.count || newest != transient.key else { return nil }
        return PublicIdentity(chain, id, kept, seed)
    }

    /// Returns the identity with a new transient key, whether or not one is due.
    ///
    /// - Throws: `.tooManyTransientKeys` if too many old keys are still needed.
    func rolledNow(by keys: IdentityKeys, at time: Int64) throws(TrustError) -> PublicIdentity {
        guard transients.count < Self.transientCountMax else { throw .tooManyTransientKeys }
        var seed = seed
        let pair = try TransientPair(of: chain, by: keys, from: time, &seed)
        return PublicIdentity(chain, id, transients + [pair], seed)
    }

    /// Returns the identity with a new transient key, which a new device needs more than the oldest one.
    func rolledForNewDevice(by keys: IdentityKeys, at time: Int64) throws(TrustError) -> PublicIdentity {
        var seed = seed
        let pair = try TransientPair(of: chain, by: keys, from: time, &seed)
        return PublicIdentity(chain, id, transients.suffix(Self.transientCountMax - 1) + [pair], seed)
    }

    /// The number of kept keys at which no more are made on demand.
    private static let transientCountMax = 32

    /// How long before it expires a transient key is succeeded by the next, in nanoseconds: five days.
    private static let rollingTime: Int64 = 5 * 86_400_000_000_000

    // MARK: Bytes

    /// An upper bound of its encoded size.
    var byteCountMax: Int {
        1024 + chain.byteCountMax + transients.count * (TransientKeyRecord.byteCount + 256)
    }

    func write(into writer: inout ByteWriter) {
        chain.write(into: &writer)
        writer.number(UInt32(transients.count))
        for pair in transients {
            writer.append(pair.key.record.bytes)
            pair.agreement.secretKey.withBytes { writer.append($0) }
        }
        seed?.write(into: &writer)
    }

    /// Decodes and verifies a stored identity.
    init(_ bytes: RawSpan) throws(FormatError) {
        var cursor = ByteCursor()
        let chain = try IdentityChain("identity chain", &cursor, from: bytes)
        guard let id = chain.identity else { throw .invalid(field: "identity chain") }
        let count = try cursor.number(UInt32.self, from: bytes)
        guard count > 0 else { throw .invalid(field: "transient keys") }
        var transients: [TransientPair] = []
        for _ in 0..<count {
            let record = try cursor.bytes(TransientKeyRecord.byteCount, from: bytes)
            let secret = try cursor.secret(AgreementKey.byteCount, from: bytes)
            transients.append(try TransientPair(record, of: chain, AgreementKey(secretKey: secret)))
        }
        let user = UserID(low: chain.id.low, high: chain.id.high)
        let seed =
            cursor.offset < bytes.byteCount ? try TransientSeed(of: user, &cursor, from: bytes) : nil
        try cursor.expectEnd(of: bytes)
        self.init(chain, id, transients, seed)
    }
}

/// A transient key with its private half.
final class TransientPair: Sendable {
    /// The signed public half, which others receive.
    let key: TransientKey
    /// The private half, which opens wraps.
    let agreement: AgreementKey

    /// Makes a new random key.
    convenience init(of chain: IdentityChain, by keys: IdentityKeys, from time: Int64) throws(TrustError) {
        let id = TransientKeyID(low: Random.number(), high: Random.number())
        try self.init(of: chain, by: keys, from: time, id, .random())
    }

    /// Makes the key that follows from a seed, and advances that; a random key without one.
    convenience init(
        of chain: IdentityChain, by keys: IdentityKeys, from time: Int64, _ seed: inout TransientSeed?
    ) throws(TrustError) {
        guard let present = seed else {
            try self.init(of: chain, by: keys, from: time)
            return
        }
        try self.init(of: chain, by: keys, from: time, present)
        seed = present.following()
    }

    /// Makes the key of a seed.
    convenience init(
        of chain: IdentityChain, by keys: IdentityKeys, from time: Int64, _ seed: TransientSeed
    ) throws(TrustError) {
        try self.init(of: chain, by: keys, from: time, seed.id, seed.agreement())
    }

    private init(
        of chain: IdentityChain, by keys: IdentityKeys, from time: Int64, _ id: TransientKeyID,
        _ agreement: consuming AgreementKey
    ) throws(TrustError) {
        key = try TransientKey.signed(
            AgreementPublicKey(agreement.publicKey), id: id, from: time, of: chain, by: keys.signing)
        self.agreement = agreement
    }

    init(_ record: [UInt8], of chain: IdentityChain, _ agreement: consuming AgreementKey) throws(FormatError)
    {
        do throws(TrustError) {
            key = try TransientKey(record, of: chain)
        } catch {
            throw .invalid(field: "transient key")
        }
        self.agreement = agreement
        guard key.record.agreement == AgreementPublicKey(self.agreement.publicKey) else {
            throw .invalid(field: "transient key")
        }
    }
}
