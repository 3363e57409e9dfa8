import CofferFormat
import CofferRemote
import CofferTrust
import Testing

@testable import CofferSync

struct KnownLogsTests {
    private let chain = MemberChain(id: ChainID(VaultID(low: 1, high: 1)))

    private func logs(
        _ own: UInt64 = 9, logCountMax: Int = 8, authorLogCountMax: Int = 2, byteCountMax: Int = 1000
    ) -> KnownLogs {
        KnownLogs(
            own: log(own),
            limits: KnownLogs.Limits(
                logCountMax: logCountMax, authorLogCountMax: authorLogCountMax,
                waitingByteCountMax: byteCountMax),
            staleRoundsMax: 3)
    }

    /// Adds commits as a pull does; returns those that are ready.
    private func pull(_ commits: [VerifiedCommit], _ logs: inout KnownLogs) -> [Dot] {
        var pull = CommitPull(listed: [:], asked: [])
        for commit in commits { pull.add(commit, &logs, chain) }
        return pull.ready.map(\.dot)
    }

    // MARK: Saved state

    @Test("Saved logs that the replica has not applied are refused")
    func restoring() throws {
        let summaries = try [summary(1, 3), summary(2, 1)].compactMap(\.self)
        var known = logs()
        let isRestored = known.restore(summaries, versions([1: 3, 2: 1]))
        #expect(isRestored)
        #expect(known.appliedSequence(log(1)) == 3 && known.checkedSequence(log(2)) == 1)
        #expect(known.queue.versions == versions([1: 3, 2: 1]))
        for others in [[1: 3], [1: 3, 2: 2], [1: 3, 2: 1, 3: 1]] as [[UInt64: UInt64]] {
            let isRestored = known.restore(summaries, versions(others))
            #expect(!isRestored)
        }
    }

    @Test("A restore begins where commits were applied; logs that have ended stay ended")
    func restoringForgetsWhatWasOnlyChecked() throws {
        var known = logs()
        #expect(pull([try commit(1, 1), try commit(2, 1)], &known) == [dot(1, 1), dot(2, 1)])
        _ = known.stop(at: dot(1, 2), .wrongClaim)
        _ = known.stop(at: dot(2, 2), .elsewhere)
        #expect(known.checkedSequence(log(1)) == 1)
        let isRestored = known.restore([], VersionVector())
        #expect(isRestored)
        #expect(known.checked.isEmpty && known.stops.keys.sorted() == [log(1)])
    }

    // MARK: Checking and ordering

    @Test("A commit waits for those that it names, and its log goes on being checked")
    func aCommitWaits() throws {
        var known = logs()
        #expect(pull([try commit(1, 1, heads: [2: 1]), try commit(1, 2)], &known) == [])
        #expect(known.checkedSequence(log(1)) == 2 && known.appliedSequence(log(1)) == 0)
        #expect(known.findings { _ in nil }.contains { if case .gap = $0 { true } else { false } })
        #expect(pull([try commit(2, 1)], &known) == [dot(2, 1), dot(1, 1), dot(1, 2)])
    }

    @Test("Commits no longer wait for a log that has ended")
    func anEndedLogIsNotWaitedFor() throws {
        var known = logs()
        var pull = CommitPull(listed: [:], asked: [])
        pull.add(try commit(1, 1, heads: [2: 5]), &known, chain)
        #expect(pull.ready.isEmpty)
        pull.stop(dot(2, 1), .wrongClaim, &known, chain)
        #expect(pull.ready.map(\.dot) == [dot(1, 1)])
        #expect(!known.mayContinue(log(2)))
    }

    @Test("A log that stopped for now continues in the next pull; one that has ended does not")
    func stops() {
        var known = logs()
        _ = known.stop(at: dot(1, 1), .elsewhere)
        _ = known.stop(at: dot(2, 1), .wrongClaim)
        known.reviewStops(linkCount: 0)
        #expect(known.stops.keys.sorted() == [log(2)])
        known.resumeAll()
        #expect(known.stops.isEmpty)
    }

    @Test("A log beyond the limit waits for new links, or for another author to name it")
    func logsBeyondTheLimit() throws {
        var known = logs()
        let all = try (1...3).map { try commit($0, 1, by: 1) }
        #expect(pull(all, &known) == [dot(1, 1), dot(2, 1)])
        #expect(known.findings { _ in "Rita" } == [.tooManyLogs(identity(1), name: "Rita", waiting: 1)])
        known.reviewStops(linkCount: 0)
        #expect(known.stops[log(3)] != nil)
        // Another author has applied it.
        var pull = CommitPull(listed: [:], asked: [])
        pull.add(try commit(4, 1, heads: [3: 1]), &known, chain)
        pull.wantGaps(&known)
        #expect(known.stops[log(3)] == nil && pull.targets[log(3)] == 1)
        pull.add(try commit(3, 1, by: 1), &known, chain)
        #expect(pull.ready.map(\.dot) == [dot(3, 1), dot(4, 1)])
        // New links may have removed the author.
        _ = known.stop(at: dot(5, 1), .tooManyLogs(identity(1)))
        known.reviewStops(linkCount: 1)
        #expect(known.stops.isEmpty)
    }

    @Test("One place is kept for this device's log")
    func thisDeviceKeepsItsPlace() throws {
        var known = logs(9, logCountMax: 3)
        let all = try (1...3).map { try commit($0, 1) }
        #expect(pull(all, &known) == [dot(1, 1), dot(2, 1)])
        #expect(pull([try commit(9, 1)], &known) == [dot(9, 1)])
    }

    // MARK: Waves

