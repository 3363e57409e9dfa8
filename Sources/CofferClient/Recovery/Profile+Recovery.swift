package import CofferCrypto
internal import CofferFormat
package import CofferSystem
package import CofferTrust
internal import Synchronization

// Recovery keys of a profile, and backups of it.
extension Profile {
    /// The largest number of recovery keys that open a profile, and of revoked ones that are remembered.
    static let keyCountMax = 7, revokedCountMax = 8
    /// The number of digits that name a recovery key.
    private static let digitCountMin = 4

    /// The recovery keys, and what the last backup holds.
    var recoveryReport: RecoveryReport {
        let (record, body) = state.withLock { ($0.record, $0.body) }
        let made = body.backup?.made
        func report(_ key: RecoveryKeyID, _ created: Int64, _ revoked: Int64?) -> RecoveryKeyReport {
            RecoveryKeyReport(
                id: key.description, created: created / 1_000_000_000,
                revoked: revoked.map { $0 / 1_000_000_000 },
                opensBackup: made.map { created <= $0 && $0 < revoked ?? .max })
        }
        let keys =
            record.methods.revokedKeys.map { report($0.key, $0.created, $0.revoked) }
            + record.methods.recoveryKeys.map { report($0.key, $0.created, nil) }
        return RecoveryReport(
            profile: record.id.description, name: body.identity.name, keys: keys,
            backup: made.map { $0 / 1_000_000_000 }, gaps: Self.gaps(body))
    }

    private static func gaps(_ body: ProfileBody) -> [BackupGap] {
        body.vaults.compactMap { vault in
            let hasRemote = body.shares.contains { $0.vault == vault.id && $0.hasRemote }
            guard hasRemote else { return BackupGap(vault: vault.name, reason: .noRemote) }
            guard let backup = body.backup else { return nil }
            guard let epoch = backup.epochs[vault.id] else {
                return BackupGap(vault: vault.name, reason: .notInBackup)
            }
            guard let newest = vault.keys.map(\.epoch).max(), newest > epoch else { return nil }
            return BackupGap(vault: vault.name, reason: .newerKey)
        }
    }

    /// Lets a recovery key open the profile, after checking the passphrase.
    ///
    /// - Throws: `.wrongPassphrase`, `.tooManyAttempts`, `.tooManyKeys`.
    func addRecoveryKey(_ recovery: RecoveryKey, passphrase: borrowing SecretBytes) throws(ClientError) {
        try check(passphrase: passphrase)
        try change { state throws(ClientError) in
            guard state.record.methods.recoveryKeys.count < Self.keyCountMax else {
                throw .recovery(.tooManyKeys)
            }
            guard state.record.methods.makeRoom() else { throw .recovery(.tooManyKeys) }
            state.record.methods.recoveryKeys.append(
                RecoveryUnlock.makeRecord(
                    profile: state.record.id, key: key, recovery: recovery, created: Clock.realTime))
        }
    }

    /// Revokes recovery keys: they open neither the profile nor any later backup.
    ///
    /// - Parameter id: The beginning of the key's id, at least four digits; nil for all keys.
    /// - Throws: `.noSuchKey`.
    func revokeRecoveryKeys(_ id: String?) throws(ClientError) {
        if let id, id.count < Self.digitCountMin { throw .recovery(.noSuchKey(id: id)) }
        try change { state throws(ClientError) in
            let keys = state.record.methods.recoveryKeys
            let chosen = keys.filter { key in id.map(key.key.description.hasPrefix) ?? true }
            guard id == nil ? !chosen.isEmpty : chosen.count == 1 else {
                throw .recovery(.noSuchKey(id: id))
            }
            state.record.methods.revoke(chosen.map(\.key), at: Clock.realTime, keeping: Self.revokedCountMax)
        }
    }

    /// Makes a backup, which the profile counts only after `noteBackup`.
    func makeBackup() throws(ClientError) -> [UInt8] {
        // Without one, a profile that is restored would be another person to members of its vaults.
        _ = try publicIdentity()
        let time = Clock.realTime
        return state.withLock { state in
            let body = BackupBody(of: state.body)
            state.unwrittenBackup = BackupNote(of: body, made: time)
            return ProfileBackup.make(
                profile: state.record.id, methods: state.record.methods.withoutHints, key: key, body: body,
                at: time)
        }
    }

    /// Remembers what the backup of a time holds, after it was written to a file.
    ///
    /// Does nothing if another backup was made meanwhile.
    func noteBackup(made: Int64) throws(ClientError) {
        try change { state throws(ClientError) in
            guard let note = state.unwrittenBackup, note.made == made else { return }
            state.body.backup = note
            state.unwrittenBackup = nil
        }
    }

    /// Opens a profile by a recovery key, and replaces its passphrase.
    ///
    /// - Throws: `.revokedKey`, `.otherProfile`, `.noRecoveryKey`.
    package static func replacePassphrase(
        _ location: ProfileLocation, _ lock: consuming FileLock, recovery: RecoveryKey,
        with new: borrowing SecretBytes, hint: String?, strength: PasswordHash
    ) throws(ClientError) {
        let record = try readRecord(location)
        let key = try RecoveryUnlock.open(
            record.methods, profile: record.id, recovery: recovery,
            damage: .profile(.damagedProfile(path: location.profile)))
        let profile = try Profile(location, lock, record, key)
        try profile.setPassphrase(new, hint: hint, strength: strength)
        try AttemptLimiter(path: location.attempts).succeed()
    }

    /// Checks whether a recovery key opens a profile, before anybody chooses a passphrase.
    package static func check(_ location: ProfileLocation, recovery: RecoveryKey) throws(ClientError) {
        let record = try readRecord(location)
        _ = try RecoveryUnlock.open(
            record.methods, profile: record.id, recovery: recovery,
            damage: .profile(.damagedProfile(path: location.profile)))
    }
}

extension UnlockMethods {
    /// The methods without the hints of passphrases, which anyone who has the file could read.
    fileprivate var withoutHints: UnlockMethods {
        var methods = self
        methods.passphrases = passphrases.map(\.withoutHint)
        return methods
    }

    /// Forgets the oldest revoked keys until there is room for another entry; returns whether there is.
    fileprivate mutating func makeRoom() -> Bool {
        let excess = count - Self.countMax + 1
        if excess > 0 { revokedKeys.removeFirst(min(excess, revokedKeys.count)) }
        return count < Self.countMax
    }

    /// Makes keys open nothing any more, and remembers the newest of those.
    mutating func revoke(_ keys: [RecoveryKeyID], at time: Int64, keeping countMax: Int) {
        for record in recoveryKeys where keys.contains(record.key) {
            revokedKeys.append(RevokedKeyRecord(key: record.key, created: record.created, revoked: time))
        }
        recoveryKeys.removeAll { keys.contains($0.key) }
        revokedKeys = Array(revokedKeys.suffix(countMax))
    }
}
