internal import CofferCrypto
internal import CofferFUSE
internal import CofferFormat
internal import CofferRemote
internal import CofferSync
internal import CofferSystem
internal import CofferTrust
internal import CofferVault
internal import Synchronization

/// The open vaults of a profile that have a remote.
final class SharedVaults: Sendable {
    private struct State {
        var shared: [UInt16: SharedVault] = [:]
        var isRunning = false
        var isEnding = false
        /// Vaults whose remote a command is changing now.
        var busy: Set<VaultID> = []
        /// Why joins ended.
        var endedJoins: [VaultID: JoinError] = [:]
        /// What was missing at the remotes of vaults to join, when last polled.
        var joinDelays: [VaultID: JoinError] = [:]
    }

    let vaults: OpenVaults
    /// Called with the name of each vault that is added to the mount's root.
    let rootChanged: @Sendable (String) -> Void
    /// Runs something while no program looks at the past of the vault in a slot.
    let withoutPast: WithoutPast
    private let limits: TransferLimits?
    private let state = Mutex(State())
    private let joiningTask = Mutex<Task<Void, Never>?>(nil)

    var profile: Profile { vaults.profile }
    var problems: ProblemLog { vaults.problems }

    /// - Parameters:
    ///   - limits: What all remotes together may send and receive; nil for no limit.
    ///   - withoutPast: Runs something while no program looks at the past of the vault in a slot.
    init(
        _ vaults: OpenVaults, limits: TransferLimits? = nil,
        withoutPast: @escaping WithoutPast = { _, body throws(ClientError) in try body() },
        rootChanged: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.vaults = vaults
        self.limits = limits
        self.rootChanged = rootChanged
        self.withoutPast = withoutPast
        for mounted in vaults.vaults {
            guard let share = profile.share(of: mounted.vault.id), share.hasRemote else { continue }
            do throws(ClientError) {
                _ = try open(mounted, share)
            } catch {
                vaults.problems.add("The vault “\(mounted.name)” cannot be synced: \(error)")
            }
        }
        vaults.setDeletionListener { [weak self] slot in self?.forget(slot) }
    }

    private func make(_ mounted: MountedVault, _ share: VaultShare) throws(ClientError) -> SharedVault {
        try SharedVault(
            mounted, share, in: profile, problems: vaults.problems, limits: limits, withoutPast: withoutPast)
    }

    func open(_ mounted: MountedVault, _ share: VaultShare) throws(ClientError) -> SharedVault {
        let shared = try make(mounted, share)
        shared.replica.setAsidePlace { [weak self, weak shared] () throws(FileSystemError) in
            guard let self, let shared else { throw .notPermitted }
            return try self.asidePlace(of: shared)
        }
        let isRunning = state.withLock { state in
            state.shared[mounted.slot] = shared
            return state.isRunning
        }
        if isRunning { shared.start() }
        // If `stop` ran meanwhile, it did not see this vault.
        if isEnding { shared.stop() }
        return shared
    }

    /// Starts to sync all vaults in the background, and to poll for pending joins.
    func start() {
        let all = state.withLock { state in
            state.isRunning = true
            return state.shared
        }
        for shared in all.values { shared.start() }
        beginJoining()
    }

    /// Starts to poll for pending joins, if there are any and polling has not started.
    ///
    /// Without pending joins there is no task and no timer.
    func beginJoining() {
        guard !profile.joins.isEmpty, state.withLock({ $0.isRunning && !$0.isEnding }) else { return }
        joiningTask.withLock { task in
            if task == nil { task = Task { [self] in await keepJoining() } }
        }
    }

    /// Cancels the background work, and waits for it, up to 10 s.
    func stop() {
        joiningTask.withLock { task in
            task?.cancel()
            task = nil
        }
        let all = state.withLock { state in
            state.isRunning = false
            state.isEnding = true
            return state.shared
        }
        SharedVault.wait(for: all.values.flatMap { $0.end() })
    }

    /// Ends a join; a command that waits for it fails with the reason.
    func endJoin(of vault: VaultID, _ reason: JoinError) throws(ClientError) {
        state.withLock { $0.endedJoins[vault] = reason }
        try profile.removeJoin(vault)
    }

