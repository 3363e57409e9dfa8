internal import CofferCrypto
internal import CofferFormat
internal import CofferSystem
internal import CofferTrust

/// What others may know of a person's identity, with the private halves of its transient keys.
///
/// Made when it is first needed, and kept in the profile (docs/format.md, "Profile body").
struct PublicIdentity: Sendable {
    /// The identity chain, with at least one link.
    let chain: IdentityChain
    /// Names the person for all others.
    let id: IdentityID
    /// All transient keys that are kept, the newest last; at least one.
    private(set) var transients: [TransientPair]

    /// A new identity of some keys, with a first transient key.
    init(founding keys: IdentityKeys, at time: Int64) throws(TrustError) {
        let user = UserID(low: Random.number(), high: Random.number())
        let chain = try IdentityChain.founded(
            user, signing: keys.signing, agreement: AgreementPublicKey(keys.agreement.publicKey), at: time)
        guard let id = chain.identity else { throw .wrongPlace }
        self.chain = chain
        self.id = id
        transients = [try TransientPair(of: chain, by: keys, from: time)]
    }

    private init(_ chain: IdentityChain, _ id: IdentityID, _ transients: [TransientPair]) {
        self.chain = chain
        self.id = id
        self.transients = transients
    }

    /// The user, by whose id the records of the identity lie at remotes.
    var user: UserID { UserID(low: chain.id.low, high: chain.id.high) }

    /// The newest transient key.
    var transient: TransientPair { transients[transients.count - 1] }

    /// With a new transient key if the newest ends within five days, and without those that nobody needs any more;
    /// nil if all is as it should be.
    func rolled(by keys: IdentityKeys, at time: Int64) throws(TrustError) -> PublicIdentity? {
        var kept = transients
        if time > transient.key.record.until - Self.rollingTime || time < transient.key.record.from {
            kept.append(try TransientPair(of: chain, by: keys, from: time))
        }
        let newest = kept[kept.count - 1].key
        // Who was away for long may find wraps by the old one: it is kept until there was time to open them.
        let followers = kept.dropFirst().map(\.key.record.from)
        kept = kept.enumerated().filter { index, pair in
            guard index < followers.count, time >= followers[index] + TransientKey.grace else { return true }
            return !pair.key.mayBeDestroyed(at: time, newest: newest, pending: [])
        }.map(\.element)
        guard kept.count != transients.count || newest != transient.key else { return nil }
        return PublicIdentity(chain, id, kept)
    }

    /// With a new transient key at once.
    ///
    /// - Throws: `.tooManyTransientKeys` where that was done so often that the old ones cannot go yet.
    func rolledNow(by keys: IdentityKeys, at time: Int64) throws(TrustError) -> PublicIdentity {
        guard transients.count < Self.transientCountMax else { throw .tooManyTransientKeys }
        return PublicIdentity(chain, id, transients + [try TransientPair(of: chain, by: keys, from: time)])
    }

    /// How many transient keys are kept before no more are made on demand.
    private static let transientCountMax = 32

    /// How long before its end a transient key is followed by the next, in nanoseconds: five days.
    private static let rollingTime: Int64 = 5 * 86_400_000_000_000

    // MARK: Bytes

    /// More bytes than it has when it is written.
    var byteCountMax: Int {
        chain.links.reduce(1024) { $0 + $1.bytes.count + 16 } + transients.count
            * (TransientKeyRecord.byteCount + 256)
    }

    func write(into writer: inout ByteWriter) {
        writer.number(UInt32(chain.links.count))
        for link in chain.links {
            writer.number(UInt32(link.bytes.count))
            writer.append(link.bytes)
        }
        writer.number(UInt32(transients.count))
        for pair in transients {
            writer.append(pair.key.record.bytes)
            pair.agreement.secretKey.withBytes { writer.append($0) }
        }
    }

    /// Reads and verifies what was kept.
    init(_ bytes: RawSpan) throws(FormatError) {
        var cursor = ByteCursor()
        let linkCount = try cursor.number(UInt32.self, from: bytes)
        var chain: IdentityChain?
        for _ in 0..<linkCount {
            let link = try cursor.bytes(Int(try cursor.number(UInt32.self, from: bytes)), from: bytes)
            do throws(TrustError) {
                if chain == nil {
                    let record: LinkRecord
                    do throws(FormatError) { record = try LinkRecord(link) } catch { throw .format(error) }
                    chain = IdentityChain(id: record.chain)
                }
                try chain?.append(link)
            } catch {
                throw .invalid(field: "identity chain")
            }
        }
        guard let chain, let id = chain.identity else { throw .invalid(field: "identity chain") }
        let count = try cursor.number(UInt32.self, from: bytes)
        guard count > 0 else { throw .invalid(field: "transient keys") }
        var transients: [TransientPair] = []
        for _ in 0..<count {
            let record = try cursor.bytes(TransientKeyRecord.byteCount, from: bytes)
            let secret = try cursor.secret(AgreementKey.byteCount, from: bytes)
            transients.append(try TransientPair(record, of: chain, AgreementKey(secretKey: secret)))
        }
        try cursor.expectEnd(of: bytes)
        self.init(chain, id, transients)
    }
}

/// A transient key with its private half.
final class TransientPair: Sendable {
    /// What others get.
    let key: TransientKey
    /// What opens wraps.
    let agreement: AgreementKey

    /// A new one.
    init(of chain: IdentityChain, by keys: IdentityKeys, from time: Int64) throws(TrustError) {
        let agreement = AgreementKey.random()
        let id = TransientKeyID(low: Random.number(), high: Random.number())
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
