internal import CofferCrypto
internal import CofferFUSE
internal import CofferFacts
internal import CofferFormat
internal import CofferRemote
internal import CofferSync
internal import CofferSystem
internal import CofferTrust
internal import CofferVault
internal import Synchronization

/// An open vault that has a remote, and the engine that syncs them.
final class SharedVault: Sendable {
    /// The vault in the mount.
    let mounted: MountedVault
    let profile: Profile
    /// Its record in the profile.
    let share: VaultShare
    let remote: any RemoteBackend
    /// The same remote, for its counts of bytes.
    let traffic: CountingRemote
    /// What remains to be sent, also within a large file.
    let unsentEstimate = UnsentEstimate()
    let replica: VaultReplica
    let engine: SyncEngine
    /// The key of epoch 1, which every vault has from its creation.
    let firstKey: EpochKey
    /// The name of the vault that received the changes that may not be sent.
    let asideVault = Mutex<String?>(nil)
    let problems: ProblemLog
    /// Runs something while no program looks at the past of the vault in a slot.
    let withoutPast: SharedVaults.WithoutPast
    /// How long the past is kept here, as a link said it; nil until one was applied.
    let historySet = Mutex<Int64?>(nil)
    private let task = Mutex<Task<Void, Never>?>(nil)
    /// Sync rounds that commands wait for.
    private let rounds = Mutex<[ObjectIdentifier: Task<Void, Never>]>([:])

    init(
        _ mounted: MountedVault, _ share: VaultShare, in profile: Profile, problems: ProblemLog,
        limits: TransferLimits? = nil,
        withoutPast: @escaping SharedVaults.WithoutPast = { _, body throws(ClientError) in try body() }
    ) throws(ClientError) {
        self.mounted = mounted
        self.share = share
        self.profile = profile
        self.problems = problems
        self.withoutPast = withoutPast
        let vault = mounted.vault
        let patient = Self.patient(try Self.backend(share.url, profile.logins))
        traffic = CountingRemote(limits.map { RateLimitedRemote(patient, $0) } ?? patient)
        remote = traffic
        let keys = try ProfileKeys(of: share.vault, in: profile) { try? vault.adopt($0) }
        guard let record = profile.vaults.first(where: { $0.id == share.vault }),
            let first = record.keys.first(where: { $0.epoch == .first })
        else { throw .vaultName(.noSuchVault(name: mounted.name)) }
        firstKey = first
        let introduction: LogIntroduction
        do throws(FormatError) {
            introduction = try LogIntroduction(name: profile.name, label: profile.device)
        } catch {
            throw .profile(.namesNotShareable)
        }
        replica = VaultReplica(
            vault, log: share.log, label: profile.device,
            hashKey: StateHashKey(first.subkey(StateHashRole.self)), remote: remote,
            layout: RemoteLayout(share.vault), milliseconds: Self.milliseconds)
        var setup = SyncSetup(
            vault: share.vault, root: ItemID(low: share.vault.low, high: share.vault.high), log: share.log,
            introduction: introduction, keys: keys, milliseconds: Self.milliseconds)
        let thread = BlockingCalls("coffer-profile", max: 1)
        setup.card = { await thread.run { try? profile.identityCard() } }
        setup.seenTransientKey = { key in await thread.run { try? profile.follow(key) } }
        setup.newLog = { await thread.run { try? profile.beginLog(in: share.vault) } }
        setup.invites = ProfileInvites(profile: profile, vault: share.vault, thread: thread)
        engine = SyncEngine(setup, remote: remote, replica: replica)
    }

    /// The device's clock, in milliseconds since 1970.
    static let milliseconds: @Sendable () -> UInt64 = { UInt64(max(Clock.realTime, 0) / 1_000_000) }

    /// Wraps a remote so that failed calls are retried for up to 5 s; the engine retries whole rounds later.
    static func patient(_ remote: any RemoteBackend) -> any RemoteBackend {
        var policy = RetryPolicy()
        policy.firstPause = .milliseconds(200)
        policy.pauseMax = .seconds(2)
        policy.deadline = .seconds(5)
        return RetryingRemote(remote, policy)
    }

    /// Opens the backend of a URL.
    ///
    /// - Parameter logins: Where credentials are found that the environment and its files do not have.
    static func backend(
        _ url: String, _ logins: @escaping RemoteLogins
    ) throws(ClientError) -> any RemoteBackend {
        let parsed = try Self.url(url)
        do throws(RemoteError) { return try parsed.open(logins) } catch {
            throw .remoteSetting(.failed(url: parsed.text, error))
        }
    }

    /// What a command says of an error of sync: it names the remote if the remote failed.
    func failure(_ error: SyncError) -> ClientError {
        guard case .remote(let cause, _) = error, cause != .cancelled else {
            return .sync(vault: name, error)
        }
        return .remoteSetting(.notSynced(vault: name, url: share.url, error))
    }

    /// Opens another backend of this vault's remote, without retries.
    func backend() throws(ClientError) -> any RemoteBackend {
        try Self.backend(share.url, profile.logins)
    }