    @Test("All logs get their turn, and a log that is blocked or absent takes none")
    func waves() throws {
        var known = logs()
        var pull = CommitPull(listed: [log(1): 10, log(2): 1, log(3): 1], asked: [])
        #expect(pull.commitsLeft(known) == 12)
        #expect(pull.nextDots(known, countMax: 2) == [dot(1, 1), dot(2, 1)])
        let second = pull.nextDots(known, countMax: 2)
        #expect(Set(second) == [dot(3, 1), dot(1, 1)])
        pull.wasAbsent(dot(1, 1))
        pull.failed(dot(2, 1))
        #expect(pull.nextDots(known, countMax: 8) == [dot(3, 1)])
        #expect(pull.missing == [dot(1, 1)])
        // More room: several commits of one log.
        var wide = CommitPull(listed: [log(1): 10], asked: [])
        #expect(wide.nextDots(known, countMax: 4) == (1...4).map { dot(1, $0) })
        known.reviewStops(linkCount: 0)
        #expect(wide.isOpen(log(1), known))
    }

    @Test("A commit that there is no room for is asked for again once the other one is applied")
    func noRoom() throws {
        var known = logs(byteCountMax: 50)
        var pull = CommitPull(listed: [log(1): 1], asked: [])
        pull.add(try commit(1, 1, heads: [2: 1]), &known, chain)
        #expect(pull.nextDots(known, countMax: 8) == [])
        pull.wantGaps(&known)
        #expect(pull.nextDots(known, countMax: 8) == [dot(2, 1)])
        pull.add(try commit(2, 1), &known, chain)
        #expect(pull.nextDots(known, countMax: 8) == [dot(1, 1)])
    }

    @Test("A storage that claims any number of commits overflows nothing")
    func absurdTargets() {
        let pull = CommitPull(listed: [log(1): .max, log(2): .max], asked: [])
        #expect(pull.commitsLeft(logs()) == .max)
    }

    // MARK: Forks

    @Test("A commit that names another hash than the known one shows a fork, and counts nevertheless")
    func forks() throws {
        var known = logs()
        #expect(pull([try commit(1, 1)], &known) == [dot(1, 1)])
        #expect(pull([try commit(2, 1, heads: [1: 1], headSalt: 1)], &known) == [dot(2, 1)])
        let fork = try #require(known.forks[log(1)])
        #expect(fork.witness == dot(2, 1) && !fork.isProven)
        // The author's own word replaces another's, and not the other way round.
        let proven = ForkedLog(dot: dot(1, 1), known: fork.known, other: fork.other, witness: nil)
        #expect(!known.add(proven, chain) && known.forks[log(1)] == proven)
        #expect(!known.add(fork, chain) && known.forks[log(1)] == proven)
        #expect(!known.reviewForks(chain) && known.forks[log(1)] == proven)
    }

    // MARK: This device

    @Test("A commit made here takes the place of one that was refused there")
    func made() throws {
        var known = logs(9)
        _ = known.stop(at: dot(9, 1), .notAuthentic)
        var hasDropped = known.recordMade(try #require(try summary(9, 1)))
        #expect(!hasDropped)
        #expect(known.stops.isEmpty && known.ownSummary?.head.sequence == 1)
        // What waited for it was dropped, and has to be fetched again.
        #expect(pull([try commit(1, 1, heads: [9: 2])], &known) == [])
        hasDropped = known.recordMade(try #require(try summary(9, 2)))
        #expect(hasDropped)
    }

    @Test("Bounds name the logs that changed something first, and no more than an author may have")
    func bounds() throws {
        var known = logs()
        for number in [1, 2, 3] as [UInt64] {
            let commit = try commit(number, 1, by: 1, writes: number == 3)
            known.recordApplied(commit, LogSummary(commit, after: nil))
        }
        let bounds = try known.bounds(of: identity(1)).bounds
        #expect(Set(bounds.map(\.log)) == [log(3), log(1)])
        #expect(try known.heads().bounds.count == 3)
    }

    @Test("More logs than a commit can name are an error")
    func tooManyLogs() throws {
        var known = logs(9, logCountMax: 1)
        for number in [1, 2] as [UInt64] {
            let commit = try commit(number, 1)
            known.recordApplied(commit, LogSummary(commit, after: nil))
        }
        #expect(throws: SyncError.tooManyLogs) { try known.heads() }
    }
}

struct MissingCommitsTests {
    @Test("A log is reported once enough rounds in a row have found it to be stale")
    func stale() {
        var stale = StaleLogs(roundsMax: 2)
        stale.record(log(1), isStale: true)
        #expect(stale.isDoubtful && stale.reported.isEmpty)
        #expect(stale.contains(otherThan: log(2)) && !stale.contains(otherThan: log(1)))
        stale.record(log(1), isStale: true)
        #expect(!stale.isDoubtful && stale.reported == [log(1)])
        stale.record(log(1), isStale: false)
        #expect(stale == StaleLogs(roundsMax: 2))
    }

    @Test("A commit that is missing in two rounds is lost, and a checkpoint is looked for only now and then")
    func lost() {
        var absent = AbsentCommits()
        absent.record([dot(1, 1)])
        #expect(absent.lost.isEmpty && !absent.needCheckpoint(isThorough: true))
        absent.record([dot(1, 1), dot(2, 1)])
        #expect(absent.lost == [dot(1, 1)] && absent.needCheckpoint(isThorough: false))
        absent.foundNoCheckpoint()
        #expect(!absent.needCheckpoint(isThorough: false) && absent.needCheckpoint(isThorough: true))
        absent.record([])
        #expect(absent.lost.isEmpty && !absent.needCheckpoint(isThorough: true))
    }
}
