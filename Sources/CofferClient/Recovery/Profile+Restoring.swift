package import CofferCrypto
internal import CofferFUSE
internal import CofferFormat
internal import CofferSystem
internal import CofferTrust
internal import CofferVault

/// What was made from a profile backup; `--json` prints all of it.
package struct RestoreReport: Codable, Sendable {
    /// The path of the new profile's directory.
    package let profile: String
    /// The person's name.
    package let name: String
    /// This machine's name.
    package let device: String
    /// When the backup was made, in seconds since 1970.
    package let made: Int64
    /// The vaults that come back from their remotes.
    package let vaults: [RestoredVault]
    /// The names of vaults that had no remote, and are not in the new profile.
    package let lost: [String]
    /// Whether the recovery key that opened the backup opens the new profile, too.
    package let keepsRecoveryKey: Bool
    /// The number of other recovery keys, which do not open the new profile.
    package let droppedKeys: Int
}

/// A vault whose remote is in a backup.
package struct RestoredVault: Codable, Sendable {
    /// The name.
    package let vault: String
    /// The URL of the remote.
    package let remote: String
}

// Making a profile from a backup.
extension Profile {
    /// The settings of a restored profile.
    package struct RestoreSettings: Sendable {
        /// This machine's name; changed if the device that made the backup has the same.
        package var device: String
        /// A hint that is shown after wrong passphrases.
        package var hint: String?
        /// The cost of an attempt at the passphrase.
        package var strength: PasswordHash

        package init(device: String, hint: String?, strength: PasswordHash) {
            self.device = device
            self.hint = hint
            self.strength = strength
        }
    }

    /// Makes a profile from a backup: the same person, with a new device.
    ///
    /// The device has keys, logs and stores of its own, so that it never continues what another device wrote.
    /// The stores are empty until the vaults are synced. The profile key is new: an old passphrase or an old
    /// copy of the profile does not open this one.
    ///
    /// - Throws: `.profileExists`, `.emptyPassphrase`, `.hintTellsPassphrase`, `.invalidName`, `.notPrivate`,
    ///   `.locked`.
    package static func restore(
        _ backup: OpenedBackup, at location: ProfileLocation, passphrase: borrowing SecretBytes,
        _ settings: RestoreSettings
    ) throws(ClientError) -> RestoreReport {
        if location.exists { throw .profile(.profileExists(path: location.path)) }
        try NewPassphrase.check(passphrase, hint: settings.hint)
        guard Settings.isName(settings.device) else { throw .profile(.invalidName(settings.device)) }
        let lock = try prepare(location)
        let id = backup.record.profile
        let key = SymmetricKey<ProfileRole>.random()
        let method = try PassphraseUnlock.makeRecord(
            profile: id, key: key, passphrase: passphrase, strength: settings.strength, hint: settings.hint)
        let methods = methods(method, from: backup, key)
        let record = ProfileRecord(id: id, created: Clock.realTime, methods: methods, sealedBody: [])
        let profile = Profile(location, lock, key, State(record: record, body: try body(backup, settings)))
        let report = RestoreReport(
            profile: location.path, name: profile.name, device: profile.device, made: backup.made,
            vaults: profile.shares.map { share in
                let vault = profile.vaults.first { $0.id == share.vault }
                return RestoredVault(vault: vault?.name ?? "", remote: share.url)
            },
            lost: backup.body.vaults.filter { !$0.hasRemote }.map(\.name),
            keepsRecoveryKey: !methods.recoveryKeys.isEmpty,
            droppedKeys: backup.record.methods.recoveryKeys.count - methods.recoveryKeys.count)
        try profile.makeStores { vault, path throws(ClientError) in
            try profile.makeStore(of: vault, at: path, .current)
        }
        return report
    }

    /// Keeps the recovery key that was used, and revokes the others, whose words are needed to keep them.
    private static func methods(
        _ passphrase: PassphraseRecord, from backup: OpenedBackup, _ key: borrowing SymmetricKey<ProfileRole>
    ) -> UnlockMethods {
        let id = backup.record.profile
        var methods = backup.record.methods
        let used = backup.recovery.map { recovery in (recovery, recovery.id(in: id)) }
        let record = methods.recoveryKeys.first { $0.key == used?.1 }
        let others = methods.recoveryKeys.map(\.key).filter { $0 != used?.1 }
        methods.revoke(others, at: Clock.realTime, keeping: revokedCountMax)
        methods.passphrases = [passphrase]
        methods.recoveryKeys = []
        if let recovery = used?.0, let record {
            methods.recoveryKeys = [
                RecoveryUnlock.makeRecord(
                    profile: id, key: key, recovery: recovery, created: record.created)
            ]
        }
        return methods
    }

    private static func body(
        _ opened: OpenedBackup, _ settings: RestoreSettings
    ) throws(ClientError) -> ProfileBody {
        let backup = opened.body
        let device = settings.device.hasSameBytes(as: backup.label) ? "\(backup.label) 2" : settings.device
        var body = ProfileBody(
            identity: backup.identity,
            device: DeviceKeys(label: TrustLimits.isName(device) ? device : settings.device))
        // Others wrap keys for the newest transient key, and this device may lack one that was made since the
        // backup.
        do throws(TrustError) {
            body.publicIdentity = try backup.publicIdentity?.rolledForNewDevice(
                by: backup.identity, at: Clock.realTime)
        } catch {
            throw .trust(error)
        }
        body.joins = backup.joins
        body.verified = backup.verified
        body.verifiedNames = backup.verifiedNames
        for vault in backup.vaults where vault.hasRemote && body.nextSlot < ProfileBody.slotEnd {
            body.vaults.append(
                VaultRecord(id: vault.id, slot: body.nextSlot, name: vault.name, keys: vault.keys)
                    .with(vault.keys, lost: vault.lost))
            body.nextSlot += 1
            let log = LogID(low: Random.number(), high: Random.number())
            body.shares.append(VaultShare(vault: vault.id, url: vault.url, log: log))
        }
        body.backup = BackupNote(of: backup, made: opened.record.made)
        body.uses = backup.uses.filter { use in body.vaults.contains { $0.id == use.vault } }
        return body
    }

    /// Makes the stores of all vaults, empty, and then the profile file, without which there is no profile.
    ///
    /// Nothing that was there before is removed: what lies in the place of a store is renamed.
    ///
    /// - Parameter make: Makes one store at a path where nothing is.
    func makeStores(_ make: (VaultRecord, String) throws(ClientError) -> Void) throws(ClientError) {
        var made: [String] = []
        do throws(ClientError) {
            for vault in vaults {
                let path = directory(of: vault)
                // An earlier attempt may have been interrupted.
                if Directory.exists(path) { try putAside(path) }
                // From here on, whatever is at the path was made by `make`.
                made.append(path)
                try make(vault, path)
            }
            try beginTracking()
            try change { _ throws(ClientError) in }
        } catch {
            for path in made { try? Directory.removeAll(path) }
            throw error
        }
    }

    private func beginTracking() throws(ClientError) {
        let open = OpenVaults(self, problems: ProblemLog(), isReadOnly: false)
        defer { open.close() }
        for mounted in open.vaults {
            // As long as a vault is empty, it has nothing to send about its root.
            do throws(FileSystemError) { try mounted.vault.outgoing.beginTracking() } catch {
                throw .vault(error)
            }
        }
    }
}
