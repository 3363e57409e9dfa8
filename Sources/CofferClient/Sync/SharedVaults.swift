internal import CofferCrypto
internal import CofferFUSE
internal import CofferFormat
internal import CofferRemote
internal import CofferSync
internal import CofferSystem
internal import CofferTrust
internal import CofferVault
internal import Synchronization

/// The vaults of a profile that have a remote, among those that are open.
final class SharedVaults: Sendable {
    private struct State {
        var shared: [UInt16: SharedVault] = [:]
        var isRunning = false
        var isEnding = false
        /// Vaults that are published, joined, given up or deleted at the moment.
        var busy: Set<VaultID> = []
        /// Why vaults are not to be joined any more.
        var endedJoins: [VaultID: JoinError] = [:]
        /// What has not arrived at the remote of vaults that are to be joined, when it was last looked.
        var joinDelays: [VaultID: JoinError] = [:]
    }

    let vaults: OpenVaults
    /// Told of vaults that came to the mount's root.
    let rootChanged: @Sendable (String) -> Void
    private let state = Condition(State())
    private let joiningTask = Mutex<Task<Void, Never>?>(nil)

    var profile: Profile { vaults.profile }
    var problems: ProblemLog { vaults.problems }

    init(_ vaults: OpenVaults, rootChanged: @escaping @Sendable (String) -> Void = { _ in }) {
        self.vaults = vaults
        self.rootChanged = rootChanged
        for mounted in vaults.vaults {
            guard let share = profile.share(of: mounted.vault.id), share.hasRemote else { continue }
            do throws(ProfileError) {
                _ = try open(mounted, share)
            } catch {
                vaults.problems.add("The vault “\(mounted.name)” is not synced: \(error)")
            }
        }
        vaults.setDeletionListener { [weak self] slot in self?.forget(slot) }
    }

    func open(_ mounted: MountedVault, _ share: VaultShare) throws(ProfileError) -> SharedVault {
        let shared = try SharedVault(mounted, share, in: profile, problems: vaults.problems)
        shared.replica.setAsidePlace { [weak self, weak shared] () throws(FileSystemError) in
            guard let self, let shared else { throw .notPermitted }
            return try self.asidePlace(of: shared)
        }
        let isRunning = state.withLock { state in
            state.shared[mounted.slot] = shared
            return state.isRunning
        }
        if isRunning { shared.start() }
        // Where the end came meanwhile, it has not seen that.
        if isEnding { shared.stop() }
        return shared
    }

    /// Begins to sync all of them in the background, and to ask for vaults that are to be joined.
    func start() {
        let all = state.withLock { state in
            state.isRunning = true
            return state.shared
        }
        for shared in all.values { shared.start() }
        beginJoining()
    }

    /// Begins to ask for vaults that are to be joined, where there are any, unless that has begun.
    ///
    /// A profile that shares nothing has no tasks and timers for it.
    func beginJoining() {
        guard !profile.joins.isEmpty, state.withLock({ $0.isRunning && !$0.isEnding }) else { return }
        joiningTask.withLock { task in
            if task == nil { task = Task { [self] in await keepJoining() } }
        }
    }

    /// Ends the background work, and waits for it, for some seconds at most.
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

    /// Forgets that a vault is to be joined; who waits for it hears why.
    func endJoin(of vault: VaultID, _ reason: JoinError) throws(ProfileError) {
        state.withLock { $0.endedJoins[vault] = reason }
        try profile.removeJoin(vault)
    }

    /// Why a vault is not to be joined any more.
    func endOfJoin(of vault: VaultID) -> JoinError? { state.withLock { $0.endedJoins[vault] } }

    /// What a vault that is to be joined waits for, other than an answer.
    func joinDelay(of vault: VaultID) -> JoinError? { state.withLock { $0.joinDelays[vault] } }

    /// Notes what a vault that is to be joined waits for, other than an answer; nil for nothing.
    func setJoinDelay(of vault: VaultID, _ delay: JoinError?) {
        state.withLock { $0.joinDelays[vault] = delay }
    }

    /// Whether the mount ends: nothing new is begun.
    var isEnding: Bool { state.withLock { $0.isEnding } }

    /// All of them, by slot.
    var all: [SharedVault] {
        state.withLock { $0.shared.values.sorted { $0.mounted.slot < $1.mounted.slot } }
    }

    /// The one in a slot.
    subscript(slot: UInt16) -> SharedVault? { state.withLock { $0.shared[slot] } }

    /// The one of a name.
    ///
    /// - Throws: `.noSuchVault`, `.noRemote`.
    func named(_ name: String) throws(ProfileError) -> SharedVault {
        guard let mounted = vaults.vault(named: Array(name.utf8)) else { throw .noSuchVault(name: name) }
        guard let shared = self[mounted.slot] else { throw .noRemote(vault: name) }
        return shared
    }

    // MARK: Changing

