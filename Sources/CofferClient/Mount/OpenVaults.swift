internal import CofferFUSE
internal import CofferFormat
internal import CofferTrust
internal import CofferSystem
internal import CofferVault
internal import Synchronization

/// The open vaults of a profile, which are the root directory of a mount and the subject of commands.
final class OpenVaults: VaultDirectory {
    let profile: Profile
    let problems: ProblemLog
    let isReadOnly: Bool
    private let state: Mutex<State>
    /// Serializes changes of the list of vaults; taken before `state`.
    private let changing = Mutex(())

    private struct State {
        var open: [UInt16: MountedVault] = [:]
        var changed: Int64
        /// Returns the sink that tells the kernel about changes of the vault in a slot.
        var sink: (@Sendable (UInt16) -> any ChangeSink)?
        /// Called before a vault is deleted, so that background work on it stops.
        var deletes: (@Sendable (UInt16) -> Void)?
    }

    /// Opens all vaults; leaves out those that cannot be opened, and logs them in `problems`.
    ///
    /// - Parameter inUse: The items that programs have gone on using while the profile was locked.
    init(_ profile: Profile, problems: ProblemLog, isReadOnly: Bool, keeping inUse: ItemsInUse = .none) {
        self.profile = profile
        self.problems = problems
        self.isReadOnly = isReadOnly
        state = Mutex(State(changed: Clock.fileTime))
        if !isReadOnly {
            profile.reserve.restore()
            profile.removeAbandonedImports()
        }
        for path in profile.strayDirectories {
            problems.add("\(path) belongs to no vault of this profile. If no vault is missing, delete it.")
        }
        for record in profile.vaults {
            do throws(ClientError) {
                let vault = try open(record, keeping: inUse)
                state.withLock { $0.open[record.slot] = vault }
            } catch {
                DebugLog.log(.error, .mount, "vault \(id: record.id.high) cannot be opened: \(error)")
                problems.add("The vault “\(record.name)” cannot be opened: \(error)")
            }
        }
    }

    private func open(
        _ record: VaultRecord, keeping inUse: ItemsInUse = .none
    ) throws(ClientError) -> MountedVault {
        guard let keys = ContentKeys(vault: record.id, record.keys, lost: record.lost) else {
            throw .profile(.damagedProfile(path: profile.location.path))
        }
        let timer = LogTimer(.info)
        let path = profile.directory(of: record)
        let directory = try systemCalls { () throws(SystemError) in
            try POSIXStorageDirectory(path: path, isReadOnly: isReadOnly && profile.location.isOnReadOnlyDisk)
        }
        let vault: Vault
        do throws(FileSystemError) {
            vault = try Vault(
                in: directory, id: record.id, store: record.store, keys: keys,
                problems: ProblemLog(ofVault: record.name, in: problems),
                isReadOnly: isReadOnly)
        } catch {
            throw .vault(error)
        }
        vault.setReserve(profile.reserve)
        // The settings apply before the vault is visible, and before its members are read.
        if profile.share(of: record.id)?.hasRemote == true { profile.use(of: record.id).apply(to: vault) }
        vault.restore(inUse.outdated[record.slot] ?? [])
        do throws(FileSystemError) { try vault.start(keeping: inUse.items(in: record.slot)) } catch {
            throw .vault(error)
        }
        vault.setSink(state.withLock { $0.sink }?(record.slot))
        DebugLog.log(.info, .mount, "vault \(id: record.id.high) opened in slot \(record.slot), \(timer)")
        return MountedVault(slot: record.slot, name: record.name, vault: vault)
    }

    /// Sets the source of change sinks by slot, for the open vaults and for those that are opened later.
    func setSink(_ sink: @escaping @Sendable (UInt16) -> any ChangeSink) {
        let open = state.withLock { state in
            state.sink = sink
            return state.open
        }
        for (slot, mounted) in open { mounted.vault.setSink(sink(slot)) }
    }

    /// Sets the listener that is called with the slot of a vault before it is deleted.
    func setDeletionListener(_ listener: @escaping @Sendable (UInt16) -> Void) {
        state.withLock { $0.deletes = listener }
    }

    /// Writes all changes to disk.
    ///
    /// Ignores errors of a vault that has stopped, or whose index is damaged: a retry would not help, and the
    /// problem log has them.
    ///
    /// - Parameter usingReserve: Passed to `Vault.commit`; true at the end of a mount.
    /// - Throws: `.vault(.noSpace)`, after all other vaults are stored.
    func store(usingReserve: Bool = false) throws(ClientError) {
        if isReadOnly { return }
        var failure: FileSystemError?
        for mounted in vaults {
            do throws(FileSystemError) {
                try mounted.vault.commit(usingReserve: usingReserve)
            } catch {
                if case .noSpace = error { failure = error }
            }
        }
        if let failure { throw .vault(failure) }
    }

    /// Writes all changes to disk, before the profile is locked.
    ///
    /// A vault that had stopped has given up what it could not store, so nothing more is lost there.
    ///
    /// - Throws: Why a vault cannot be stored, whatever the reason.
    func storeAll() throws(FileSystemError) {
        if isReadOnly { return }
        for mounted in vaults where mounted.vault.stoppedReason == nil {
            try mounted.vault.commit(usingReserve: true)
        }
    }

