package import CofferFormat
package import CofferRemote
internal import CofferSystem
package import CofferTrust
internal import CofferFacts
internal import Synchronization

/// Keeps a vault on this device and at a remote in sync.
///
/// A round fetches links, then commits, checks and applies them, and puts local changes. It may be
/// interrupted at any moment, even by a crash: the names of objects do not depend on how often they are put,
/// and objects are saved before they are put. A problem holds up only its own log. Rounds never overlap.
///
/// The engine talks to the remote and the replica, one step after the other. What it knows is in values with
/// rules of their own, which know nothing of either.
package actor SyncEngine {
    let setup: SyncSetup
    let remote: any RemoteBackend
    let replica: any LocalReplica
    let layout: RemoteLayout
    /// The most rounds until a doubt is reported or resolved.
    package nonisolated let doubtfulRoundsMax: Int

    /// What is known of the members.
    var members: KnownMembers
    /// The vault's keys, as far as they are open.
    var keyring: Keyring?
    /// What this device does for the members.
    var duties = MemberDuties()
    /// What is known of the logs.
    var logs: KnownLogs
    /// This device's own log.
    var ownLog = OwnLog()
    /// What is known of checkpoints.
    var checkpoints = KnownCheckpoints()
    /// Checkpoints whose announcements have not arrived.
    var announcements = AwaitedAnnouncements()
    /// What is known of the packs at the remote.
    var packs = KnownPacks()
    /// The packs that devices want to delete.
    var retirements = PackRetirements()
    /// What the rounds have done, and owe.
    var rounds = RoundState()
    /// Problems that stay until they are resolved.
    var findings = Findings()

    private(set) var isRunning = false
    /// Callers that wait for the end of a round.
    private var waiting: [CheckedContinuation<Void, Never>] = []

    /// The state of sync; `statuses` reports changes.
    package internal(set) var status = SyncStatus()
    /// The last published status, with the members; available at any time, whatever the engine does.
    package nonisolated var snapshot: SyncSnapshot? { latest.withLock { $0 } }
    let latest = Mutex<SyncSnapshot?>(nil)
    var listeners: [UInt64: AsyncStream<SyncStatus>.Continuation] = [:]
    var listenerCount: UInt64 = 0
    let wakes = Wakes()

    /// Makes an engine that has not accessed anything yet.
    package init(_ setup: SyncSetup, remote: any RemoteBackend, replica: any LocalReplica) {
        self.setup = setup
        self.remote = remote
        self.replica = replica
        layout = RemoteLayout(setup.vault)
        doubtfulRoundsMax = setup.staleRoundsMax
        members = KnownMembers(vault: setup.vault)
        let limits = KnownLogs.Limits(
            logCountMax: setup.logCountMax, authorLogCountMax: setup.authorLogCountMax,
            waitingByteCountMax: setup.waitingByteCountMax)
        logs = KnownLogs(own: setup.log, limits: limits, staleRoundsMax: setup.staleRoundsMax)
    }

    // MARK: Rounds

    /// Fetches, applies and puts everything once.
    ///
    /// - Parameter scope: Where to look; the first round, and one after a failure, looks everywhere.
    /// - Throws: why it failed; `status` shows the same until a round succeeds.
    package func round(_ scope: RoundScope = .all) async throws(SyncError) {
        try await alone { () async throws(SyncError) in
            let vault = setup.vault.high
            let timer = LogTimer(.info)
            let before = status.progress
            do throws(SyncError) {
                let scope = rounds.begin(scope)
                DebugLog.log(.info, .sync, "vault \(id: vault): a round begins: \(scope.logText)")
                try await steps(scope)
                rounds.succeeded(scope)
                let (applied, sent) = (status.progress.commitsApplied, status.progress.commitsSent)
                DebugLog.log(
                    .info, .sync,
                    "vault \(id: vault): a round ended, \(timer): \(applied - before.commitsApplied) commits applied, \(sent - before.commitsSent) sent"
                )
                let isFull = status.isRemoteFull
                let isAllSent = try await asking { () async throws(ReplicaError) in
                    if isFull { try await !replica.hasUnsent() } else { true }
                }
                status.succeeded(at: setup.milliseconds(), isAllSent: isAllSent)
            } catch {
                DebugLog.log(.warning, .sync, "vault \(id: vault): a round failed, \(timer): \(error)")
                status.failed(error, at: setup.milliseconds())
                throw error
            }
        }
    }

    /// Fetches and applies what is new at the remote; sends no commits, and puts nothing back.
    package func catchUp() async throws(SyncError) {
        try await alone { () async throws(SyncError) in
            try await load()
            publish(.members)
            try await pullMembers()
            try await openKeys()
            // What this device has of the lost side of a fork is for a round.
            guard !logs.hasLostCommits(chain) else { return }
            if !rounds.hasCheckedHeads { try await checkHeads() }
            try await pullAllLogs()
        }
    }

    /// Runs an operation during which no other one changes what the engine knows.
    ///
    /// An actor admits other calls at each suspension, so rounds have to wait for each other.
    func alone<Value: Sendable>(
        _ body: () async throws(SyncError) -> Value
    ) async throws(SyncError) -> Value {
        while isRunning { await withCheckedContinuation { waiting.append($0) } }
        isRunning = true
        defer {
            isRunning = false
            publish(.idle)
            for waiter in waiting { waiter.resume() }
            waiting = []
        }
        do throws(SyncError) { return try await body() } catch {
            rounds.failed()
            throw error
        }
    }

    private func steps(_ scope: RoundScope) async throws(SyncError) {
        try await load()
        // A rebuild that still lacks a piece reports it again. Otherwise it has arrived, or a later checkpoint
        // has replaced its own.
        findings.resolve { if case .checkpoint(_, _, .piece) = $0 { true } else { false } }
        if scope.looksForMembers {
            publish(.members)
            try await pullMembers()
        }
        try await openKeysOrPublish()
        if scope.looksForMembers || duties.pending != nil { try await serveMembers() }
        let hasChangedSides = logs.hasLostCommits(chain)
        if hasChangedSides { try await leaveLostSide() }
        let scope = hasChangedSides ? .all : scope
        if !rounds.hasCheckedHeads { try await checkHeads() }
        if scope.listsLogs, logs.applied.isEmpty { _ = try await rebuildFromCheckpoint() }
        if scope.looksForCommits { try await pullLogs(scope) }
        // Local changes are sent first, as long as that is allowed: then a rebuild drops nothing that only
        // this device has.
        var failure = await failure { () async throws(SyncError) in try await push(scope) }
        if isSafeToRebuild(failure), try await isRebuildNeeded(scope) {
            let log = logs.own
            try await rebuild()
            try await pullLogs(.all)
            try await push()
            // The failure concerned the log that was left.
            if logs.own != log { failure = nil }
        }
        if case .ownLogEnded = failure, try await beginLogIfEnded() {
            failure = nil
            try await push(scope)
        }
        if let failure { throw failure }
        try await putCommitsAgain()
        if scope.acknowledges { try await acknowledge() }
        try await serveCheckpoints()
        try await servePacks(scope)
        if let pullFailure = rounds.pullFailure { throw pullFailure }
    }

    /// Whether a rebuild would drop only facts that do not count.
    private func isSafeToRebuild(_ failure: SyncError?) -> Bool {
        switch failure {
        case nil, .ownLogEnded, .ownLogForked, .tooManyLogs: true
        default: false
        }
    }

    private func failure(_ body: () async throws(SyncError) -> Void) async -> SyncError? {
        do throws(SyncError) {
            try await body()
            return nil
        } catch {
            return error
        }
    }

    // MARK: Saved state

    /// Loads the saved state.
    func load() async throws(SyncError) {
        guard !rounds.isLoaded else { return }
        let rows = try await asking { () async throws(ReplicaError) in try await replica.rows() }
        let versions = try await asking { () async throws(ReplicaError) in try await replica.versions() }
        let saved: SavedState
        do throws(FormatError) { saved = try SavedState(rows, duties: duties) } catch { throw .format(error) }
        do throws(TrustError) { try members.restore(saved.memberLinks, saved.identityLinks) } catch {
            throw .trust(error)
        }
        (duties, checkpoints) = (saved.duties, saved.checkpoints)
        retirements = saved.retirements.following(retirements)
        ownLog.restore(saved.commits, put: saved.put)
        guard logs.restore(saved.logs, versions) else { throw .otherVersions }
        // A crash may have caused this, too.
        if logs.ownSummary == nil, !logs.applied.isEmpty { ownLog.mustSeeEnd() }
        rounds.loaded()
    }

    /// Loads the saved state again after an error that is ignored: memory may be ahead of it.
    func reload() async throws(SyncError) {
        rounds.failed()
        try await load()
    }

    /// Saves changes of rows.
    func save(_ rows: [KeptChange]) async throws(SyncError) {
        guard !rows.isEmpty else { return }
        try await asking { () async throws(ReplicaError) in try await replica.save(rows) }
    }

    /// Runs a call of the replica, and throws this layer's errors.
    func asking<Value: Sendable>(
        _ body: () async throws(ReplicaError) -> Value
    ) async throws(SyncError) -> Value {
        do throws(ReplicaError) { return try await body() } catch {
            switch error {
            case .failed(let reason): throw .replica(reason)
            case .remote(let error): throw SyncError(error, during: status.phase)
            case .notSealed(let error): throw SyncError(error)
            }
        }
    }

    // MARK: What is known

    /// The vault's members, as far as they are known.
    package var chain: MemberChain { members.chain }

    /// The objects at the remote.
    var objects: RemoteObjects { RemoteObjects(remote: remote, layout: layout, phase: status.phase) }

    /// This user.
    package var ownIdentity: IdentityID { setup.keys.author.identity }

    /// This user's role in the vault; nil if the user is not a member, or not known to be one.
    package var role: Role? { members.role(of: ownIdentity) }

    /// The time by this device's clock, in nanoseconds since 1970.
    var time: Int64 { nanoseconds(milliseconds: setup.milliseconds()) }

    /// A verifier for commits, with the links and keys known now.
    func verifier() throws(SyncError) -> CommitVerifier {
        CommitVerifier(vault: setup.vault, root: setup.root, chain: chain, keyring: try openedKeyring())
    }

    /// The vault's keys, of which at least one is open.
    func openedKeyring() throws(SyncError) -> Keyring {
        guard let keyring else { throw .keys(.noWrap) }
        return keyring
    }
}

/// Converts to nanoseconds; a later time than fits becomes the last one that does.
func nanoseconds(milliseconds: UInt64) -> Int64 {
    let most = UInt64(Int64.max / 1_000_000)
    return Int64(min(milliseconds, most)) * 1_000_000
}