    /// Parses a URL or path that a user entered.
    static func url(_ text: String) throws(ClientError) -> RemoteURL {
        do throws(RemoteURL.Mistake) { return try RemoteURL(text) } catch {
            throw .remoteSetting(.remoteURL(error))
        }
    }

    /// Parses the URL or path of a place where a vault is to be synced, or to be joined.
    ///
    /// - Throws: `.remoteSetting(.inMount)`.
    static func newURL(_ text: String) throws(ClientError) -> RemoteURL {
        let url = try url(text)
        try FolderPlace.refuseMount(url)
        return url
    }

    /// The current name of the vault.
    var name: String { profile.vaults.first { $0.id == share.vault }?.name ?? mounted.name }

    // MARK: Running

    /// Starts to sync in the background.
    func start() {
        let engine = engine
        mounted.vault.setNewsListener { engine.localChange() }
        replica.whenReadyToSend { engine.localChange() }
        task.withLock { task in
            guard task == nil else { return }
            task = Task { [self] in
                await withTaskGroup(of: Void.self) { group in
                    group.addTask { await engine.run() }
                    group.addTask { [self] in await follow() }
                    group.addTask { [self] in await reencrypt() }
                    group.addTask { [self] in await fetchPinned() }
                    group.addTask { [self] in await placeArrivedContents() }
                }
            }
        }
    }

    /// Puts content in place that arrives after the commits that refer to it, even while nothing is sent or
    /// applied.
    private func placeArrivedContents() async {
        while (try? await Task.sleep(for: Self.arrivalPause)) != nil {
            try? await replica.placeArrivedContents()
        }
    }

    /// The pause between searches for content that has arrived; much less than reads wait for it.
    private static let arrivalPause = Duration.seconds(2)

    /// Cancels the tasks that `start` began, and all waits for the remote.
    ///
    /// - Returns: The cancelled tasks, which may still use the vault until they end.
    func end() -> [Task<Void, Never>] {
        mounted.vault.setNewsListener(nil)
        let running = task.withLock { task in
            defer { task = nil }
            return task
        }
        let all = rounds.withLock { Array($0.values) } + (running.map { [$0] } ?? [])
        for task in all { task.cancel() }
        replica.stopTransfers()
        return all
    }

    /// Cancels the tasks that `start` began, and waits up to 10 s for them; tasks that still run find the
    /// vault closed.
    ///
    /// - Returns: Whether they have ended; only then may something else write to the vault's log.
    @discardableResult
    func stop() -> Bool { Self.wait(for: end()) }

    /// Waits for cancelled tasks, up to 10 s.
    ///
    /// - Returns: Whether they have ended.
    @discardableResult
    static func wait(for tasks: [Task<Void, Never>]) -> Bool {
        if tasks.isEmpty { return true }
        let ended = AwaitedTask { () -> Bool in
            for task in tasks { await task.value }
            return true
        }
        return ended.wait(nanoseconds: endTime) != nil
    }

    /// How long to wait for cancelled tasks, in nanoseconds.
    private static let endTime: Int64 = 10_000_000_000

    /// Applies the role and the common settings, and reports new findings, after each change of the engine's status.
    private func follow() async {
        var told: Set<String> = []
        var hadFailure = false
        for await status in await engine.statuses() {
            if hadFailure, status.failure == nil { replica.noteRemoteAnswers() }
            hadFailure = status.failure != nil
            await applyRole()
            // During a round, objects may seem to be missing that the next request brings.
            guard status.phase == .idle else { continue }
            await applyHistory()
            let findings = Set(status.findings.map(\.description))
            for finding in findings.subtracting(told).sorted() {
                problems.report("“\(name)”: \(finding).")
            }
            told = findings
        }
    }

    /// Makes the vault read-only if the person's role may not write, otherwise writable.
    func applyRole() async {
        let role = await engine.role
        let chain = await engine.chain
        // Until the members are known, the stored setting applies.
        guard chain.nextSequence > 0 else { return }
        let isForReading = role?.may(.write) != true
        let vault = mounted.vault
        if isForReading, !vault.isOnlyForReading {
            // Otherwise writes that the kernel still caches would be refused.
            await BlockingCalls("coffer-flush", max: 1).run { try? vault.flushAll() }
        }
        mounted.vault.setForReading(isForReading)
        // The next mount needs the role before it has read the members.
        do throws(ClientError) {
            try profile.changeUse(of: share.vault) { $0.isForReading = isForReading }
        } catch {
            problems.add("“\(name)”: your role could not be stored: \(error)")
        }
    }