    /// Stores everything and closes all vaults.
    ///
    /// - Parameter inUse: The items that programs go on using while the profile is locked.
    /// - Returns: Why a vault could not be stored, without names of files; nil if all were.
    @discardableResult
    func close(keeping inUse: ItemsInUse = .none) -> String? {
        var failure: String?
        let open = state.withLock { state in
            defer { state.open = [:] }
            return state.open
        }
        for (slot, mounted) in open {
            let timer = LogTimer(.info)
            do throws(FileSystemError) {
                try mounted.vault.close(keeping: inUse.items(in: slot))
                DebugLog.log(.info, .mount, "vault \(id: mounted.vault.id.high) stored and closed, \(timer)")
            } catch {
                DebugLog.log(
                    .error, .mount, "vault \(id: mounted.vault.id.high) not stored: \(kindOf: error)")
                failure = error.summary
                problems.add("The vault “\(mounted.name)” could not be stored: \(ClientError.vault(error))")
            }
        }
        return failure
    }

    // MARK: VaultDirectory

    var vaults: [MountedVault] {
        state.withLock { $0.open.values.sorted { $0.slot < $1.slot } }
    }

    func vault(slot: UInt16) -> MountedVault? {
        state.withLock { $0.open[slot] }
    }

    func vault(named name: [UInt8]) -> MountedVault? {
        vaults.first { Array($0.name.utf8) == name }
    }

    /// Returns the open vault of a name.
    ///
    /// - Throws: `.noSuchVault`, also for a vault that could not be opened.
    func named(_ name: String) throws(ClientError) -> MountedVault {
        guard let mounted = vault(named: Array(name.utf8)) else {
            throw .vaultName(.noSuchVault(name: name))
        }
        return mounted
    }

    var owner: (user: UInt32, group: UInt32) { (Caller.current.user, Caller.current.group) }

    var changed: Int64 { state.withLock { $0.changed } }

    func createVault(named name: [UInt8], by caller: Caller) throws(FileSystemError) -> MountedVault {
        if isReadOnly { throw .readOnly }
        guard let text = String(validating: name, as: UTF8.self) else { throw .invalidArgument }
        do throws(ClientError) {
            return try create(text, owner: caller)
        } catch {
            throw Self.fileSystemError(error)
        }
    }

    func renameVault(_ name: [UInt8], to newName: [UInt8]) throws(FileSystemError) {
        if isReadOnly { throw .readOnly }
        guard let old = String(validating: name, as: UTF8.self),
            let new = String(validating: newName, as: UTF8.self)
        else { throw .invalidArgument }
        do throws(ClientError) { try rename(old, to: new) } catch { throw Self.fileSystemError(error) }
    }

    func removeEmptyVault(named name: [UInt8]) throws(FileSystemError) {
        if isReadOnly { throw .readOnly }
        guard let mounted = vault(named: name) else { throw .notFound }
        let entries = try mounted.vault.readDirectory(Vault.rootNumber, after: 2, limit: 1, attributes: false)
        guard entries.isEmpty else { throw .directoryNotEmpty }
        do throws(ClientError) { try delete(mounted.name) } catch { throw Self.fileSystemError(error) }
    }

    /// Converts an error to one that a program can receive.
    static func fileSystemError(_ error: ClientError) -> FileSystemError {
        switch error {
        case .vaultName(.vaultExists): .alreadyExists
        case .vaultName(.noSuchVault): .notFound
        case .vaultName(.invalidVaultName): .invalidArgument
        case .vault(let error): error
        case .system(let error): FileSystemError(error)
        default: .notPermitted
        }
    }

    // MARK: Changing

    /// Creates and opens a vault.
    ///
    /// - Parameter joined: What a vault begins with that others have; nil for a new vault.
    func create(
        _ name: String, joined: JoinedStore? = nil, owner: Caller
    ) throws(ClientError) -> MountedVault {
        try changingAlone { () throws(ClientError) in
            let mounted = try open(try profile.createVault(named: name, joined: joined, owner: owner))
            changeList { $0.open[mounted.slot] = mounted }
            return mounted
        }
    }

    /// Adds a vault whose store an import has made, and opens it.
    func add(imported record: VaultRecord) throws(ClientError) -> MountedVault {
        try changingAlone { () throws(ClientError) in
            let mounted = try open(try profile.finishImport(of: record))
            changeList { $0.open[mounted.slot] = mounted }
            return mounted
        }
    }

    func rename(_ name: String, to newName: String) throws(ClientError) {
        try changingAlone { () throws(ClientError) in
            try profile.renameVault(name, to: newName)
            changeList { state in
                for (slot, mounted) in state.open where mounted.name.hasSameBytes(as: name) {
                    mounted.vault.problems.renameVault(newName)
                    state.open[slot] = MountedVault(slot: slot, name: newName, vault: mounted.vault)
                }
            }
        }
    }

    func delete(_ name: String) throws(ClientError) {
        try changingAlone { () throws(ClientError) in
            guard let record = profile.vaults.first(where: { $0.name.hasSameBytes(as: name) }) else {
                throw .vaultName(.noSuchVault(name: name))
            }
            let mounted = state.withLock { $0.open[record.slot] }
            changeList { $0.open[record.slot] = nil }
            state.withLock { $0.deletes }?(record.slot)
            // Changes that cannot be stored are deleted with the vault.
            try? mounted?.vault.close()
            do throws(ClientError) {
                try profile.deleteVault(record)
            } catch {
                // If the profile could not be changed, the vault is still in it, and is opened again.
                if profile.vaults.contains(where: { $0.slot == record.slot }), let again = try? open(record) {
                    changeList { $0.open[record.slot] = again }
                }
                throw error
            }
        }
    }

    /// Runs one change of the list at a time; throws on a read-only mount.
    private func changingAlone<Result>(_ body: () throws(ClientError) -> Result) throws(ClientError)
        -> Result
    {
        if isReadOnly { throw .vault(.readOnly) }
        return try changing.withLock { _ throws(ClientError) in try body() }
    }

    private func changeList(_ change: (inout State) -> Void) {
        state.withLock { state in
            change(&state)
            state.changed = Clock.fileTime
        }
    }
}