    /// Why a join ended; nil if it did not.
    func endOfJoin(of vault: VaultID) -> JoinError? { state.withLock { $0.endedJoins[vault] } }

    /// What is missing at the remote of a vault to join; nil if the join waits only for an answer.
    func joinDelay(of vault: VaultID) -> JoinError? { state.withLock { $0.joinDelays[vault] } }

    /// Sets what is missing at the remote of a vault to join; nil for nothing.
    func setJoinDelay(of vault: VaultID, _ delay: JoinError?) {
        state.withLock { $0.joinDelays[vault] = delay }
    }

    /// Whether the mount is ending, so that nothing new may begin.
    var isEnding: Bool { state.withLock { $0.isEnding } }

    /// All shared vaults, ordered by slot.
    var all: [SharedVault] {
        state.withLock { $0.shared.values.sorted { $0.mounted.slot < $1.mounted.slot } }
    }

    /// The shared vault in a slot.
    subscript(slot: UInt16) -> SharedVault? { state.withLock { $0.shared[slot] } }

    /// Returns the shared vault of a name.
    ///
    /// - Throws: `.noSuchVault`, `.noRemote`.
    func named(_ name: String) throws(ClientError) -> SharedVault {
        let mounted = try vaults.named(name)
        guard let shared = self[mounted.slot] else { throw .remoteSetting(.noRemote(vault: name)) }
        return shared
    }

    // MARK: Changing

    /// Publishes a vault at a remote, or resumes an interrupted publication.
    ///
    /// A vault that had a remote before continues there with the same log, even if the URL has changed.
    ///
    /// - Throws: `.hasRemote`, `.otherRemote`, `.incompleteRemote`, `.vaultBusy`.
    func publish(_ name: String, at url: String) throws(ClientError) {
        let mounted = try vaults.named(name)
        let id = mounted.vault.id
        try alone(id, name) { () throws(ClientError) in
            if let shared = self[mounted.slot] {
                throw .remoteSetting(.hasRemote(vault: name, url: shared.share.url))
            }
            let url = try SharedVault.newURL(url).text
            let log = LogID(low: Random.number(), high: Random.number())
            var share = profile.share(of: id) ?? VaultShare(vault: id, url: url, log: log)
            share.url = url
            let shared = try make(mounted, share)
            // Checked before the vault starts to track changes for the remote.
            try shared.reach()
            if try shared.checkKnownLinks() { try shared.checkKnownCommits() }
            do throws(FileSystemError) { try mounted.vault.outgoing.beginTracking() } catch {
                throw .vault(error)
            }
            let key = shared.firstKey
            try shared.asking { engine async throws(SyncError) in try await engine.share(key) }
            try shared.checkFirstLink()
            try shared.publishHistory()
            try profile.setShare(share)
            mounted.vault.cache.setCacheLimit(profile.use(of: id).cacheLimit)
            _ = try open(mounted, share)
            AwaitedTask { await shared.applyRole() }.wait()
        }
    }

    /// Moves the sync of a vault to another place, which must have a copy of the current remote.
    ///
    /// If the place fails a check, the vault keeps its current remote.
    func move(_ name: String, to url: String) throws(ClientError) {
        let old = try named(name)
        let mounted = old.mounted
        try alone(old.share.vault, name) { () throws(ClientError) in
            var share = old.share
            share.url = try SharedVault.newURL(url).text
            if share.url == old.share.url { return }
            // Stop sync before the checks: afterwards nothing may be put at the old place, and reads use one
            // place.
            forget(mounted.slot)
            // Invites or the log may have changed since the sync began.
            let present = profile.share(of: share.vault) ?? old.share
            do throws(ClientError) {
                let new = try make(mounted, share)
                try new.reach()
                if try new.checkKnownLinks() { try new.checkKnownCommits() }
                // A round may have run until here.
                if let kept = profile.share(of: share.vault) {
                    (share.log, share.invites) = (kept.log, kept.invites)
                }
                try profile.setShare(share)
            } catch {
                // Reads go to the old place again, too.
                _ = try? open(mounted, present)
                throw error
            }
            _ = try open(mounted, share)
        }
    }

