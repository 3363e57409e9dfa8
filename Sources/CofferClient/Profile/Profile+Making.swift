package import CofferCrypto
internal import CofferFormat
internal import CofferTrust
internal import CofferSystem
internal import CofferVault

// Making a profile.
extension Profile {
    /// Creates a profile with a first vault.
    ///
    /// The profile file is written last; until then, the profile does not exist.
    ///
    /// - Throws: `.profileExists`, `.emptyPassphrase`, `.hintTellsPassphrase`, `.invalidName`,
    ///   `.invalidVaultName`, `.notPrivate`, `.locked`.
    package static func create(
        at location: ProfileLocation, passphrase: borrowing SecretBytes, _ settings: Settings
    ) throws(ClientError) {
        try settings.check()
        let body = ProfileBody(
            identity: IdentityKeys(name: settings.name), device: DeviceKeys(label: settings.device))
        let profile = try make(at: location, passphrase, settings, body)
        _ = try profile.createVault(named: settings.firstVault, owner: .current)
    }

    /// Checks what a new profile needs, and makes its directory.
    ///
    /// - Throws: Like `create`.
    static func prepare(
        _ location: ProfileLocation, _ passphrase: borrowing SecretBytes, _ settings: Settings
    ) throws(ClientError) {
        if location.exists { throw .profile(.profileExists(path: location.path)) }
        try NewPassphrase.check(passphrase, hint: settings.hint)
        try makeDirectories(location)
    }

    /// Makes the directory of a new profile, and takes its lock.
    ///
    /// - Throws: `.profileExists`, `.notPrivate`, `.locked`.
    static func prepare(_ location: ProfileLocation) throws(ClientError) -> FileLock {
        try makeDirectories(location)
        guard let lock = try systemCalls({ () throws(SystemError) in try FileLock.take(location.lock) })
        else {
            throw .profile(.locked(location.lockNote))
        }
        // Another process may have created one before this one took the lock.
        if location.exists { throw .profile(.profileExists(path: location.path)) }
        try systemCalls { () throws(SystemError) in
            try POSIXStorageDirectory(path: Directory.parent(of: location.path), followsLink: true).sync()
        }
        return lock
    }

    private static func makeDirectories(_ location: ProfileLocation) throws(ClientError) {
        try systemCalls { () throws(SystemError) in try Directory.makeAll(location.path) }
        try makePrivate(location.path)
        _ = try systemCalls { () throws(SystemError) in try Directory.make(location.vaults) }
    }

    /// Makes a profile that its first change stores.
    ///
    /// - Throws: Like `create`.
    static func make(
        at location: ProfileLocation, _ passphrase: borrowing SecretBytes, _ settings: Settings,
        _ body: ProfileBody
    ) throws(ClientError) -> Profile {
        try prepare(location, passphrase, settings)
        let lock = try prepare(location)
        let id = ProfileID(low: Random.number(), high: Random.number())
        let key = SymmetricKey<ProfileRole>.random()
        let method = try PassphraseUnlock.makeRecord(
            profile: id, key: key, passphrase: passphrase, strength: settings.strength, hint: settings.hint)
        let record = ProfileRecord(
            id: id, created: Clock.realTime, methods: UnlockMethods(passphrases: [method]), sealedBody: [])
        return Profile(location, lock, key, State(record: record, body: body))
    }

    /// Makes an empty directory accessible to its owner only.
    ///
    /// - Throws: `.notPrivate` for one that is not empty: the user must decide.
    private static func makePrivate(_ path: String) throws(ClientError) {
        if RuntimeDirectory.isPrivate(path) { return }
        guard try systemCalls({ () throws(SystemError) in try Directory.names(in: path) }).isEmpty else {
            throw .profile(.notPrivate(path: path))
        }
        try systemCalls { () throws(SystemError) in try Directory.makePrivate(path) }
    }
}
