import CofferCrypto
import CofferFormat
import CofferSync
import CofferTestSupport
import CofferTrust
import Synchronization

/// A time at which the tests play: nanoseconds, and milliseconds.
let now: Int64 = 1_800_000_000_000_000_000
let nowMilliseconds: UInt64 = 1_800_000_000_000

/// A person with keys that come out of a number.
final class Person: Sendable {
    let name: String
    let user: UserID
    let chain: IdentityChain
    let transient: TransientKey
    let author: RecordAuthor
    let signing: SigningKey
    private let agreement: AgreementKey
    private let transientPair: AgreementKey

    init(_ name: String, _ number: UInt64) throws {
        self.name = name
        var random = SplitMix64(seed: number &* 7919 &+ 13)
        let seed = random.bytes(32)
        func key() -> SigningKey { SigningKey(seed: SecretBytes(copying: seed.span.bytes)) }
        let agreementSeed = random.bytes(32)
        let transientSeed = random.bytes(32)
        agreement = AgreementKey(secretKey: SecretBytes(copying: agreementSeed.span.bytes))
        transientPair = AgreementKey(secretKey: SecretBytes(copying: transientSeed.span.bytes))
        user = UserID(low: random.next(), high: random.next())
        signing = key()
        chain = try IdentityChain.founded(
            user, signing: signing, agreement: AgreementPublicKey(agreement.publicKey), at: now)
        transient = try TransientKey.signed(
            AgreementPublicKey(transientPair.publicKey),
            id: TransientKeyID(low: random.next(), high: random.next()), from: now, of: chain, by: signing)
        author = RecordAuthor(chain.identity ?? .zero, key: key())
    }

    /// The same person with other keys.
    private init(_ old: Person, _ number: UInt64) throws {
        (name, user) = (old.name, old.user)
        var random = SplitMix64(seed: number &* 104_729 &+ 7)
        let (seed, agreementSeed, transientSeed) = (random.bytes(32), random.bytes(32), random.bytes(32))
        func key() -> SigningKey { SigningKey(seed: SecretBytes(copying: seed.span.bytes)) }
        agreement = AgreementKey(secretKey: SecretBytes(copying: agreementSeed.span.bytes))
        transientPair = AgreementKey(secretKey: SecretBytes(copying: transientSeed.span.bytes))
        signing = key()
        var chain = old.chain
        try chain.append(
            chain.rolling(
                to: signing, agreement: AgreementPublicKey(agreement.publicKey), at: now, by: old.signing))
        self.chain = chain
        transient = try TransientKey.signed(
            AgreementPublicKey(transientPair.publicKey),
            id: TransientKeyID(low: random.next(), high: random.next()), from: now, of: chain, by: signing)
        author = RecordAuthor(old.id, key: key())
    }

    /// The person after it has rolled its identity keys.
    func rolled(_ number: UInt64) throws -> Person { try Person(self, number) }

    var id: IdentityID { author.identity }
    var recipient: Recipient { get throws { try Recipient(chain, transient) } }

    func open(_ wraps: WrapSet, of chain: MemberChain, known: Keyring?) throws(TrustError) -> Keyring {
        try chain.keyring(
            opening: wraps, for: id, agreement: agreement, transient: transientPair, known: known)
    }
}

/// The keys of one person on one device.
final class PersonKeys: VaultKeys {
    let person: Person
    private let kept = Mutex<Keyring?>(nil)

    init(_ person: Person) { self.person = person }

    var author: RecordAuthor { person.author }
    func keyring() async -> Keyring? { kept.withLock { $0 } }
    func keep(_ keyring: Keyring?) { kept.withLock { $0 = keyring } }

    func open(_ wraps: WrapSet, of chain: MemberChain, known: Keyring?) async throws(TrustError) -> Keyring {
        let keyring = try person.open(wraps, of: chain, known: known)
        kept.withLock { $0 = keyring }
        return keyring
    }
}
