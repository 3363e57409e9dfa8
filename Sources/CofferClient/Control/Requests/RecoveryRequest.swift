internal import CofferCrypto
internal import CofferTrust

/// A request that concerns the recovery keys of a profile.
package enum RecoveryRequest: ControlRequest {
    /// Lists the keys, and what the last backup lacks.
    case list
    /// Checks the passphrase, before a key is printed.
    case check(passphrase: [UInt8])
    /// Adds a key; its 16 secret bytes cross the socket, which only this user can reach, and never reach a
    /// disk.
    case add(key: [UInt8], passphrase: [UInt8])
    /// Revokes the key whose id begins so, or all keys.
    case revoke(id: String?)
    /// Says that a backup is in its file; with the time at which it was made, in nanoseconds since 1970.
    case noteBackup(made: Int64)

    package var changesVaults: Bool { false }
    package var message: RequestMessage { .recovery(self) }

    package func perform(
        by handler: ControlHandler, for client: RequestClient
    ) throws(ClientError) -> RecoveryReport {
        let profile = handler.vaults.profile
        switch self {
        case .list: break
        case .check(var passphrase): try profile.check(passphrase: SecretBytes(moving: &passphrase))
        case .add(var key, var passphrase):
            guard key.count == RecoveryKey.secretByteCount else { throw .control(.malformed) }
            try profile.addRecoveryKey(
                RecoveryKey(SecretBytes(moving: &key)), passphrase: SecretBytes(moving: &passphrase))
        case .revoke(let id): try profile.revokeRecoveryKeys(id)
        case .noteBackup(let made): try profile.noteBackup(made: made)
        }
        return profile.recoveryReport
    }
}

/// A request for a backup of the profile, which counts after `RecoveryRequest.noteBackup`.
package struct BackupRequest: ControlRequest {
    /// A request has no parameters: the command writes the file.
    package init() {}

    package var changesVaults: Bool { false }
    package var message: RequestMessage { .backup(self) }

    package func perform(
        by handler: ControlHandler, for client: RequestClient
    ) throws(ClientError) -> BackupAnswer {
        BackupAnswer(try handler.vaults.profile.makeBackup())
    }
}
