internal import CofferCrypto
internal import CofferFormat
internal import CofferSystem

/// Derives the profile key from a passphrase, by a record that holds the verifier, the wrapped key, and the
/// hint.
enum PassphraseUnlock {
    /// Makes the record for a new passphrase; a hint is cut to 1024 bytes.
    static func makeRecord(
        profile: ProfileID, key: borrowing SymmetricKey<ProfileRole>, passphrase: borrowing SecretBytes,
        strength: PasswordHash, hint: String?
    ) throws(ClientError) -> PassphraseRecord {
        let salt = Random.bytes(PasswordHash.saltByteCount)
        let created = Clock.realTime
        let associated = PassphraseRecord.associatedData(
            profile: profile, salt: salt, passes: strength.passes, memory: strength.memory, created: created)
        let unlock = try unlockKey(strength, passphrase, salt)
        let none = [UInt8]()
        let verifier = unsafe RecordCipher.seal(
            Random.bytes(32).span.bytes, key: unlock.derive(VerifierRole.self, context: none.span.bytes),
            associated: associated.span.bytes)
        let wrap = unsafe unlock.derive(ProfileWrapRole.self, context: none.span.bytes)
        let sealedKey = key.bytes.withBytes {
            unsafe RecordCipher.seal($0, key: wrap, associated: associated.span.bytes)
        }
        let sealedHint = hint.map { hint in
            unsafe RecordCipher.seal(
                Array(hint.utf8.prefix(1024)).span.bytes, key: hintKey(salt),
                associated: associated.span.bytes)
        }
        return PassphraseRecord(
            salt: salt, passes: strength.passes, memory: strength.memory, created: created,
            sealedVerifier: verifier, sealedProfileKey: sealedKey, sealedHint: sealedHint ?? [])
    }

    /// Opens the profile key.
    ///
    /// - Throws: `.wrongPassphrase`; `.damagedProfile` if the passphrase is correct and the wrapped key is
    ///   damaged, or if the cost parameters are invalid; `.noMemory`.
    static func open(
        _ record: PassphraseRecord, profile: ProfileID, passphrase: borrowing SecretBytes, path: String
    ) throws(ClientError) -> SymmetricKey<ProfileRole> {
        let strength: PasswordHash
        do throws(CryptoError) {
            strength = try PasswordHash(passes: record.passes, memory: record.memory)
        } catch {
            throw .profile(.damagedProfile(path: path))
        }
        let associated = associatedData(record, profile)
        let unlock = try unlockKey(strength, passphrase, record.salt)
        let none = [UInt8]()
        do throws(CryptoError) {
            _ = try unsafe RecordCipher.open(
                record.sealedVerifier.span.bytes,
                key: unlock.derive(VerifierRole.self, context: none.span.bytes),
                associated: associated.span.bytes)
        } catch {
            throw .profile(.wrongPassphrase(hint: nil))
        }
        do throws(CryptoError) {
            let secret = try unsafe RecordCipher.openSecret(
                record.sealedProfileKey.span.bytes,
                key: unlock.derive(ProfileWrapRole.self, context: none.span.bytes),
                associated: associated.span.bytes)
            guard secret.count == SymmetricKey<ProfileRole>.byteCount else {
                throw CryptoError.authenticationFailed
            }
            return SymmetricKey(secret)
        } catch {
            throw .profile(.damagedProfile(path: path))
        }
    }

    /// The hint, if there is one.
    static func hint(_ record: PassphraseRecord, profile: ProfileID) -> String? {
        guard !record.sealedHint.isEmpty else { return nil }
        let associated = associatedData(record, profile)
        let bytes = try? unsafe RecordCipher.open(
            record.sealedHint.span.bytes, key: hintKey(record.salt), associated: associated.span.bytes)
        return bytes.map { String(decoding: $0, as: UTF8.self) }
    }

    private static func associatedData(_ record: PassphraseRecord, _ profile: ProfileID) -> [UInt8] {
        PassphraseRecord.associatedData(
            profile: profile, salt: record.salt, passes: record.passes, memory: record.memory,
            created: record.created)
    }

    private static func unlockKey(
        _ strength: PasswordHash, _ passphrase: borrowing SecretBytes, _ salt: [UInt8]
    ) throws(ClientError) -> SymmetricKey<UnlockRole> {
        do throws(CryptoError) {
            return try strength.unlockKey(passphrase: passphrase, salt: salt)
        } catch {
            throw .profile(.noMemory)
        }
    }

    /// A key that only obscures the hint: anyone who has the file can derive it.
    private static func hintKey(_ salt: [UInt8]) -> SymmetricKey<HintRole> {
        let root = SymmetricKey<UnlockRole>(
            SecretBytes(count: 32) { (bytes: inout MutableRawSpan) throws(Never) in bytes.zero() })
        return unsafe root.derive(HintRole.self, context: salt.span.bytes)
    }
}
