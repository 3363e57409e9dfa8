import CofferFormat
import CofferTrust
import Testing

@testable import CofferSync

struct KnownCheckpointsTests {
    private func hash(_ number: UInt8) -> CheckpointHash {
        CheckpointHash([UInt8](repeating: number, count: 32))
    }

    /// A commit that announces a checkpoint of the commit before it.
    private func announcing(
        _ log: UInt64, _ sequence: UInt64, covering heads: [UInt64: UInt64] = [:]
    ) throws -> VerifiedCommit {
        let notice = CommitNotice.checkpoint(sequence: sequence - 1, hash(1))
        return try commit(log, sequence, heads: heads, notices: [notice], writes: false)
    }

    private func notice(
        _ commits: [VerifiedCommit], _ checkpoints: inout KnownCheckpoints, administrators: Set<UInt8> = []
    ) {
        for commit in commits {
            checkpoints.record(commit, [:]) { identity in
                administrators.contains { CofferSyncTests.identity($0) == identity }
            }
        }
    }

    @Test("An administrator's checkpoint counts at once")
    func anAdministratorsCheckpoint() throws {
        var checkpoints = KnownCheckpoints()
        notice([try announcing(1, 5, covering: [2: 3])], &checkpoints, administrators: [1])
        #expect(checkpoints.standing?.dot == dot(1, 4))
        #expect(checkpoints.covers(dot(2, 3)) && checkpoints.covers(dot(1, 4)))
        #expect(!checkpoints.covers(dot(1, 5)) && !checkpoints.covers(dot(2, 4)))
        #expect(checkpoints.covered(log(2)) == 3 && checkpoints.covered(log(3)) == 0)
    }

    @Test("Another member's checkpoint counts once someone else confirms it")
    func confirmation() throws {
        var checkpoints = KnownCheckpoints()
        notice([try announcing(1, 5, covering: [2: 3])], &checkpoints)
        #expect(checkpoints.standing == nil && checkpoints.mayCover(dot(2, 3)))
        let own = CommitNotice.confirmation(dot(1, 4), hash(1))
        notice([try commit(1, 6, notices: [own])], &checkpoints)
        #expect(checkpoints.standing == nil)
        let other = CommitNotice.confirmation(dot(1, 4), hash(2))
        notice([try commit(2, 4, notices: [other])], &checkpoints)
        #expect(checkpoints.standing == nil)
        notice([try commit(2, 5, notices: [own])], &checkpoints)
        #expect(checkpoints.standing?.dot == dot(1, 4) && checkpoints.unconfirmed.isEmpty)
    }

    @Test("An announcement counts only for the commit before it")
    func anAnnouncementElsewhere() throws {
        var checkpoints = KnownCheckpoints()
        let late = CommitNotice.checkpoint(sequence: 3, hash(1))
        notice([try commit(1, 5, notices: [late])], &checkpoints, administrators: [1])
        #expect(checkpoints == KnownCheckpoints())
    }

    @Test("A checkpoint that covers less does not replace one that covers more")
    func theLargerOneStays() throws {
        var checkpoints = KnownCheckpoints()
        notice([try announcing(1, 5, covering: [2: 3])], &checkpoints, administrators: [1, 2])
        notice([try announcing(2, 3, covering: [1: 2])], &checkpoints, administrators: [1, 2])
        #expect(checkpoints.standing?.dot == dot(1, 4))
        // Neither covers the other: the later one counts.
        notice([try announcing(2, 5, covering: [1: 2])], &checkpoints, administrators: [1, 2])
        #expect(checkpoints.standing?.dot == dot(2, 4))
    }

    @Test("Of many checkpoints that nobody confirms, the oldest are forgotten")
    func unconfirmedCheckpointsAreBounded() throws {
        var checkpoints = KnownCheckpoints()
        let count = UInt64(KnownCheckpoints.unconfirmedCountMax) + 3
        notice(try (2...count + 1).map { try announcing($0, 2) }, &checkpoints)
        #expect(checkpoints.unconfirmed.count == KnownCheckpoints.unconfirmedCountMax)
        #expect(checkpoints.unconfirmed.first?.standing.dot == dot(5, 1))
    }