    /// Stops syncing a vault, which stays on this device with the content that is here.
    ///
    /// - Parameters:
    ///   - contents: Whether to fetch, give up, or refuse content that is only at the remote.
    ///   - progress: Called with the number of bytes that are fetched, and of all.
    /// - Throws: `.remoteOnly` if content would be lost that is not to be given up.
    func giveUp(
        _ name: String, _ contents: RemoteOnly, _ progress: (Progress) -> Void
    ) throws(ClientError) {
        let shared = try named(name)
        let (mounted, share) = (shared.mounted, shared.share)
        try alone(share.vault, name) { () throws(ClientError) in
            // No more content may be evicted: it could not be fetched again.
            mounted.vault.cache.setCacheLimit(nil)
            do throws(ClientError) {
                try keepContents(of: mounted, contents, progress)
                forget(mounted.slot)
                // Content may have been added until sync ended.
                if contents != .lose { try keepContents(of: mounted, .refuse, progress) }
                try profile.giveUpShare(of: share.vault)
            } catch {
                if self[mounted.slot] == nil {
                    _ = try? open(mounted, profile.share(of: share.vault) ?? share)
                }
                mounted.vault.cache.setCacheLimit(profile.use(of: share.vault).cacheLimit)
                throw error
            }
            mounted.vault.setForReading(false)
        }
    }

    /// Fetches or checks content, so that none is only at the remote; does nothing if it may be lost.
    ///
    /// - Throws: `.remoteOnly`.
    private func keepContents(
        of mounted: MountedVault, _ contents: RemoteOnly, _ progress: (Progress) -> Void
    ) throws(ClientError) {
        if contents == .lose { return }
        let missing: (items: Int, bytes: Int64)
        do throws(FileSystemError) {
            if contents == .fetch {
                try mounted.vault.cache.fetchMissing {
                    progress(Progress(done: $0, total: $1, isBytes: true))
                }
            }
            missing = try mounted.vault.cache.missingContent()
        } catch {
            throw .vault(error)
        }
        guard missing.bytes == 0 else {
            throw .remoteSetting(.remoteOnly(vault: mounted.name, items: missing.items, bytes: missing.bytes))
        }
    }

    /// Limits how many bytes of content stay here that are also at the remote; nil for no limit.
    func setCacheLimit(of name: String, _ limit: Int64?) throws(ClientError) {
        guard let record = profile.vaults.first(where: { $0.name.hasSameBytes(as: name) }) else {
            throw .vaultName(.noSuchVault(name: name))
        }
        try alone(record.id, name) { () throws(ClientError) in
            try profile.changeUse(of: record.id) { $0.cacheLimit = limit.map { max($0, 0) } }
            self[record.slot]?.mounted.vault.cache.setCacheLimit(limit)
        }
    }

    /// Deletes a vault on this device; the membership stays.
    func delete(_ name: String) throws(ClientError) {
        guard let shared = try? named(name) else { return try vaults.delete(name) }
        try alone(shared.share.vault, name) { () throws(ClientError) in try vaults.delete(name) }
    }

    /// Stops the sync of a vault, so that it can be closed.
    ///
    /// - Returns: Whether nothing of it is running any more.
    @discardableResult
    func forget(_ slot: UInt16) -> Bool {
        state.withLock { $0.shared.removeValue(forKey: slot) }?.stop() ?? true
    }

    /// Runs a change of a vault's remote, one at a time for each vault.
    ///
    /// A second caller fails instead of waiting, because a remote may never answer.
    ///
    /// - Throws: `.vaultBusy`.
    func alone<Result>(
        _ vault: VaultID, _ name: String, _ body: () throws(ClientError) -> Result
    ) throws(ClientError) -> Result {
        guard state.withLock({ $0.busy.insert(vault).inserted }) else {
            throw .remoteSetting(.vaultBusy(name: name))
        }
        defer { state.withLock { _ = $0.busy.remove(vault) } }
        return try body()
    }
}
