package import CofferCrypto
package import CofferFormat

/// A transient key that its identity has signed.
///
/// A wrap is made with it as well as with the identity key. Its private half is destroyed later, so that an
/// attacker who obtains the identity key after that cannot open old wraps.
package struct TransientKey: Equatable, Sendable {
    /// How long a key is valid, in nanoseconds: 30 days.
    package static let validity: Int64 = 30 * day
    /// How long the private half is kept after that at least, for wraps that were made in time; in
    /// nanoseconds.
    package static let grace: Int64 = 30 * day
    /// How much clocks may differ, in nanoseconds: a day.
    package static let clockTolerance: Int64 = day
    private static let day: Int64 = 86_400_000_000_000

    /// The relation of a time to the key's validity.
    package enum Validity: Equatable, Sendable {
        /// The validity begins later, by more than clocks may differ.
        case notYet
        /// The key is valid.
        case current
        /// The validity is over, and a newer key should exist.
        case expired
    }

    /// The record of the key.
    package let record: TransientKeyRecord

    /// Verifies a key.
    ///
    /// - Parameters:
    ///   - bytes: The record.
    ///   - identity: The chain of the identity that the key should belong to.
    /// - Throws: `.format`, `.identityRevoked`, `.transientKeyNotOfIdentity`, `.validTooLong`,
    ///   `.wrongSignature`, `.crypto(.weakPublicKey)`.
    package init(_ bytes: [UInt8], of identity: IdentityChain) throws(TrustError) {
        record = try reading { () throws(FormatError) in try TransientKeyRecord(bytes) }
        guard let keys = identity.state.current else { throw .identityRevoked }
        guard record.identity == identity.identity, record.signer == keys.signing else {
            throw .transientKeyNotOfIdentity
        }
        guard record.until - record.from <= Self.validity else { throw .validTooLong }
        guard !AgreementKey.isWeak(record.agreement.bytes) else { throw .crypto(.weakPublicKey) }
        try check(record.signature, of: record.signedBytes, by: record.signer, for: .transientKey)
    }

    /// Signs a key, and returns the record to publish.
    ///
    /// - Throws: `.format` if the validity would begin before 1970 or exceed the largest time; whatever
    ///   verifying the key throws.
    package static func signed(
        _ agreement: AgreementPublicKey, id: TransientKeyID, from time: Int64, of identity: IdentityChain,
        by signer: borrowing SigningKey
    ) throws(TrustError) -> TransientKey {
        guard let name = identity.identity else { throw .wrongPlace }
        let (until, isTooLate) = time.addingReportingOverflow(validity)
        guard time >= 0, !isTooLate else { throw .format(.invalid(field: "validity")) }
        let signed = TransientKeyRecord.signed(
            identity: name, id: id, agreement: agreement, from: time, until: until, signer: signer.publicID)
        return try TransientKey(signed + signer.sign(signed, for: .transientKey), of: identity)
    }

    /// The relation of a time to the key's validity.
    package func validity(at time: Int64) -> Validity {
        if time < record.from - Self.clockTolerance { return .notYet }
        return time < record.until ? .current : .expired
    }

    /// The key to wrap with: the newest whose validity has begun.
    ///
    /// An expired key is used if there is no newer one: a member who is away must neither keep others from
    /// rotating the vault's key nor be left out.
    package static func choice(from keys: [TransientKey], at time: Int64) -> TransientKey? {
        keys.filter { $0.validity(at: time) != .notYet }.max { $0.record.from < $1.record.from }
    }

    /// Whether the private half may be destroyed.
    ///
    /// It may once the key has been expired for `grace`, a newer key is published, and no wrap is waiting for
    /// it.
    ///
    /// - Parameter pending: The transient keys of wraps that this person has not opened yet.
    package func mayBeDestroyed(
        at time: Int64, newest: TransientKey, pending: Set<TransientKeyID>
    ) -> Bool {
        let (end, isNever) = record.until.addingReportingOverflow(Self.grace)
        return !isNever && time >= end && newest.record.from > record.from && !pending.contains(record.id)
    }
}
