package import CofferCrypto
package import CofferFormat

/// A person who gets a wrap, and the keys that the wrap is made with.
package struct Recipient: Equatable, Sendable {
    /// The person's identity.
    package let identity: IdentityID
    /// The person's current keys.
    package let keys: IdentityPublicKeys
    /// The person's transient key.
    package let transient: TransientKey

    /// Makes a recipient of a verified identity chain and a verified transient key.
    ///
    /// - Throws: `.identityRevoked`, `.transientKeyNotOfIdentity`.
    package init(_ identity: IdentityChain, _ transient: TransientKey) throws(TrustError) {
        guard let keys = identity.state.current, let id = identity.identity else { throw .identityRevoked }
        guard transient.record.identity == id, transient.record.signer == keys.signing else {
            throw .transientKeyNotOfIdentity
        }
        self.identity = id
        self.keys = keys
        self.transient = transient
    }
}

/// The key of an epoch, sealed for one member.
///
/// Suite 1 combines two agreements of a fresh X25519 key: with the member's identity key, and with the
/// member's transient key.
///
///     offset  bytes  field
///          0     32  the fresh public key
///         32     16  id of the transient key
///         48     72  sealed record of the epoch's key
package enum KeyWrap {
    /// The suite that is written, and the only one that is opened.
    package static let suite: UInt16 = 1
    private static let sealedByteCount = 120

    /// Seals the key of an epoch.
    ///
    /// - Throws: `.crypto(.weakPublicKey)`, which never happens with verified keys.
    package static func seal(
        _ key: EpochKey, for recipient: Recipient
    ) throws(TrustError) -> WrapSetRecord.Wrap {
        try seal(key, for: recipient, ephemeral: .random(), nonce: .random())
    }

    /// Seals with a given key pair and nonce; both must be used only once.
    static func seal(
        _ key: EpochKey, for recipient: Recipient, ephemeral: borrowing AgreementKey, nonce: Nonce
    ) throws(TrustError) -> WrapSetRecord.Wrap {
        let (identityKey, transient) = (recipient.keys.agreement.bytes, recipient.transient.record)
        let (publicKey, transientKey) = (ephemeral.publicKey, transient.agreement.bytes)
        let first = try secret(ephemeral, identityKey)
        let second = try secret(ephemeral, transientKey)
        let context = context(
            publicKey, identityKey, transientKey, key.vault, key.epoch, recipient.identity)
        let wrapping = SymmetricKey.agreed(first, second, context: context)
        let associated = associated(context)
        let sealed = key.key.bytes.withBytes { secret in
            unsafe RecordCipher.seal(
                secret, key: wrapping, nonce: nonce, associated: associated.span.bytes)
        }
        return WrapSetRecord.Wrap(
            identity: recipient.identity, suite: suite, sealed: publicKey + transient.id.bytes + sealed)
    }

    /// The id of the transient key whose private half opens a wrap.
    ///
    /// - Throws: `.unknownSuite`, `.format`.
    package static func transientKey(of wrap: WrapSetRecord.Wrap) throws(TrustError) -> TransientKeyID {
        try checkForm(wrap)
        return try reading { () throws(FormatError) in
            guard let id = TransientKeyID(bytes: Array(wrap.sealed[32..<48])) else { throw .truncated }
            return id
        }
    }

    /// Opens the key of an epoch.
    ///
    /// - Parameters:
    ///   - agreement: The identity key that was current when the wrap was made.
    ///   - transient: The transient key that `transientKey(of:)` names.
    /// - Throws: `.unknownSuite`, `.format`, `.crypto`.
    package static func open(
        _ wrap: WrapSetRecord.Wrap, vault: VaultID, epoch: Epoch, agreement: borrowing AgreementKey,
        transient: borrowing AgreementKey
    ) throws(TrustError) -> EpochKey {
        try checkForm(wrap)
        let publicKey = Array(wrap.sealed[..<32])
        let context = context(
            publicKey, agreement.publicKey, transient.publicKey, vault, epoch, wrap.identity)
        let (associated, sealed) = (associated(context), Array(wrap.sealed[48...]))
        let first = try secret(agreement, publicKey)
        let second = try secret(transient, publicKey)
        let wrapping = SymmetricKey.agreed(first, second, context: context)
        do throws(CryptoError) {
            let secret = try unsafe RecordCipher.openSecret(
                sealed.span.bytes, key: wrapping, associated: associated.span.bytes)
            return EpochKey(vault: vault, epoch: epoch, key: SymmetricKey(secret))
        } catch {
            throw .crypto(error)
        }
    }

    private static func secret(
        _ own: borrowing AgreementKey, _ peer: [UInt8]
    ) throws(TrustError) -> SecretBytes {
        do throws(CryptoError) { return try own.sharedSecret(with: peer) } catch { throw .crypto(error) }
    }

    private static func checkForm(_ wrap: WrapSetRecord.Wrap) throws(TrustError) {
        guard wrap.suite == suite else { throw .unknownSuite(wrap.suite) }
        guard wrap.sealed.count == sealedByteCount else {
            throw .format(.invalid(field: "length of the wrap"))
        }
    }

    /// Everything that the key belongs to, 148 bytes: fresh, identity, and transient public keys, vault,
    /// epoch, identity.
    private static func context(
        _ ephemeral: [UInt8], _ agreement: [UInt8], _ transient: [UInt8], _ vault: VaultID, _ epoch: Epoch,
        _ identity: IdentityID
    ) -> [UInt8] {
        var writer = ByteWriter(capacity: 148)
        writer.append(ephemeral)
        writer.append(agreement)
        writer.append(transient)
        writer.identifier(vault)
        writer.number(epoch.number)
        writer.bytes32(identity)
        return writer.finish()
    }

    private static func associated(_ context: [UInt8]) -> [UInt8] {
        Array("coffer/1/\(WrapRole.purpose)\0".utf8) + context
    }
}
