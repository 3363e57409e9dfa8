package import CofferCrypto
internal import CofferFormat
internal import CofferTrust
package import CofferSystem
internal import CofferVault
internal import Glibc
internal import Synchronization

/// An unlocked profile: the keys of a person, of this device, and of the vaults.
///
/// An instance holds the profile's lock. A change is on disk before readers see it.
package final class Profile: Sendable {
    /// Its directory.
    package let location: ProfileLocation
    private let lock: FileLock
    let key: SymmetricKey<ProfileRole>
    let state: Mutex<State>
    /// Space for removals, and for changes of the profile, on a full disk.
    let reserve: ReserveFile
    /// Serializes the creation of vaults, which choose a slot before their store exists; taken before
    /// `state`.
    private let creating = Mutex(())
    /// Serializes attempts at the passphrase, so that parallel attempts save no wait; taken before `state`.
    private let trying = Mutex(())

    struct State {
        var record: ProfileRecord
        var body: ProfileBody
        /// What the backup holds that was made last, and of which it is not known whether it is in a file.
        var unwrittenBackup: BackupNote?
    }

    /// The settings of a new profile.
    package struct Settings: Sendable {
        /// The person's name, as others will see it.
        package var name: String
        /// This machine's name.
        package var device: String
        /// A hint that is shown after wrong passphrases; obscured on disk, but not protected.
        package var hint: String?
        /// The cost of an attempt at the passphrase.
        package var strength: PasswordHash
        /// The name of the first vault.
        package var firstVault: String

        package init(name: String, device: String, hint: String?, strength: PasswordHash, firstVault: String)
        {
            self.name = name
            self.device = device
            self.hint = hint
            self.strength = strength
            self.firstVault = firstVault
        }

        /// Checks the names.
        ///
        /// - Throws: `.invalidName`, `.invalidVaultName`.
        package func check() throws(ClientError) {
            // Other members see both once a vault is shared.
            for name in [name, device] where !Self.isName(name) { throw .profile(.invalidName(name)) }
            try Profile.validate(vaultName: firstVault)
        }

        /// Whether a name can be shown to others, and does not consist of blanks only.
        static func isName(_ name: String) -> Bool {
            TrustLimits.isName(name) && !name.allSatisfy(\.isWhitespace)
        }
    }

    init(
        _ location: ProfileLocation, _ lock: consuming FileLock, _ key: consuming SymmetricKey<ProfileRole>,
        _ state: sending State
    ) {
        self.location = location
        reserve = ReserveFile(in: location.path)
        self.lock = lock
        self.key = key
        self.state = Mutex(state)
    }

    // MARK: Opening

    /// Unlocks a profile by its passphrase.
    ///
    /// Runs Argon2id, which takes a noticeable time and much memory.
    ///
    /// - Throws: `.wrongPassphrase`, with the hint from the third time on; `.tooManyAttempts`.
    package static func unlock(
        _ location: ProfileLocation, _ lock: consuming FileLock, passphrase: borrowing SecretBytes
    ) throws(ClientError) -> Profile {
        let record = try readRecord(location)
        let key = try open(record, location, passphrase)
        return try Profile(location, lock, record, key)
    }

    /// Opens a profile by its key.
    package static func open(
        _ location: ProfileLocation, _ lock: consuming FileLock, key: consuming SecretBytes
    ) throws(ClientError) -> Profile {
        let record = try readRecord(location)
        return try Profile(location, lock, record, SymmetricKey(key))
    }

    convenience init(
        _ location: ProfileLocation, _ lock: consuming FileLock, _ record: ProfileRecord,
        _ key: consuming SymmetricKey<ProfileRole>
    ) throws(ClientError) {
        let body = try Self.openBody(record, key, location)
        self.init(location, lock, key, State(record: record, body: body))
        try setLockNote(LockNote(process: getpid(), mountPoint: "", socket: ""))
    }

    /// Checks that this program can read a profile, before it asks for the passphrase.
    package static func check(_ location: ProfileLocation) throws(ClientError) {
        _ = try readRecord(location)
    }

    /// Checks that the wait after wrong passphrases is over, before anybody is asked for one.
    ///
    /// - Throws: `.tooManyAttempts`.
    package static func checkDelay(_ location: ProfileLocation) throws(ClientError) {
        try AttemptLimiter(path: location.attempts).check()
    }

    /// The id of a profile, which is not encrypted in its file.
    static func id(at location: ProfileLocation) throws(ClientError) -> String {
        try readRecord(location).id.description
    }

    static func readRecord(_ location: ProfileLocation) throws(ClientError) -> ProfileRecord {
        guard location.exists else { throw .profile(.noProfile(path: location.path)) }
        let bytes = try systemCalls { () throws(SystemError) in
            try WholeFile.read(location.profile, limit: ProfileRecord.byteCountMax)
        }
        do throws(FormatError) {
            return try ProfileFile.record(from: bytes)
        } catch {
            if case .newerVersion(let found, let supported) = error {
                throw .profile(.newerProfile(path: location.profile, found: found, supported: supported))
            }
            throw .profile(.damagedProfile(path: location.profile))
        }
    }

    /// Tries a passphrase, and counts the attempt.
    static func open(
        _ record: ProfileRecord, _ location: ProfileLocation, _ passphrase: borrowing SecretBytes
    ) throws(ClientError) -> SymmetricKey<ProfileRole> {
        guard passphrase.count > 0 else { throw .profile(.emptyPassphrase) }
        let limiter = AttemptLimiter(path: location.attempts)
        try limiter.begin()
        for method in record.methods.passphrases {
            do throws(ClientError) {
                let key = try PassphraseUnlock.open(
                    method, profile: record.id, passphrase: passphrase, path: location.profile)
                try limiter.succeed()
                return key
            } catch {
                guard case .profile(.wrongPassphrase) = error else { throw error }
            }
        }
        let hint = record.methods.passphrases.first.flatMap { PassphraseUnlock.hint($0, profile: record.id) }
        throw .profile(.wrongPassphrase(hint: limiter.count >= 3 ? hint : nil))
    }

    static func openBody(
        _ record: ProfileRecord, _ key: borrowing SymmetricKey<ProfileRole>, _ location: ProfileLocation
    ) throws(ClientError) -> ProfileBody {
        let associated = record.associatedData
        do throws(CryptoError) {
            let bytes = try unsafe RecordCipher.openSecret(
                record.sealedBody.span.bytes,
                key: key.derive(ProfileBodyRole.self, context: record.id.bytes.span.bytes),
                associated: associated.span.bytes)
            do throws(FormatError) {
                return try bytes.withBytes { bytes throws(FormatError) in try ProfileBody(bytes) }
            } catch {
                throw CryptoError.authenticationFailed
            }
        } catch {
            throw .profile(.damagedProfile(path: location.profile))
        }
    }

    // MARK: Reading

    /// The profile's id.
    package var id: String { state.withLock { $0.record.id.description } }

    /// The person's name.
    package var name: String { state.withLock { $0.body.identity.name } }

    /// This machine's name.
    package var device: String { state.withLock { $0.body.device.label } }

    var vaults: [VaultRecord] { state.withLock { $0.body.vaults } }

    /// Copies the profile key, for a process that takes over.
    package func copyKey() -> SecretBytes {
        key.bytes.withBytes { SecretBytes(copying: $0) }
    }

    /// The lock's descriptor, for a process that takes over.
    package var lockDescriptor: Int32 { lock.number }

    /// Returns what distinguishes this profile from all others on this machine, including its copies.
    func place() throws(ClientError) -> ProfilePlace {
        let file = try systemCalls { () throws(SystemError) in try lock.identity() }
        return ProfilePlace(id: id, lock: file, directory: try ProfilePlace.directory(of: location))
    }

    /// Whether its directory was moved or removed since the profile was opened.
    var isMoved: Bool {
        guard !lock.isReadOnly, let own = try? lock.identity() else { return false }
        return (try? FileIdentity(of: location.lock)) != own
    }

    /// Writes the note that processes read when they find the profile locked.
    package func setLockNote(_ note: LockNote) throws(ClientError) {
        try systemCalls { () throws(SystemError) in try lock.setNote(note.text) }
    }

    // MARK: Changing

    /// Changes the profile and stores it; nothing changes if `edit` or storing fails.
    ///
    /// Holds the lock of the state while it writes to disk.
    func change(_ edit: (inout State) throws(ClientError) -> Void) throws(ClientError) {
        try state.withLock { state throws(ClientError) in
            var changed = state
            try edit(&changed)
            try store(&changed)
            state = changed
        }
    }

    private func store(_ state: inout State) throws(ClientError) {
        var bytes = state.body.encoded()
        let associated = state.record.associatedData
        let bodyKey = unsafe key.derive(ProfileBodyRole.self, context: state.record.id.bytes.span.bytes)
        state.record.sealedBody = unsafe RecordCipher.seal(
            bytes.span.bytes, key: bodyKey, associated: associated.span.bytes)
        SecretBytes.wipe(&bytes)
        let file = ProfileFile.bytes(of: state.record)
        do throws(SystemError) {
            do throws(SystemError) {
                try WholeFile.replace(location.profile, with: file)
            } catch {
                guard error.isNoSpace, reserve.release() else { throw error }
                try WholeFile.replace(location.profile, with: file)
            }
        } catch {
            // If only the last step failed, the new file is in place, and the change has happened.
            let present = try? WholeFile.read(location.profile, limit: ProfileRecord.byteCountMax)
            guard present == file else { throw .system(error) }
        }
    }

    /// Tries the passphrase, and counts the attempt.
    func check(passphrase: borrowing SecretBytes) throws(ClientError) {
        let record = state.withLock { $0.record }
        try trying.withLock { _ throws(ClientError) in _ = try Self.open(record, location, passphrase) }
    }

    /// Replaces the passphrase after checking the current one.
    package func changePassphrase(
        from old: borrowing SecretBytes, to new: borrowing SecretBytes, hint: String?, strength: PasswordHash
    ) throws(ClientError) {
        try NewPassphrase.check(new, hint: hint)
        try check(passphrase: old)
        try setPassphrase(new, hint: hint, strength: strength)
    }

    /// Replaces the passphrase without the current one.
    func setPassphrase(
        _ new: borrowing SecretBytes, hint: String?, strength: PasswordHash
    ) throws(ClientError) {
        try NewPassphrase.check(new, hint: hint)
        let method = try PassphraseUnlock.makeRecord(
            profile: state.withLock { $0.record.id }, key: key, passphrase: new, strength: strength,
            hint: hint)
        try change { state throws(ClientError) in state.record.methods.passphrases = [method] }
    }

    /// Creates a vault: first its store, then its record.
    ///
    /// - Parameter joined: What a vault begins with that others have; nil for a new vault.
    func createVault(
        named name: String, joined: JoinedStore? = nil, owner: Caller
    ) throws(ClientError) -> VaultRecord {
        try Self.validate(vaultName: name)
        return try creating.withLock { _ throws(ClientError) in try createVaultAlone(name, joined, owner) }
    }

    private func createVaultAlone(
        _ name: String, _ joined: JoinedStore?, _ owner: Caller
    ) throws(ClientError) -> VaultRecord {
        let slot = try state.withLock { state throws(ClientError) in
            guard !state.body.vaults.contains(where: { $0.name.hasSameBytes(as: name) }) else {
                throw .vaultName(.vaultExists(name: name))
            }
            if let known = state.body.vaults.first(where: { $0.id == joined?.share.vault }) {
                throw .joining(.hasVault(name: known.name))
            }
            guard state.body.nextSlot < ProfileBody.slotEnd else {
                throw .profile(.noMoreVaults)
            }
            return state.body.nextSlot
        }
        let id = joined?.share.vault ?? VaultID(low: Random.number(), high: Random.number())
        let keys = joined?.keys ?? [EpochKey(vault: id, epoch: .first, key: .random())]
        let vault = VaultRecord(id: id, slot: slot, name: name, keys: keys, lost: joined?.lost ?? [])
        let path = directory(of: vault)
        // A joined vault may have been here before, or a crash may have interrupted an earlier join.
        if joined != nil, Directory.exists(path) { try putAside(path) }
        do throws(ClientError) {
            try makeStore(of: vault, at: path, owner) { directory throws(ClientError) in
                try joined?.fill(directory, of: vault)
            }
            try change { state throws(ClientError) in
                guard !state.body.vaults.contains(where: { $0.name.hasSameBytes(as: name) }) else {
                    throw .vaultName(.vaultExists(name: name))
                }
                state.body.vaults.append(vault)
                state.body.nextSlot = slot + 1
                guard let share = joined?.share else { return }
                state.body.shares.append(share)
                state.body.joins.removeAll { $0.invite.vault == share.vault }
            }
        } catch {
            // The new store is still empty.
            try? Directory.removeAll(path)
            throw error
        }
        return vault
    }

    /// Adds a vault whose store is whole, and gives it a slot.
    func adding(_ vault: VaultRecord) throws(ClientError) -> VaultRecord {
        try creating.withLock { _ throws(ClientError) in
            var record = vault
            try change { state throws(ClientError) in
                guard !state.body.vaults.contains(where: { $0.name.hasSameBytes(as: vault.name) }) else {
                    throw .vaultName(.vaultExists(name: vault.name))
                }
                guard state.body.nextSlot < ProfileBody.slotEnd else { throw .profile(.noMoreVaults) }
                record = vault.placed(in: state.body.nextSlot)
                state.body.vaults.append(record)
                state.body.nextSlot += 1
            }
            return record
        }
    }

    /// Renames a directory that stands where a store will be; the user may delete it later.
    func putAside(_ path: String) throws(ClientError) {
        let other = "\(location.vaults)/\(VaultID(low: Random.number(), high: Random.number()))"
        try systemCalls { () throws(SystemError) in
            guard unsafe rename(path, other) == 0 else { throw SystemError("rename", code: errno, on: path) }
        }
    }

    /// Makes the empty store of a vault.
    ///
    /// - Parameter fill: Called with the directory of the store, before its name is durable.
    func makeStore(
        of vault: VaultRecord, at path: String, _ owner: Caller,
        fill: (POSIXStorageDirectory) throws(ClientError) -> Void = { _ throws(ClientError) in }
    ) throws(ClientError) {
        let directory = try systemCalls { () throws(SystemError) in
            try Directory.make(path)
            return try POSIXStorageDirectory(path: path)
        }
        do throws(FileSystemError) {
            try Vault.create(in: directory, id: vault.id, store: vault.store, owner: owner)
        } catch {
            throw .vault(error)
        }
        try fill(directory)
        try systemCalls { () throws(SystemError) in
            try POSIXStorageDirectory(path: location.vaults, followsLink: true).sync()
        }
    }

    func renameVault(_ name: String, to newName: String) throws(ClientError) {
        if !name.hasSameBytes(as: newName) { try Self.validate(vaultName: newName) }
        try change { state throws(ClientError) in
            guard let index = state.body.vaults.firstIndex(where: { $0.name.hasSameBytes(as: name) }) else {
                throw .vaultName(.noSuchVault(name: name))
            }
            if name.hasSameBytes(as: newName) { return }
            guard !state.body.vaults.contains(where: { $0.name.hasSameBytes(as: newName) }) else {
                throw .vaultName(.vaultExists(name: newName))
            }
            state.body.vaults[index] = state.body.vaults[index].renamed(to: newName)
        }
    }

    /// Removes a vault and its keys from the profile, then deletes its store, which no key opens any more.
    func deleteVault(_ vault: VaultRecord) throws(ClientError) {
        try change { state throws(ClientError) in
            state.body.vaults.removeAll { $0.id == vault.id }
            state.body.shares.removeAll { $0.vault == vault.id }
            state.body.uses.removeAll { $0.vault == vault.id }
        }
        try systemCalls { () throws(SystemError) in try Directory.removeAll(directory(of: vault)) }
    }

    /// Directories of vaults that the profile does not list, such as a crash leaves while one is created or
    /// deleted.
    ///
    /// They are not deleted: a profile file restored from an old backup may not list vaults that the user
    /// needs.
    var strayDirectories: [String] {
        let known = Set(vaults.map(\.id.description))
        let names = (try? Directory.names(in: location.vaults)) ?? []
        return names.filter { !known.contains($0) && VaultID(hexadecimal: $0) != nil }
            .map { "\(location.vaults)/\($0)" }.sorted()
    }

    func directory(of vault: VaultRecord) -> String {
        "\(location.vaults)/\(vault.id)"
    }

    /// Checks the name of a new or renamed vault, also for `mkdir` in the root of a mount.
    ///
    /// Names with a leading dot are left to desktops (`.Trash-1000`). Vaults that have such a name already
    /// keep it.
    static func validate(vaultName name: String) throws(ClientError) {
        let bytes = Array(name.utf8)
        guard (1...Vault.nameByteCountMax).contains(bytes.count), !bytes.contains(UInt8(ascii: "/")),
            !bytes.contains(0), bytes.first != UInt8(ascii: ".")
        else { throw .vaultName(.invalidVaultName(name: name)) }
    }
}