    /// Publishes a vault at a remote, or goes on with it where it stopped.
    ///
    /// A vault that had a remote before goes on there with the same log, also where that has another URL now.
    func publish(_ name: String, at url: String) throws(ProfileError) {
        guard let mounted = vaults.vault(named: Array(name.utf8)) else { throw .noSuchVault(name: name) }
        let id = mounted.vault.id
        try alone(id, name) { () throws(ProfileError) in
            if let shared = self[mounted.slot] { throw .hasRemote(vault: name, url: shared.share.url) }
            let url = try SharedVault.url(url).text
            let log = LogID(low: Random.number(), high: Random.number())
            var share = profile.share(of: id) ?? VaultShare(vault: id, url: url, log: log)
            share.url = url
            let shared = try SharedVault(mounted, share, in: profile, problems: vaults.problems)
            // Before the vault begins to remember changes for a remote that is not there.
            try shared.reach()
            if try shared.checkKnownLinks() { try shared.checkKnownCommits() }
            do throws(FileSystemError) { try mounted.vault.beginTracking() } catch { throw .vault(error) }
            let key = shared.firstKey
            try shared.asking { engine async throws(SyncError) in try await engine.share(key) }
            try shared.checkFirstLink()
            try profile.setShare(share)
            mounted.vault.setCacheLimit(profile.use(of: id).cacheLimit)
            _ = try open(mounted, share)
            Waiting.run { await shared.heedRole() }
        }
    }

    /// Goes on syncing a vault at another place, which has what the present one has.
    ///
    /// Where the other place is not fit, the vault stays at the present one.
    func move(_ name: String, to url: String) throws(ProfileError) {
        let old = try named(name)
        let mounted = old.mounted
        try alone(old.share.vault, name) { () throws(ProfileError) in
            var share = old.share
            share.url = try SharedVault.url(url).text
            if share.url == old.share.url { return }
            // Before the checks: nothing is to come to the present place after them, and reads go to one place.
            forget(mounted.slot)
            // Invites, or another log, may have come since the sync began.
            let present = profile.share(of: share.vault) ?? old.share
            do throws(ProfileError) {
                let new = try SharedVault(mounted, share, in: profile, problems: vaults.problems)
                try new.reach()
                if try new.checkKnownLinks() { try new.checkKnownCommits() }
                // Until here a round may have gone on.
                if let kept = profile.share(of: share.vault) {
                    (share.log, share.invites) = (kept.log, kept.invites)
                }
                try profile.setShare(share)
            } catch {
                // Contents are read from the present place again, too.
                _ = try? open(mounted, present)
                throw error
            }
            _ = try open(mounted, share)
        }
    }

    /// Syncs a vault no more; the vault stays, with what is on this device.
    ///
    /// - Parameters:
    ///   - contents: What becomes of contents that are at the remote only.
    ///   - progress: Told how many bytes of them are fetched, and of how many.
    /// - Throws: `.remoteOnly` where they are not to be lost.
    func giveUp(
        _ name: String, _ contents: RemoteOnly, _ progress: (Progress) -> Void
    ) throws(ProfileError) {
        let shared = try named(name)
        let (mounted, share) = (shared.mounted, shared.share)
        try alone(share.vault, name) { () throws(ProfileError) in
            // Nothing that is here may go any more: the remote will not bring it back.
            mounted.vault.setCacheLimit(nil)
            do throws(ProfileError) {
                try keepContents(of: mounted, contents, progress)
                forget(mounted.slot)
                // What came until the end.
                if contents != .lose { try keepContents(of: mounted, .refuse, progress) }
                try profile.giveUpShare(of: share.vault)
            } catch {
                if self[mounted.slot] == nil {
                    _ = try? open(mounted, profile.share(of: share.vault) ?? share)
                }
                mounted.vault.setCacheLimit(profile.use(of: share.vault).cacheLimit)
                throw error
            }
            mounted.vault.setForReading(false)
        }
    }

    /// Sees to it that no contents are at the remote only.
    ///
    /// - Throws: `.remoteOnly`.
    private func keepContents(
        of mounted: MountedVault, _ contents: RemoteOnly, _ progress: (Progress) -> Void
    ) throws(ProfileError) {
        if contents == .lose { return }
        let missing: (items: Int, bytes: Int64)
        do throws(FileSystemError) {
            if contents == .fetch {
                try mounted.vault.fetchMissing { progress(Progress(done: $0, total: $1, isBytes: true)) }
            }
            missing = try mounted.vault.missingContent()
        } catch {
            throw .vault(error)
        }
        guard missing.bytes == 0 else {
            throw .remoteOnly(vault: mounted.name, items: missing.items, bytes: missing.bytes)
        }
    }

    /// Bounds what stays here of contents that are at a vault's remote, too; nil to keep all.
    func setCacheLimit(of name: String, _ limit: Int64?) throws(ProfileError) {
        guard let record = profile.vaults.first(where: { $0.name.hasSameBytes(as: name) }) else {
            throw .noSuchVault(name: name)
        }
        try alone(record.id, name) { () throws(ProfileError) in
            try profile.changeUse(of: record.id) { $0.cacheLimit = limit.map { max($0, 0) } }
            self[record.slot]?.mounted.vault.setCacheLimit(limit)
        }
    }

    /// Deletes a vault on this device; who is a member stays one.
    func delete(_ name: String) throws(ProfileError) {
        guard let shared = try? named(name) else { return try vaults.delete(name) }
        try alone(shared.share.vault, name) { () throws(ProfileError) in try vaults.delete(name) }
    }

    /// Ends the sync of a vault, so that it can be closed.
    func forget(_ slot: UInt16) {
        state.withLock { $0.shared.removeValue(forKey: slot) }?.stop()
    }

    /// Runs what changes a vault's remote, one for each vault at a time: nobody waits, as a remote may never answer.
    ///
    /// - Throws: `.vaultBusy`.
    func alone<Result>(
        _ vault: VaultID, _ name: String, _ body: () throws(ProfileError) -> Result
    ) throws(ProfileError) -> Result {
        guard state.withLock({ $0.busy.insert(vault).inserted }) else { throw .vaultBusy(name: name) }
        defer { state.withLock { _ = $0.busy.remove(vault) } }
        return try body()
    }
}
