package import CofferCrypto
package import CofferFormat

/// A transient key that its identity has signed.
///
/// Wraps are made with it as well as with the identity key. Its private half is destroyed after a while, so
/// that who gets hold of an identity key later opens no old wraps with it.
package struct TransientKey: Equatable, Sendable {
    /// How long a key is valid, in nanoseconds: 30 days.
    package static let validity: Int64 = 30 * day
    /// How long the private half is kept after that, at least, for wraps that were made in time.
    package static let grace: Int64 = 30 * day
    /// By how much clocks may differ: a day.
    package static let clockTolerance: Int64 = day
    private static let day: Int64 = 86_400_000_000_000

    /// How a time relates to the key's validity.
    package enum Validity: Equatable, Sendable {
        /// It has not begun, by more than clocks may differ.
        case notYet
        /// The time is in it.
        case current
        /// It is over: a newer key should be there.
        case expired
    }

    /// The key as it is stored.
    package let record: TransientKeyRecord

    /// Verifies a key.
    ///
    /// - Parameters:
    ///   - bytes: As stored.
    ///   - identity: The chain of the identity whose key it should be.
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

    /// Signs a key: the record to be published.
    ///
    /// - Throws: `.format` for a time before 1970 or at the end of all times; what the verifier would refuse.
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

    /// How a time relates to the key's validity.
    package func validity(at time: Int64) -> Validity {
        if time < record.from - Self.clockTolerance { return .notYet }
        return time < record.until ? .current : .expired
    }

    /// The key to wrap with: the newest that has begun.
    ///
    /// One that has expired is better than none: a member who was away for long must not keep others from
    /// rotating the vault's key, nor be left out.
    package static func choice(from keys: [TransientKey], at time: Int64) -> TransientKey? {
        keys.filter { $0.validity(at: time) != .notYet }.max { $0.record.from < $1.record.from }
    }

    /// Whether the private half may be destroyed.
    ///
    /// Once it has expired for the time of grace, a newer key is published, and no wrap waits for it.
    ///
    /// - Parameter pending: The transient keys of wraps that this person has not opened yet.
    package func mayBeDestroyed(
        at time: Int64, newest: TransientKey, pending: Set<TransientKeyID>
    ) -> Bool {
        let (end, isNever) = record.until.addingReportingOverflow(Self.grace)
        return !isNever && time >= end && newest.record.from > record.from && !pending.contains(record.id)
    }
}
