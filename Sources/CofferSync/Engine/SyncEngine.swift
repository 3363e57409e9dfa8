package import CofferFormat
package import CofferRemote
package import CofferTrust
internal import CofferFacts
internal import Synchronization

/// Keeps a vault on this device and at a remote in sync.
///
/// A round fetches links, then commits, checks and applies them, and puts local changes. It may be
/// interrupted at any moment, even by a crash: the names of objects do not depend on how often they are put,
/// and objects are saved before they are put. A problem holds up only its own log. Rounds never overlap.
package actor SyncEngine {
    var setup: SyncSetup
    let remote: any RemoteBackend
    let replica: any LocalReplica
    let layout: RemoteLayout
    /// The most rounds until a doubt is reported or resolved.
    package nonisolated let doubtfulRoundsMax: Int

    /// The vault's members, as far as they are known.
    package internal(set) var chain: MemberChain
    var identities = KnownIdentities()
    var identityChains: [UserID: IdentityChain] = [:]
    var identitySearch = IdentitySearch()
    var keyring: Keyring?
    var duties = MemberDuties()

    /// What was applied of each log.
    package internal(set) var logs: [LogID: LogSummary] = [:]
    /// What was checked of each log; checked commits that are not applied yet wait in the queue.
    var tails: [LogID: LogSummary] = [:]
    var hashes = KnownHashes()
    var queue: CausalQueue<VerifiedCommit>
    var stops: [LogID: LogStop] = [:]
    /// The number of links when the stops were last reviewed.
    var stopsSince: UInt64 = 0
    var forks: [LogID: ForkedLog] = [:]
    var staleRounds: [LogID: Int] = [:]
    /// The last unknown log that was examined, by its prefix at the remote.
    var newLogTurn: String?
    var withdrawn: [LogID: UInt64] = [:]
    /// Commits that were missing in the last round, and those that were missing in the one before as well.
    var missing: Set<Dot> = [], lost: Set<Dot> = []
    /// Those of them for which no checkpoint was found.
    var uncovered: Set<Dot> = []
    /// How many of this device's commits each author had applied, according to its last commit.
    var seenOfOwn: [LogID: UInt64] = [:]
    /// Why commits could not be fetched in this round, which sends local changes nevertheless.
    var pullFailure: SyncError?
    var notes: [SyncFinding] = []

    /// Commits of this device that may not be at the remote yet, by number.
    var outgoing: [UInt64: [UInt8]] = [:]
    /// This device's commits that are at the remote.
    var ownCommits = OwnCommits()
    var lookedAtPacks = LookedAtPacks()
    /// Whether an applied commit has to be acknowledged.
    var owesAcknowledgement = false
    var standing: CheckpointStanding?
    var unconfirmed: [UnconfirmedCheckpoint] = []
    var announcements = AwaitedAnnouncements()
    /// The rows saved for the two.
    var keptCheckpoints: [KeptRow.Key: [UInt8]] = [:]
    var isLoaded = false
    /// Whether something failed since the last full round: this process may have forgotten problems that
    /// still exist.
    private var needsFullRound = true
    /// Counts the rounds of this process.
    private(set) var roundNumber: UInt64 = 0
    var isRebuildWanted = false
    /// Whether the end of this device's log was seen since the last rebuild: before that, a new commit could
    /// take the number of an existing one.
    var hasSeenOwnEnd = true
    /// The length of this device's log before the rebuild.
    var ownSequenceMin: UInt64 = 0
    /// Whether to make commits now that are put only once they name nothing on a lost side of a fork.
    var isLeavingLostSide = false
    /// A commit missing at the remote, without which a rebuild would lose facts.
    var neededForRebuild: Dot?
    var hasCheckedHeads = false
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
        chain = MemberChain(id: ChainID(setup.vault))
        queue = CausalQueue(applied: VersionVector(), byteCountMax: setup.waitingByteCountMax)
    }

    /// Fetches, applies and puts everything once.
    ///
    /// - Parameter scope: Where to look; the first round, and one after a failure, looks everywhere.
    /// - Throws: why it failed; `status` shows the same until a round succeeds.
    package func round(_ scope: RoundScope = .all) async throws(SyncError) {
        try await alone { () async throws(SyncError) in
            roundNumber += 1
            do throws(SyncError) {
                let all = needsFullRound || !isLoaded
                try await steps(all ? .all : scope)
                if all || scope == .all { needsFullRound = false }
                status.succeeded(at: setup.milliseconds())
            } catch {
                status.failed(error, at: setup.milliseconds())
                throw error
            }
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
            // The state in memory may be ahead of what was saved.
            isLoaded = false
            needsFullRound = true
            throw error
        }
    }

    private func steps(_ scope: RoundScope) async throws(SyncError) {
        try await load()
        if scope.looksForMembers {
            publish(.members)
            try await pullMembers()
        }
        try await openKeysOrPublish()
        if scope.looksForMembers || duties.pending != nil { try await tendMembers() }
        let hasChangedSides = hasLostCommits
        if hasChangedSides { try await leaveLostSide() }
        let scope = hasChangedSides ? .all : scope
        if !hasCheckedHeads { try await checkHeads() }
        if scope.listsLogs, logs.isEmpty, try await takeCheckpoint() { try await load() }
        if scope.looksForCommits { try await pullLogs(scope) }
        // Local changes are sent first, as long as that is allowed: then a rebuild drops nothing that only
        // this device has.
        var failure = await failure { () async throws(SyncError) in try await push(scope) }
        if isSafeToRebuild(failure), try await isRebuildNeeded(scope) {
            let log = setup.log
            try await rebuild()
            try await pullLogs(.all)
            try await push()
            // The failure concerned the log that was left.
            if setup.log != log { failure = nil }
        }
        if case .ownLogEnded = failure, try await beginLogIfEnded() {
            failure = nil
            try await push(scope)
        }
        if let failure { throw failure }
        try await putCommitsAgain()
        if scope.acknowledges { try await acknowledge() }
        try await tendCheckpoints()
        try await putContentsAgain(scope)
        if let pullFailure { throw pullFailure }
    }

    /// Loads the saved state.
    func load() async throws(SyncError) {
        guard !isLoaded else { return }
        let rows = try await asking { () async throws(ReplicaError) in try await replica.rows() }
        let versions = try await asking { () async throws(ReplicaError) in try await replica.versions() }
        try take(rows)
        guard logs.allSatisfy({ versions[$0.key] == $0.value.head.sequence }),
            versions.sequences.count == logs.count
        else { throw .otherVersions }
        // A crash may have caused this, too.
        if logs[setup.log] == nil, !logs.isEmpty { hasSeenOwnEnd = false }
        tails = logs
        stops = stops.filter { $0.value.problem.isFinal }
        queue = CausalQueue(applied: versions, byteCountMax: setup.waitingByteCountMax)
        for (log, stop) in stops { _ = queue.end(log, at: stop.dot.sequence - 1) }
        isLoaded = true
    }

    /// Loads the saved state again after an error that is ignored: memory may be ahead of it.
    func reload() async throws(SyncError) {
        isLoaded = false
        needsFullRound = true
        try await load()
    }

    private func take(_ rows: [KeptRow]) throws(SyncError) {
        var members: [UInt64: [UInt8]] = [:]
        var links: [UserID: [UInt64: [UInt8]]] = [:]
        var put: [UInt64: [UInt8]] = [:]
        (logs, outgoing, standing, unconfirmed, keptCheckpoints) = ([:], [:], nil, [], [:])
        (duties.pending, duties.cards, duties.keptWraps) = (nil, [:], [:])
        do throws(FormatError) {
            for row in rows {
                switch row.key.kind {
                case .log:
                    let summary = try LogSummary(row.value)
                    logs[summary.log] = summary
                    hashes.note(Dot(log: summary.log, sequence: summary.head.sequence), summary.head.hash)
                case .outgoing: outgoing[row.key.number] = row.value
                case .put: put[row.key.number] = row.value
                case .memberLink: members[row.key.number] = row.value
                case .identityLink:
                    guard let user = UserID(bytes: row.key.id) else { throw .invalid(field: "user") }
                    links[user, default: [:]][row.key.number] = row.value
                case .pendingLink, .memberCard, .wraps: try duties.take(row)
                case .checkpoint: try takeCheckpointRow(row)
                default: continue
                }
            }
        } catch {
            throw .format(error)
        }
        takePut(put)
        let isSaved = chain.links.allSatisfy { members[$0.sequence] == $0.bytes }
        guard !isSaved || chain.links.count != members.count else { return }
        try replay(members, links)
    }

    private func replay(
        _ members: [UInt64: [UInt8]], _ links: [UserID: [UInt64: [UInt8]]]
    ) throws(SyncError) {
        do throws(TrustError) {
            for (user, links) in links {
                var chain = IdentityChain(id: ChainID(user))
                for (_, bytes) in links.sorted(by: { $0.key < $1.key }) { try chain.append(bytes) }
                identityChains[user] = chain
                identities.add(chain)
            }
            var chain = MemberChain(id: ChainID(setup.vault))
            for (_, bytes) in members.sorted(by: { $0.key < $1.key }) {
                try chain.append(bytes, knowing: identities)
            }
            self.chain = chain
        } catch {
            throw .trust(error)
        }
    }
}

