package import CofferCrypto
internal import CofferFormat
internal import CofferSystem
package import CofferTrust
internal import Glibc

/// A profile backup that was read from a file, and not opened yet.
package struct ProfileBackup: Sendable {
    let record: BackupRecord
    private let path: String

    /// Reads a file, and checks that it is a whole backup, before anybody types a key.
    ///
    /// - Throws: `.noBackup`, `.cutBackup`, `.damagedBackup`, `.newerBackup`, `.isProfile`.
    package init(file path: String) throws(ClientError) {
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try WholeFile.read(path, limit: BackupRecord.byteCountMax)
        } catch {
            // No backup is as long as a file with EFBIG.
            throw error.code == EFBIG ? .recovery(.noBackup(path: path)) : .system(error)
        }
        try self.init(bytes, path: path)
    }

    init(_ bytes: [UInt8], path: String) throws(ClientError) {
        self.path = path
        record = try Self.check(bytes, path)
    }

    private static func check(_ bytes: [UInt8], _ path: String) throws(ClientError) -> BackupRecord {
        if bytes.starts(with: "COFFERPF".utf8) { throw .recovery(.isProfile(path: path)) }
        if BackupRecord.isCutEarly(bytes) {
            throw .recovery(.cutBackup(path: path, count: bytes.count, whole: nil))
        }
        do throws(FormatError) {
            let whole = try unsafe BackupRecord.statedByteCount(bytes.span.bytes)
            if bytes.count < whole, whole <= BackupRecord.byteCountMax { throw .truncated }
            let content = Array(bytes.dropLast(BackupRecord.checksumByteCount))
            let checksum = Array(bytes.suffix(BackupRecord.checksumByteCount))
            guard checksum == Blake2b.hash(content, for: .profileBackup) else {
                throw .invalid(field: "checksum")
            }
            do throws(FormatError) {
                return try unsafe BackupRecord(content.span.bytes)
            } catch {
                // Nothing is missing at the end: the checksum is right.
                guard case .truncated = error else { throw error }
                throw .invalid(field: "length")
            }
        } catch {
            switch error {
            case .truncated:
                let whole = try? unsafe BackupRecord.statedByteCount(bytes.span.bytes)
                throw .recovery(.cutBackup(path: path, count: bytes.count, whole: whole.map { Int($0) }))
            case .notThisKind: throw .recovery(.noBackup(path: path))
            case .newerVersion(let found, let supported):
                throw .recovery(.newerBackup(path: path, found: found, supported: supported))
            default: throw .recovery(.damagedBackup(path: path))
            }
        }
    }

    // MARK: Making

    /// Makes the bytes of a backup of a profile.
    static func make(
        profile: ProfileID, methods: UnlockMethods, key: borrowing SymmetricKey<ProfileRole>,
        body: BackupBody, at time: Int64
    ) -> [UInt8] {
        var plain = body.encoded()
        defer { SecretBytes.wipe(&plain) }
        let associated = BackupRecord.associatedData(
            profile: profile, made: time, methods: methods,
            sealedByteCount: plain.count + RecordCipher.overhead)
        let id = profile.bytes
        let sealed = unsafe RecordCipher.seal(
            plain.span.bytes, key: key.derive(BackupBodyRole.self, context: id.span.bytes),
            associated: associated.span.bytes)
        let record = BackupRecord(profile: profile, made: time, methods: methods, sealedBody: sealed)
        let content = record.bytesToCheck
        return content + Blake2b.hash(content, for: .profileBackup)
    }

    // MARK: Opening

    /// The id of the profile: 32 hexadecimal digits.
    package var profile: String { record.profile.description }

    /// The request that tells the profile that this backup is in its file.
    package var note: RecoveryRequest { .noteBackup(made: record.made) }

    /// Whether a recovery key opens it, or opened an earlier one.
    package var knowsRecoveryKeys: Bool {
        !record.methods.recoveryKeys.isEmpty || !record.methods.revokedKeys.isEmpty
    }

    /// Opens the backup by a recovery key.
    ///
    /// - Throws: `.revokedKey`, `.otherProfile`, `.noRecoveryKey`, `.damagedBackup`.
    package func open(by recovery: RecoveryKey) throws(ClientError) -> OpenedBackup {
        let key = try RecoveryUnlock.open(
            record.methods, profile: record.profile, recovery: recovery, made: record.made,
            damage: .recovery(.damagedBackup(path: path)))
        return OpenedBackup(record, try body(key), recovery)
    }

    /// Opens the backup by the passphrase that the profile had.
    ///
    /// - Throws: `.wrongPassphrase`, `.damagedBackup`.
    package func open(passphrase: borrowing SecretBytes) throws(ClientError) -> OpenedBackup {
        guard passphrase.count > 0 else { throw .profile(.emptyPassphrase) }
        for method in record.methods.passphrases {
            do throws(ClientError) {
                let key = try PassphraseUnlock.open(
                    method, profile: record.profile, passphrase: passphrase, path: path)
                return OpenedBackup(record, try body(key), nil)
            } catch {
                switch error {
                case .profile(.wrongPassphrase): continue
                case .profile(.damagedProfile): throw .recovery(.damagedBackup(path: path))
                default: throw error
                }
            }
        }
        throw .recovery(.wrongPassphrase)
    }

    private func body(_ key: borrowing SymmetricKey<ProfileRole>) throws(ClientError) -> BackupBody {
        let (id, associated) = (record.profile.bytes, record.associatedData)
        do throws(CryptoError) {
            let bytes = try unsafe RecordCipher.openSecret(
                record.sealedBody.span.bytes,
                key: key.derive(BackupBodyRole.self, context: id.span.bytes),
                associated: associated.span.bytes)
            do throws(FormatError) {
                return try bytes.withBytes { bytes throws(FormatError) in try BackupBody(bytes) }
            } catch {
                throw CryptoError.authenticationFailed
            }
        } catch {
            throw .recovery(.damagedBackup(path: path))
        }
    }
}

/// A profile backup that was opened.
package struct OpenedBackup: Sendable {
    let record: BackupRecord
    let body: BackupBody
    /// The recovery key that opened it; nil if the passphrase did.
    let recovery: RecoveryKey?

    init(_ record: BackupRecord, _ body: BackupBody, _ recovery: RecoveryKey?) {
        self.record = record
        self.body = body
        self.recovery = recovery
    }

    /// The person's name.
    package var name: String { body.identity.name }

    /// When the backup was made, in seconds since 1970.
    package var made: Int64 { record.made / 1_000_000_000 }
}
