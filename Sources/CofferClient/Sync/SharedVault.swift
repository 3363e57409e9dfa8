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

/// An open vault that has a remote, with what keeps both the same.
final class SharedVault: Sendable {
    /// The vault at its place in the mount.
    let mounted: MountedVault
    let profile: Profile
    /// What the profile keeps of it.
    let share: VaultShare
    let remote: any RemoteBackend
    /// The same, for who asks what went through it.
    let traffic: CountingRemote
    let replica: VaultReplica
    let engine: SyncEngine
    /// The key of epoch 1, which a vault has from its beginning.
    let firstKey: EpochKey
    /// The vault that took what was written here and may not be sent.
    let asideVault = Mutex<String?>(nil)
    let problems: ProblemLog
    private let task = Mutex<Task<Void, Never>?>(nil)
    /// Rounds that commands wait for.
    private let rounds = Mutex<[ObjectIdentifier: Task<Void, Never>]>([:])

    init(
        _ mounted: MountedVault, _ share: VaultShare, in profile: Profile, problems: ProblemLog
    ) throws(ProfileError) {
        self.mounted = mounted
        self.share = share
        self.profile = profile
        self.problems = problems
        let vault = mounted.vault
        traffic = CountingRemote(Self.patient(try Self.backend(share.url)))
        remote = traffic
        let keys = try ProfileKeys(of: share.vault, in: profile) { try? vault.adopt($0) }
        guard let record = profile.vaults.first(where: { $0.id == share.vault }),
            let first = record.keys.first(where: { $0.epoch == .first })
        else { throw .noSuchVault(name: mounted.name) }
        firstKey = first
        let introduction: LogIntroduction
        do throws(FormatError) {
            introduction = try LogIntroduction(name: profile.name, label: profile.device)
        } catch {
            throw .control("Your name and this machine's name must be texts of 1 to 255 bytes.")
        }
        replica = VaultReplica(
            vault, log: share.log, label: profile.device,
            hashKey: StateHashKey(first.subkey(StateHashRole.self)), remote: remote,
            layout: RemoteLayout(share.vault), milliseconds: Self.milliseconds)
        var setup = SyncSetup(
            vault: share.vault, root: ItemID(low: share.vault.low, high: share.vault.high), log: share.log,
            introduction: introduction, keys: keys, milliseconds: Self.milliseconds)
        let thread = BlockingThread("coffer-profile")
        setup.card = { await thread.run { try? profile.identityCard() } }
        setup.newLog = { await thread.run { try? profile.beginLog(in: share.vault) } }
        setup.invites = ProfileInvites(profile: profile, vault: share.vault, thread: thread)
        engine = SyncEngine(setup, remote: remote, replica: replica)
    }

    /// The device's clock, since 1970.
    static let milliseconds: @Sendable () -> UInt64 = { UInt64(max(Clock.realTime, 0) / 1_000_000) }

    /// A remote that is asked again for some seconds where that may help; a round that failed is tried again later.
    static func patient(_ remote: any RemoteBackend) -> any RemoteBackend {
        var policy = RetryPolicy()
        policy.firstPause = .milliseconds(200)
        policy.pauseMax = .seconds(2)
        policy.deadline = .seconds(5)
        return RetryingRemote(remote, policy)
    }

    /// The backend of a URL.
    static func backend(_ url: String) throws(ProfileError) -> any RemoteBackend {
        let parsed = try Self.url(url)
        do throws(RemoteError) { return try parsed.open() } catch { throw .remote(error) }
    }

    /// A URL or path, as people write it.
    static func url(_ text: String) throws(ProfileError) -> RemoteURL {
        do throws(RemoteURL.Mistake) { return try RemoteURL(text) } catch { throw .remoteURL(error) }
    }

    /// What the vault is called now.
    var name: String { profile.vaults.first { $0.id == share.vault }?.name ?? mounted.name }

    // MARK: Running

    /// Begins to sync in the background.
    func start() {
        let engine = engine
        mounted.vault.setNewsListener { engine.localChange() }
        replica.whenSettled { engine.localChange() }
        task.withLock { task in
            guard task == nil else { return }
            task = Task { [self] in
                await withTaskGroup(of: Void.self) { group in
                    group.addTask { await engine.run() }
                    group.addTask { [self] in await follow() }
                    group.addTask { [self] in await reencrypt() }
                    group.addTask { [self] in await fetchPinned() }
                    group.addTask { [self] in await settle() }
                }
            }
        }
    }

    /// Has contents put in place that arrive later than the commits that speak of them, also where nothing is sent or
    /// taken in.
    private func settle() async {
        while (try? await Task.sleep(for: Self.settlingPause)) != nil { try? await replica.settle() }
    }

    /// How long contents that have not arrived are left alone.
    private static let settlingPause = Duration.seconds(10)

    /// Ends what `start` began, and all that waits for the remote.
    ///
    /// - Returns: What is to be waited for, which may still use the vault.
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

    /// Ends what `start` began, and waits for it, but not for ever: what still runs then finds the vault closed.
    func stop() { Self.wait(for: end()) }

