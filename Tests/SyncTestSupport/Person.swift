package import CofferCrypto
package import CofferFormat
package import CofferSync
internal import CofferTestSupport
package import CofferTrust

/// A person whose keys are derived from a number.
package final class Person: Sendable {
    package let name: String
    package let user: UserID
    package let chain: IdentityChain
    package let transient: TransientKey
    package let author: RecordAuthor
    package let signing: SigningKey
    private let agreement: AgreementKey
    private let transientPair: AgreementKey

    package init(_ name: String, _ number: UInt64) throws {
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
    package func rolled(_ number: UInt64) throws -> Person { try Person(self, number) }

    package var id: IdentityID { author.identity }
    package var recipient: Recipient { get throws { try Recipient(chain, transient) } }

    package func open(_ wraps: WrapSet, of chain: MemberChain, known: Keyring?) throws(TrustError) -> Keyring
    {
        try chain.keyring(
            opening: wraps, for: id, agreement: agreement, transient: transientPair, known: known)
    }
}