/// Where a log stops, for now or forever.
struct LogStop: Equatable, Sendable {
    let dot: Dot
    let problem: CommitProblem
}

// MARK: Errors

extension SyncEngine {
    /// Runs a call of the replica, and throws this layer's errors.
    func asking<Value: Sendable>(
        _ body: () async throws(ReplicaError) -> Value
    ) async throws(SyncError) -> Value {
        do throws(ReplicaError) { return try await body() } catch {
            switch error {
            case .failed(let reason): throw .replica(reason)
            case .remote(let error):
                throw error == .cancelled ? .cancelled : .remote(error, during: status.phase)
            case .notSealed(let error): throw SyncError(error)
            }
        }
    }

    /// Runs a call of the remote, and throws this layer's errors.
    func reaching<Value: Sendable>(
        _ body: () async throws(RemoteError) -> Value
    ) async throws(SyncError) -> Value {
        do throws(RemoteError) { return try await body() } catch {
            throw error == .cancelled ? .cancelled : .remote(error, during: status.phase)
        }
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

    /// The author of a log, for messages.
    func author(_ log: LogID) -> LogAuthor {
        let introduction = (tails[log] ?? logs[log])?.introduction
        return LogAuthor(log: log, name: introduction?.name, label: introduction?.label)
    }

    /// The most findings of a kind that are reported.
    static let findingCountMax = 256

    /// Keeps a finding to report it; each once, and only the last 256.
    func note(_ finding: SyncFinding) {
        guard !notes.contains(finding) else { return }
        if notes.count >= Self.findingCountMax { notes.removeFirst() }
        notes.append(finding)
    }
}