    /// Waits for what ends, for some seconds at most.
    static func wait(for tasks: [Task<Void, Never>]) {
        if tasks.isEmpty { return }
        _ = Waiting.run(atMost: endTime) { for task in tasks { await task.value } }
    }

    /// How long ending may take, in nanoseconds.
    private static let endTime: Int64 = 10_000_000_000

    /// Heeds what rounds find: the role, and what is to be told.
    private func follow() async {
        var told: Set<String> = []
        for await status in await engine.statuses() {
            await heedRole()
            // In the middle of a round it seems that things are missing which come with the next request.
            guard status.phase == .idle else { continue }
            let findings = Set(status.findings.map(\.description))
            for finding in findings.subtracting(told).sorted() {
                problems.add("“\(name)”: \(finding).")
            }
            told = findings
        }
    }

    /// Lets programs change things if the person may.
    func heedRole() async {
        let role = await engine.role
        let chain = await engine.chain
        // Before the members are known, what the vault was opened with holds.
        guard chain.nextSequence > 0 else { return }
        let isForReading = role?.may(.write) != true
        let vault = mounted.vault
        if isForReading, !vault.isOnlyForReading {
            // What the kernel holds back of what programs wrote would be refused.
            await BlockingThread("coffer-flush").run { try? vault.flushAll() }
        }
        mounted.vault.setForReading(isForReading)
        // So that the next mount knows it before it has read the members.
        do throws(ProfileError) {
            try profile.changeUse(of: share.vault) { $0.isForReading = isForReading }
        } catch {
            problems.add("“\(name)”: your role could not be kept: \(error)")
        }
    }

    /// Runs a round, and more where the remote shows less than it did: one listing may just be old.
    ///
    /// A mount runs more rounds anyway; a command that runs without one has to tell now.
    private func roundsUntilSure() async throws(SyncError) {
        try await engine.round()
        for _ in 1..<max(engine.doubtfulRoundsMax, 1) where await engine.isDoubtful {
            do { try await Task.sleep(for: .milliseconds(300)) } catch { throw .cancelled }
            try await engine.round()
        }
        // A round sends so many commits and no more.
        var unsent = unsentCount
        while unsent > 0 {
            try await engine.round()
            let left = unsentCount
            guard left < unsent else { return }
            unsent = left
        }
    }

    private var unsentCount: Int { (try? mounted.vault.unsentCount()) ?? 0 }

    /// Sends and fetches all there is.
    ///
    /// - Parameter progress: Told of what is done, and what there is to do, in commits; on this thread.
    func sync(_ progress: (Progress) -> Void) throws(ProfileError) {
        let (engine, replica) = (engine, replica)
        let news = Condition(SyncNews())
        let watcher = Task.detached {
            var start: Int?
            for await status in await engine.statuses() {
                // The engine counts from its own start.
                let all = status.progress.commitsApplied + status.progress.commitsSent
                let done = all - (start ?? all)
                start = start ?? all
                news.update { $0.progress = Progress(done: done, total: done + status.progress.commitsLeft) }
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
            await heedRole()
            news.update { $0.result = result }
        }
        let number = ObjectIdentifier(news)
        rounds.withLock { $0[number] = round }
        defer { rounds.withLock { _ = $0.removeValue(forKey: number) } }
        let before = traffic.counts
        var (left, looked) = (Int64(0), Int64?.none)
        var commits = Progress(done: 0, total: 0)
        while true {
            let next = news.wait(nanoseconds: Self.tellingPause) { news -> SyncNews.Step? in
                guard news.progress != nil || news.result != nil else { return nil }
                defer { news.progress = nil }
                return (news.progress, news.result)
            }
            if let known = next?.0 { commits = known }
            let items = unsentCount
            if items == 0 {
                left = 0
            } else if Clock.monotonic - (looked ?? .min / 2) > Self.lookingPause {
                left = (try? mounted.vault.unsentByteCount()) ?? 0
                looked = Clock.monotonic
            }
            progress(telling(commits, items: items, bytes: left, since: before))
            guard let result = next?.1 else { continue }
            do throws(SyncError) { return try result.get() } catch { throw .sync(vault: name, error) }
        }
    }

    /// How often somebody who waits hears how far it is, in nanoseconds.
    private static let tellingPause: Int64 = 500_000_000

    /// How often it is looked how many bytes are left, in nanoseconds: all rows of contents are read for it.
    private static let lookingPause: Int64 = 3_000_000_000

    /// Commits that are done and left, and what went through the remote meanwhile.
    private func telling(
        _ commits: Progress, items: Int, bytes: Int64, since before: RemoteCounts
    ) -> Progress {
        let now = traffic.counts
        return Progress(
            done: commits.done, total: commits.total,
            transfer: Progress.Transfer(
                sent: Int64(now.bytesSent - before.bytesSent),
                received: Int64(now.bytesReceived - before.bytesReceived),
                items: items, commits: commits.total - commits.done, left: bytes))
    }
}

/// What a thread hears that waits for a round.
private struct SyncNews: Sendable {
    typealias Step = (Progress?, Result<Void, SyncError>?)

    var progress: Progress?
    var result: Result<Void, SyncError>?
}
