import CofferCrypto
import CofferFormat
import CofferSync
import CofferTestSupport
import CofferTrust
import Synchronization

/// A time at which the tests play, in nanoseconds.
let now: Int64 = 1_800_000_000_000_000_000

struct Missing: Error {}

extension Optional {
    func orThrow() throws -> Wrapped {
        guard let self else { throw Missing() }
        return self
    }
}

/// A person with keys that come out of a number.
final class Person: Sendable {
    let name: String
    let user: UserID
    let chain: IdentityChain
    let author: RecordAuthor
    let signing: SigningKey
    let recipient: Recipient
    private let agreement: AgreementKey
    private let transientPair: AgreementKey

    init(_ name: String, _ number: UInt64) throws {
        self.name = name
        var random = SplitMix64(seed: number &* 7919 &+ 13)
        func seed() -> SecretBytes {
            let bytes = random.bytes(32)
            return SecretBytes(copying: bytes.span.bytes)
        }
        agreement = AgreementKey(secretKey: seed())
        transientPair = AgreementKey(secretKey: seed())
        let secret = random.bytes(32)
        signing = SigningKey(seed: SecretBytes(copying: secret.span.bytes))
        user = UserID(low: random.next(), high: random.next())
        chain = try IdentityChain.founded(
            user, signing: signing,
            agreement: AgreementPublicKey(agreement.publicKey), at: now)
        let transient = try TransientKey.signed(
            AgreementPublicKey(transientPair.publicKey),
            id: TransientKeyID(low: random.next(), high: random.next()), from: now, of: chain, by: signing)
        recipient = try Recipient(chain, transient)
        author = RecordAuthor(
            chain.identity ?? .zero, key: SigningKey(seed: SecretBytes(copying: secret.span.bytes)))
    }

    func open(_ wraps: WrapSet, of chain: MemberChain, known: Keyring?) throws(TrustError) -> Keyring {
        try chain.keyring(
            opening: wraps, for: author.identity, agreement: agreement, transient: transientPair, known: known
        )
    }
}

/// The keys of one person on one device.
final class PersonKeys: VaultKeys {
    let person: Person
    private let kept = Mutex<Keyring?>(nil)

    init(_ person: Person) { self.person = person }

    var author: RecordAuthor { person.author }
    func keyring() async -> Keyring? { kept.withLock { $0 } }

    func open(_ wraps: WrapSet, of chain: MemberChain, known: Keyring?) async throws(TrustError) -> Keyring {
        let keyring = try person.open(wraps, of: chain, known: known)
        kept.withLock { $0 = keyring }
        return keyring
    }
}
