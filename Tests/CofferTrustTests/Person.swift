import CofferCrypto
import CofferFormat
import CofferTestSupport

import CofferTrust

/// Nanoseconds of a day.
let day: Int64 = 86_400_000_000_000
/// The time of most tests.
let now: Int64 = 1_800_000_000_000_000_000

/// A person whose keys are derived from a number: the same in each run.
final class Person {
    let user: UserID
    private(set) var chain: IdentityChain
    /// Every pair that the person ever had; the last one is current.
    private(set) var signing: [SigningPair] = []
    private(set) var agreement: [AgreementPair] = []
    private(set) var transients: [(key: TransientKey, pair: AgreementPair)] = []
    private var random: SplitMix64

    final class SigningPair {
        let key: SigningKey
        init(_ seed: [UInt8]) { key = SigningKey(seed: SecretBytes(copying: seed.span.bytes)) }
    }

    final class AgreementPair {
        let key: AgreementKey
        init(_ secret: [UInt8]) { key = AgreementKey(secretKey: SecretBytes(copying: secret.span.bytes)) }
        var publicKey: AgreementPublicKey { AgreementPublicKey(key.publicKey) }
    }

    init(_ number: UInt64, transientFrom time: Int64 = now - day) throws {
        random = SplitMix64(seed: number &* 7919 &+ 13)
        user = UserID(low: random.next(), high: random.next())
        signing = [SigningPair(random.bytes(32))]
        agreement = [AgreementPair(random.bytes(32))]
        chain = try IdentityChain.founded(
            user, signing: signing[0].key, agreement: agreement[0].publicKey, at: now - 2 * day)
        try rollTransient(at: time)
    }

    var id: IdentityID { chain.identity ?? .zero }
    /// The current pair.
    var pair: SigningPair { signing[signing.count - 1] }
    var transient: TransientKey { transients[transients.count - 1].key }
    var recipient: Recipient { get throws { try Recipient(chain, transient) } }

    func rollTransient(at time: Int64) throws {
        let pair = AgreementPair(random.bytes(32))
        let id = TransientKeyID(low: random.next(), high: random.next())
        let key = try TransientKey.signed(
            pair.publicKey, id: id, from: time, of: chain, by: self.pair.key)
        transients.append((key, pair))
    }

    /// Other identity keys, and a transient key that they sign.
    func roll() throws {
        let next = SigningPair(random.bytes(32))
        let other = AgreementPair(random.bytes(32))
        try chain.append(
            try chain.rolling(to: next.key, agreement: other.publicKey, at: now, by: pair.key))
        signing.append(next)
        agreement.append(other)
        try rollTransient(at: now - day)
    }

    func revoke() throws {
        try chain.append(try chain.link(.revoke, at: now, by: pair.key))
    }

    func card(_ name: String) throws -> IdentityCard {
        try IdentityCard.signed(name: name, identity: chain, transient: transient, by: pair.key)
    }
}

extension Sequence where Element == Person {
    var known: KnownIdentities { KnownIdentities(map(\.chain)) }
}

/// Makes secret bytes of known bytes.
func secretBytes(_ bytes: [UInt8]) -> SecretBytes {
    SecretBytes(copying: bytes.span.bytes)
}

/// The hexadecimal digits of secret bytes.
func digits(_ secret: borrowing SecretBytes) -> String {
    var bytes: [UInt8] = []
    secret.withBytes { span in
        for offset in 0..<span.byteCount {
            bytes.append(span.unsafeLoad(fromByteOffset: offset, as: UInt8.self))
        }
    }
    return hexadecimal(bytes)
}
