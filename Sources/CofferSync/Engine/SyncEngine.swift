package import CofferFormat
package import CofferRemote
package import CofferTrust
internal import CofferFacts
internal import Synchronization

/// Keeps one vault on this device and at a remote the same.
///
/// A round fetches links, then commits, checks and applies them, and puts what was changed here. It can be ended at
/// any moment, by a crash too: names of objects do not depend on how often they are put, and what is to be put is
/// saved first. What is found wrong holds up its own log only. An actor: rounds do not overlap.
package actor SyncEngine {
    var setup: SyncSetup
    let remote: any RemoteBackend
    let replica: any LocalReplica
    let layout: RemoteLayout
    /// How many rounds it takes at most until a doubt is told or gone.
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
    /// What was checked of each log; what is not applied of it waits in the queue.
    var tails: [LogID: LogSummary] = [:]
    var hashes = KnownHashes()
    var queue: CausalQueue<VerifiedCommit>
    var stops: [LogID: LogStop] = [:]
    /// How many links there were when they were last looked at.
    var stopsSince: UInt64 = 0
    var forks: [LogID: ForkedLog] = [:]
    var staleRounds: [LogID: Int] = [:]
    /// The last one that was looked into of the logs that are not known, by its prefix at the remote.
    var newLogTurn: String?
    var withdrawn: [LogID: UInt64] = [:]
    /// Commits that should be there, and were not in the last round; and not in the one before it either.
    var missing: Set<Dot> = [], lost: Set<Dot> = []
    /// Those of them for which no checkpoint was found.
    var uncovered: Set<Dot> = []
    /// Which of this device's commits each author had applied, as its last commit says.
    var seenOfOwn: [LogID: UInt64] = [:]
    /// Why commits could not be fetched in this round; what was to be sent is sent all the same.
    var pullFailure: SyncError?
    var notes: [SyncFinding] = []

    /// Commits of this device that may not be at the remote yet, by number.
    var outgoing: [UInt64: [UInt8]] = [:]
    /// Whether something was applied that others are to know of.
    var owesAcknowledgement = false
    var standing: CheckpointStanding?
    var unconfirmed: [UnconfirmedCheckpoint] = []
    /// What was saved of the two.
    var keptCheckpoints: [KeptRow.Key: [UInt8]] = [:]
    var isLoaded = false
    /// Whether something failed since all was looked at: what stopped then may be forgotten here, and holds all the
    /// same.
    private var needsFullRound = true
    var isRebuildWanted = false
    /// Whether the end of this device's log was seen since all facts were taken anew: a commit that is made before may take the
    /// number of one that is there.
    var hasSeenOwnEnd = true
    /// How many commits this device's log had before.
    var ownSequenceMin: UInt64 = 0
    /// Whether commits are made that are put only once they name nothing of a lost side of a fork.
    var isLeavingLostSide = false
    /// A commit without which less would be known after a rebuild than before, and that was not at the remote.
    var neededForRebuild: Dot?
    var hasCheckedHeads = false
    private(set) var isRunning = false
    /// Who waits for the end of a round.
    private var waiting: [CheckedContinuation<Void, Never>] = []

    /// How sync stands; `statuses` tells of changes.
    package internal(set) var status = SyncStatus()
    /// The same with the members, as it was last told; to be had at any time, whatever the engine does.
    package nonisolated var snapshot: SyncSnapshot? { latest.withLock { $0 } }
    let latest = Mutex<SyncSnapshot?>(nil)
    var listeners: [UInt64: AsyncStream<SyncStatus>.Continuation] = [:]
    var listenerCount: UInt64 = 0
    let wakes = Wakes()

    /// An engine that has asked for nothing yet.
    package init(_ setup: SyncSetup, remote: any RemoteBackend, replica: any LocalReplica) {
        self.setup = setup
        self.remote = remote
        self.replica = replica
        layout = RemoteLayout(setup.vault)
        doubtfulRoundsMax = setup.staleRoundsMax
        chain = MemberChain(id: ChainID(setup.vault))
        queue = CausalQueue(applied: VersionVector(), byteCountMax: setup.waitingByteCountMax)
    }

    /// Fetches, applies and puts what there is, once.
    ///
    /// - Parameter scope: Where to look; a round that follows one which failed, or the start, looks everywhere.
    /// - Throws: why it did not get through; the same stands in `status` until a round does.
    package func round(_ scope: RoundScope = .all) async throws(SyncError) {
        try await alone { () async throws(SyncError) in
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

    /// Runs something while nothing else changes what the engine knows.
    ///
    /// An actor lets calls in wherever one waits: rounds come one after the other.
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
            // What is in memory may be ahead of what was saved.
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
        // What was changed here is sent first, as long as it may be: then nothing of it is only in what goes.
        var failure = await failure { () async throws(SyncError) in try await push(scope) }
        if isSafeToRebuild(failure), try await isRebuildNeeded(scope) {
            let log = setup.log
            try await rebuild()
            try await pullLogs(.all)
            try await push()
            // It was about the log that was left.
            if setup.log != log { failure = nil }
        }
        if case .ownLogEnded = failure, try await beginLogIfEnded() {
            failure = nil
            try await push(scope)
        }
        if let failure { throw failure }
        if scope.acknowledges { try await acknowledge() }
        try await tendCheckpoints()
        if let pullFailure { throw pullFailure }
    }

    /// Takes up what was saved.
    func load() async throws(SyncError) {
        guard !isLoaded else { return }
        let rows = try await asking { () async throws(ReplicaError) in try await replica.rows() }
        let versions = try await asking { () async throws(ReplicaError) in try await replica.versions() }
        try take(rows)
        guard logs.allSatisfy({ versions[$0.key] == $0.value.head.sequence }),
            versions.sequences.count == logs.count
        else { throw .otherVersions }
        // So it may be after a crash, too.
        if logs[setup.log] == nil, !logs.isEmpty { hasSeenOwnEnd = false }
        tails = logs
        stops = stops.filter { $0.value.problem.isFinal }
        queue = CausalQueue(applied: versions, byteCountMax: setup.waitingByteCountMax)
        for (log, stop) in stops { _ = queue.end(log, at: stop.dot.sequence - 1) }
        isLoaded = true
    }

    /// Takes up what was saved once more, where an error is passed over: what is in memory may be ahead of it.
    func reload() async throws(SyncError) {
        isLoaded = false
        needsFullRound = true
        try await load()
    }

    private func take(_ rows: [KeptRow]) throws(SyncError) {
        var members: [UInt64: [UInt8]] = [:]
        var links: [UserID: [UInt64: [UInt8]]] = [:]
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

/// Where a log stops for now, or for ever.
struct LogStop: Equatable, Sendable {
    let dot: Dot
    let problem: CommitProblem
}

// MARK: Errors

extension SyncEngine {
    /// Runs a call of the replica, in the words of this layer.
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

    /// Runs a call of the remote, in the words of this layer.
    func reaching<Value: Sendable>(
        _ body: () async throws(RemoteError) -> Value
    ) async throws(SyncError) -> Value {
        do throws(RemoteError) { return try await body() } catch {
            throw error == .cancelled ? .cancelled : .remote(error, during: status.phase)
        }
    }

    /// Whether nothing would be lost with the facts that are here, but what does not count.
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

    /// The most findings of a kind that are told.
    static let findingCountMax = 256

    /// Keeps something to be told; each once, and the last 256.
    func note(_ finding: SyncFinding) {
        guard !notes.contains(finding) else { return }
        if notes.count >= Self.findingCountMax { notes.removeFirst() }
        notes.append(finding)
    }
}