    @Test("Only what changed is saved, and what was saved is restored")
    func rows() throws {
        var checkpoints = KnownCheckpoints()
        #expect(checkpoints.changesToSave().isEmpty)
        notice([try announcing(1, 5, covering: [2: 3])], &checkpoints)
        let unconfirmed = checkpoints.changesToSave()
        #expect(unconfirmed.count == 1 && checkpoints.changesToSave().isEmpty)
        let confirmation = CommitNotice.confirmation(dot(1, 4), hash(1))
        notice([try commit(2, 4, notices: [confirmation])], &checkpoints)
        let changes = checkpoints.changesToSave()
        #expect(changes.count == 2 && changes.contains(KeptChange(unconfirmed[0].key, nil)))
        var restored = KnownCheckpoints()
        for change in changes {
            guard let value = change.value else { continue }
            try restored.restore(KeptRow(change.key, value))
        }
        #expect(restored == checkpoints)
        #expect(throws: FormatError.self) {
            try restored.restore(KeptRow(KeptRow.Key(.checkpoint), [1, 2, 3]))
        }
    }

    @Test("Logs acknowledge a checkpoint by commits that name its announcement")
    func acknowledgements() throws {
        var checkpoints = KnownCheckpoints()
        notice([try announcing(1, 5)], &checkpoints, administrators: [1])
        notice([try commit(2, 1, heads: [1: 4])], &checkpoints)
        #expect(checkpoints.standing?.acknowledged == [log(1)])
        notice([try commit(2, 2, heads: [1: 5])], &checkpoints)
        #expect(checkpoints.standing?.acknowledged == [log(1), log(2)])
    }

    @Test("Devices take turns; without later facts no checkpoint is due")
    func turns() throws {
        let own = try #require(try summary(3, 1))
        let others = try [summary(1, 1), summary(2, 1), summary(3, 1)].compactMap(\.self)
        func turn(administrators: Set<UInt8>) -> CheckpointTurn {
            CheckpointTurn(own: own, commitsPerCheckpoint: 80) { identity in
                administrators.contains { CofferSyncTests.identity($0) == identity }
            }
        }
        // Two logs have lower ids: an eighth of 80 later for each.
        let member = turn(administrators: [])
        #expect(!member.hasCome(after: nil, applied: versions([1: 99]), logs: others))
        #expect(member.hasCome(after: nil, applied: versions([1: 100]), logs: others))
        let administrator = turn(administrators: [3])
        #expect(administrator.hasCome(after: nil, applied: versions([1: 80]), logs: others))
        var checkpoints = KnownCheckpoints()
        notice([try announcing(1, 5)], &checkpoints, administrators: [1])
        let quiet = try #require(checkpoints.largest)
        #expect(!administrator.hasCome(after: quiet, applied: versions([1: 1000]), logs: others))
        checkpoints.recordFacts()
        let changed = try #require(checkpoints.largest)
        #expect(!administrator.hasCome(after: changed, applied: versions([1: 83]), logs: others))
        #expect(administrator.hasCome(after: changed, applied: versions([1: 84]), logs: others))
    }

    @Test("What a checkpoint covers is deleted only once every active log has acknowledged it")
    func activeLogs() throws {
        var known = KnownLogs(
            own: log(1),
            limits: KnownLogs.Limits(logCountMax: 8, authorLogCountMax: 8, waitingByteCountMax: 1000),
            staleRoundsMax: 3)
        let chain = MemberChain(id: ChainID(VaultID(low: 1, high: 1)))
        let first = try commit(2, 1)
        known.recordApplied(first, LogSummary(first, after: nil))
        var checkpoints = KnownCheckpoints()
        notice([try announcing(1, 5, covering: [2: 1])], &checkpoints, administrators: [1])
        let checkpoint = try #require(checkpoints.standing)
        // Its author is no member of this chain, which has none.
        #expect(known.haveAcknowledged(checkpoint, chain, at: 0))
    }
}