    /// Runs a round, and repeats it if the remote shows less than before, because one listing may be stale.
    ///
    /// A mount runs more rounds anyway; a command without a mount must report the result now.
    private func roundsUntilSure() async throws(SyncError) {
        try await engine.round()
        for _ in 1..<max(engine.doubtfulRoundsMax, 1) where await engine.isDoubtful {
            do { try await Task.sleep(for: .milliseconds(300)) } catch { throw .cancelled }
            try await engine.round()
        }
        // A round sends a limited number of commits. The kernel may write times of files while a round runs, so one
        // that leaves as much to send as it found does not mean that nothing more can be sent.
        var (unsent, inVain) = (unsentCount, 0)
        while unsent > 0, inVain < Self.roundsInVainMax {
            try await engine.round()
            let left = unsentCount
            inVain = left < unsent ? 0 : inVain + 1
            unsent = left
        }
    }

    private var unsentCount: Int { (try? mounted.vault.outgoing.unsentCount()) ?? 0 }

    /// Sends and fetches everything.
    ///
    /// Blocks until done.
    ///
    /// - Parameters:
    ///   - limit: How long to try, in nanoseconds.
    ///   - progress: Called on this thread at least every half second with the number of commits that are done,
    ///     and of all.
    /// - Returns: False if the time was too short.
    @discardableResult
    func sync(atMost limit: Int64 = .max, _ progress: (Progress) -> Void) throws(ClientError) -> Bool {
        let began = Clock.monotonic
        let (engine, replica) = (engine, replica)
        let news = Condition(SyncNews())
        let watcher = Task.detached {
            var start: Int?
            for await status in await engine.statuses() {
                // The engine's counts begin with its start.
                let all = status.progress.commitsApplied + status.progress.commitsSent
                let done = all - (start ?? all)
                start = start ?? all
                news.update {
                    $0.progress = Progress(done: done, total: done + status.progress.commitsLeft)
                    $0.phase = status.phase
                }
            }
        }
        defer { watcher.cancel() }
        let round = Task.detached { [self] in
            replica.sendEverything(true)
            let result: Result<Void, SyncError>
            do throws(SyncError) { result = .success(try await roundsUntilSure()) } catch {
                result = .failure(error)
            }
            replica.sendEverything(false)
            await applyRole()
            await applyHistory()
            news.update { $0.result = result }
        }
        let number = ObjectIdentifier(news)
        rounds.withLock { $0[number] = round }
        defer { rounds.withLock { _ = $0.removeValue(forKey: number) } }
        let before = traffic.counts
        var (left, looked) = (Int64(0), Int64?.none)
        var phase = SyncPhase.idle
        var commits = Progress(done: 0, total: 0)
        while true {
            let next = news.wait(nanoseconds: Self.tellingPause) { news -> SyncNews.Step? in
                guard news.progress != nil || news.result != nil else { return nil }
                defer { news.progress = nil }
                phase = news.phase
                return (news.progress, news.result)
            }
            if let known = next?.0 { commits = known }
            let items = unsentCount
            if items == 0 {
                left = 0
            } else if Clock.monotonic - (looked ?? .min / 2) > Self.lookingPause {
                left = (try? mounted.vault.outgoing.unsentByteCount()) ?? 0
                looked = Clock.monotonic
            }
            let bytes = unsentEstimate.left(of: left, sent: Int64(traffic.counts.bytesSent))
            progress(telling(commits, items: items, bytes: bytes, since: before, phase))
            if next?.1 == nil, Clock.monotonic - began > limit {
                round.cancel()
                return false
            }
            guard let result = next?.1 else { continue }
            do throws(SyncError) { try result.get() } catch { throw failure(error) }
            return true
        }
    }

    /// How many rounds in a row may leave as much to send as they found.
    private static let roundsInVainMax = 3

    /// The pause between reports of progress, in nanoseconds.
    private static let tellingPause: Int64 = 500_000_000

    /// The pause between counts of unsent bytes, in nanoseconds; each count reads all rows of contents.
    private static let lookingPause: Int64 = 3_000_000_000

    /// Returns progress in commits, with the traffic of the remote since `before`.
    private func telling(
        _ commits: Progress, items: Int, bytes: Int64, since before: RemoteCounts, _ phase: SyncPhase
    ) -> Progress {
        let now = traffic.counts
        return Progress(
            done: commits.done, total: commits.total,
            transfer: Progress.Transfer(
                sent: Int64(now.bytesSent - before.bytesSent),
                received: Int64(now.bytesReceived - before.bytesReceived),
                items: items, commits: commits.total - commits.done, left: bytes,
                activity: Self.activity(phase)))
    }

    /// What a round does in a phase.
    private static func activity(_ phase: SyncPhase) -> String? {
        switch phase {
        case .idle: nil
        case .members: "checking the members"
        case .looking, .fetching: "looking for changes of others"
        case .sending: "waiting for the remote to store the last objects"
        case .checkpoint: "waiting for the checkpoint, a summary of all changes"
        case .rebuilding: "rebuilding the vault from its commits"
        case .deleting: "deleting contents at the remote that no file has any more"
        }
    }
}

/// News for a thread that waits for a round.
private struct SyncNews: Sendable {
    typealias Step = (Progress?, Result<Void, SyncError>?)

    var progress: Progress?
    var phase = SyncPhase.idle
    var result: Result<Void, SyncError>?
}
