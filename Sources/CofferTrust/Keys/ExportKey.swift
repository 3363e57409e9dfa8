package import CofferCrypto
package import CofferFormat

/// The key of an export, and who can open it.
package enum ExportKey {
    /// Makes the header of an export that a passphrase opens.
    ///
    /// Takes the memory and the time that the parameters require.
    ///
    /// - Throws: `.crypto(.outOfMemory)`.
    package static func header(
        for passphrase: borrowing SecretBytes, _ strength: PasswordHash,
        sealing key: borrowing SymmetricKey<ExportRole>
    ) throws(TrustError) -> ExportHeader {
        let salt = Random.bytes(PasswordHash.saltByteCount)
        let wrapping = try wrappingKey(passphrase, strength, salt)
        let associated = ExportHeader.Passphrase.associatedData(
            salt: salt, passes: strength.passes, memory: strength.memory)
        let sealed = key.bytes.withBytes { secret in
            unsafe RecordCipher.seal(secret, key: wrapping, associated: associated.span.bytes)
        }
        return ExportHeader([
            .passphrase(
                ExportHeader.Passphrase(
                    salt: salt, passes: strength.passes, memory: strength.memory, sealedKey: sealed))
        ])
    }

    /// Makes the header of an export that the identities of some people open.
    ///
    /// It tells nobody, not even the recipients, who they are.
    ///
    /// - Throws: `.identityRevoked`, `.crypto(.weakPublicKey)`.
    package static func header(
        for recipients: [IdentityChain], sealing key: borrowing SymmetricKey<ExportRole>
    ) throws(TrustError) -> ExportHeader {
        var entries: [ExportHeader.Entry] = []
        for recipient in recipients {
            guard let keys = recipient.state.current else { throw .identityRevoked }
            let ephemeral = AgreementKey.random()
            let fresh = AgreementPublicKey(ephemeral.publicKey)
            let wrapping = try wrappingKey(ephemeral, keys.agreement.bytes, fresh, keys.agreement)
            let associated = ExportHeader.Recipient.associatedData(
                ephemeral: fresh, recipient: keys.agreement)
            let sealed = key.bytes.withBytes { secret in
                unsafe RecordCipher.seal(secret, key: wrapping, associated: associated.span.bytes)
            }
            entries.append(.recipient(ExportHeader.Recipient(ephemeral: fresh, sealedKey: sealed)))
        }
        return ExportHeader(entries)
    }

    /// Opens an export by its passphrase.
    ///
    /// - Throws: `.crypto(.authenticationFailed)` if it is wrong, `.crypto(.parametersOutOfRange)`,
    ///   `.crypto(.outOfMemory)`.
    package static func open(
        _ entry: ExportHeader.Passphrase, passphrase: borrowing SecretBytes
    ) throws(TrustError) -> SymmetricKey<ExportRole> {
        let strength: PasswordHash
        do throws(CryptoError) {
            strength = try PasswordHash(passes: entry.passes, memory: entry.memory)
        } catch {
            throw .crypto(error)
        }
        let wrapping = try wrappingKey(passphrase, strength, entry.salt)
        let associated = ExportHeader.Passphrase.associatedData(
            salt: entry.salt, passes: entry.passes, memory: entry.memory)
        return try open(entry.sealedKey, wrapping, associated)
    }

    /// Opens an export by the key of an identity; nil if it is none of the recipients.
    package static func open(
        _ recipients: [ExportHeader.Recipient], agreement: borrowing AgreementKey
    ) -> SymmetricKey<ExportRole>? {
        let own = AgreementPublicKey(agreement.publicKey)
        for recipient in recipients {
            do throws(TrustError) {
                let wrapping = try wrappingKey(
                    agreement, recipient.ephemeral.bytes, recipient.ephemeral, own)
                let associated = ExportHeader.Recipient.associatedData(
                    ephemeral: recipient.ephemeral, recipient: own)
                return try open(recipient.sealedKey, wrapping, associated)
            } catch {
                continue
            }
        }
        return nil
    }

    private static func open<Role: KeyRole>(
        _ sealed: [UInt8], _ wrapping: borrowing SymmetricKey<Role>, _ associated: [UInt8]
    ) throws(TrustError) -> SymmetricKey<ExportRole> {
        do throws(CryptoError) {
            let secret = try unsafe RecordCipher.openSecret(
                sealed.span.bytes, key: wrapping, associated: associated.span.bytes)
            guard secret.count == SymmetricKey<ExportRole>.byteCount else {
                throw CryptoError.authenticationFailed
            }
            return SymmetricKey(secret)
        } catch {
            throw .crypto(error)
        }
    }

    private static func wrappingKey(
        _ passphrase: borrowing SecretBytes, _ strength: PasswordHash, _ salt: [UInt8]
    ) throws(TrustError) -> SymmetricKey<ExportPassphraseRole> {
        do throws(CryptoError) {
            let none = [UInt8]()
            return try unsafe strength.unlockKey(passphrase: passphrase, salt: salt)
                .derive(ExportPassphraseRole.self, context: none.span.bytes)
        } catch {
            throw .crypto(error)
        }
    }

    /// - Parameters:
    ///   - own: A private key.
    ///   - peer: The public key that it meets.
    private static func wrappingKey(
        _ own: borrowing AgreementKey, _ peer: [UInt8], _ ephemeral: AgreementPublicKey,
        _ recipient: AgreementPublicKey
    ) throws(TrustError) -> SymmetricKey<ExportRecipientRole> {
        do throws(CryptoError) {
            let secret = try own.sharedSecret(with: peer)
            return .agreed(secret, context: ephemeral.bytes + recipient.bytes)
        } catch {
            throw .crypto(error)
        }
    }
}
