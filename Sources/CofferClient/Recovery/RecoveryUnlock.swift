internal import CofferCrypto
internal import CofferFormat
internal import CofferSystem
internal import CofferTrust

/// Wraps the profile key for a recovery key, and opens it.
///
/// A recovery key has 128 random bits, so neither a slow derivation nor a limit of attempts is needed.
enum RecoveryUnlock {
    /// Makes the record for a recovery key.
    static func makeRecord(
        profile: ProfileID, key: borrowing SymmetricKey<ProfileRole>, recovery: RecoveryKey, created: Int64
    ) -> RecoveryRecord {
        let id = recovery.id(in: profile)
        let associated = RecoveryRecord.associatedData(profile: profile, key: id, created: created)
        let wrap = recovery.wrapKey(in: profile)
        let sealed = key.bytes.withBytes {
            unsafe RecordCipher.seal($0, key: wrap, associated: associated.span.bytes)
        }
        return RecoveryRecord(key: id, created: created, sealedProfileKey: sealed)
    }

    /// Opens the profile key.
    ///
    /// - Parameters:
    ///   - made: When the backup was made, in nanoseconds since 1970; nil for a profile.
    ///   - damage: The error for a record that does not open with its own key.
    /// - Throws: `.revokedKey`, `.otherProfile`, `.noRecoveryKey`, `damage`.
    static func open(
        _ methods: UnlockMethods, profile: ProfileID, recovery: RecoveryKey, made: Int64? = nil,
        damage: ClientError
    ) throws(ClientError) -> SymmetricKey<ProfileRole> {
        let id = recovery.id(in: profile)
        guard let record = methods.recoveryKeys.first(where: { $0.key == id }) else {
            if let revoked = methods.revokedKeys.first(where: { $0.key == id }) {
                throw .recovery(.revokedKey(created: revoked.created, revoked: revoked.revoked))
            }
            if methods.recoveryKeys.isEmpty { throw .recovery(.noRecoveryKey) }
            throw .recovery(.otherProfile(profile: profile.description, made: made))
        }
        let associated = RecoveryRecord.associatedData(profile: profile, key: id, created: record.created)
        do throws(CryptoError) {
            let secret = try unsafe RecordCipher.openSecret(
                record.sealedProfileKey.span.bytes, key: recovery.wrapKey(in: profile),
                associated: associated.span.bytes)
            guard secret.count == SymmetricKey<ProfileRole>.byteCount else {
                throw CryptoError.authenticationFailed
            }
            return SymmetricKey(secret)
        } catch {
            throw damage
        }
    }
}
