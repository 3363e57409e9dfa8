import CofferFacts
import CofferFormat
import CofferRemote
import CofferTrust
import RemoteConformance
import SyncTestSupport
import Testing

@testable import CofferSync

struct StatusTests {
    private func status(_ of: Device, as seenBy: Device) async throws -> DeviceStatus {
        try await seenBy.engine.status.devices.first { $0.author.log == of.log }.orThrow()
    }

    @Test func howFarEachDeviceHasSynced() async throws {
        let world = try await SyncWorld()
        let olga = try world.device(world.owner, "laptop")
        let will = try world.device(try await world.adds("Will", .writer), "desk")
        try await olga.writes("a.txt", "1")
        try await olga.sync()
        #expect(await olga.engine.status.devices.count == 1)
        #expect(try await status(olga, as: olga).hasAllOfThisDevice)
        for device in [will, olga] { try await device.sync() }
        for isRestarted in [false, true] {
            if isRestarted {
                olga.restart()
                try await olga.sync()
            }
            let seen = try await status(will, as: olga)
            #expect(seen.author == LogAuthor(log: will.log, name: "Will", label: "desk"))
            #expect(seen.identity == will.person.id && !seen.isThisDevice && seen.sequence == 1)
            #expect(seen.milliseconds == nowMilliseconds)
            #expect(seen.hasAllOfThisDevice)
        }
        try await olga.writes("b.txt", "1")
        try await olga.sync()
        #expect(try await !status(will, as: olga).hasAllOfThisDevice)
        for device in [will, olga] { try await device.sync() }
        #expect(try await status(will, as: olga).hasAllOfThisDevice)
    }

    @Test func reportOfAMemberWithoutFurtherCommits() async throws {
        let world = try await SyncWorld()
        let olga = try world.device(world.owner, "laptop")
        let person = try await world.adds("Will", .writer)
        let will = try world.device(person, "desk")
        try await will.writes("a.txt", "1")
        for device in [will, olga] { try await device.sync() }
        #expect(try await status(will, as: olga).isMembers)
        try await world.removes(person, [try await world.bound(will)])
        try await olga.sync()
        #expect(try await !status(will, as: olga).isMembers)
        #expect(try await status(olga, as: olga).isMembers)
    }

    /// A round with little to put succeeds on a full remote, which does not mean that there is room.
    @Test func aRemoteIsFullUntilEverythingIsPut() {
        var status = SyncStatus()
        status.failed(.remote(.full, during: .sending), at: 1)
        #expect(status.isRemoteFull)
        status.progress.bytesSent += 1
        status.succeeded(at: 2, isAllSent: false)
        #expect(status.isRemoteFull && status.failure == nil)
        status.succeeded(at: 3, isAllSent: true)
        #expect(!status.isRemoteFull)
    }

    @Test func theStartOfAnOutageIsReported() async throws {
        let world = try await SyncWorld()
        let olga = try world.device(world.owner, "laptop")
        #expect(await olga.engine.status.succeededAt == nil)
        try await olga.sync()
        #expect(await olga.engine.status.succeededAt == nowMilliseconds)
        #expect(await olga.engine.status.offlineSince == nil)
        world.remote.become(.unreachable)
        for _ in 0..<2 { try? await olga.sync() }
        #expect(await olga.engine.status.offlineSince == nowMilliseconds)
        #expect(await olga.engine.status.succeededAt == nowMilliseconds)
        world.remote.become(.well)
        try await olga.sync()
        #expect(await olga.engine.status.offlineSince == nil)
    }

    @Test func appliedCommitsAreAcknowledgedAfterACrash() async throws {
        let world = try await SyncWorld()
        let olga = try world.device(world.owner, "laptop")
        let will = try world.device(try await world.adds("Will", .writer), "desk")
        try await will.writes("w", "1")
        for device in [will, olga, will] { try await device.sync() }
        for number in 0..<2 {
            try await olga.writes("a\(number)", "1")
            try await olga.sync()
            let count = world.commitCount(will)
            // It applies the commit, and has no chance to acknowledge it.
            try await will.engine.round(RoundScope(listsLogs: true))
            #expect(world.commitCount(will) == count)
            will.restart()
            try await will.sync()
            #expect(world.commitCount(will) == count + 1)
            will.restart()
            try await will.sync()
            #expect(world.commitCount(will) == count + 1)
        }
    }

    @Test func messagesNameObjectAndAuthor() throws {
        let log = LogID(low: 1, high: 2)
        let author = LogAuthor(log: log, name: "Olga", label: "laptop")
        let unknown = LogAuthor(log: log, name: nil, label: nil)
        let fork = ForkedLog(dot: Dot(log: log, sequence: 4), known: .zero, other: .zero, witness: nil)
        let item = ItemID(low: 3, high: 4)
        let problems: [CommitProblem] = [
            .tooLong(byteCount: 7), .newerVersion(found: 2, supported: 1),
            .newerContent(field: "x", found: 1), .damaged(.truncated), .elsewhere, .notAuthentic,
            .unknownEpoch(.first), .unknownMembers(LinkHead(sequence: 1, hash: .zero)),
            .right(.missingRight(.write)), .right(.tooLate(link: 3)), .wrongEpoch(.first, expected: .first),
            .malformed(.invalid(field: "name")), .otherAuthor(.zero), .wrongClaim, .clockGoesBack,
            .namesOwnLog, .wrongIntroduction, .facts(.saidTwice(.kind(item))), .forked(fork),
        ]
        let findings: [SyncFinding] =
            problems.map { .stopped(author, sequence: 4, $0) } + [
                .gap(author, missing: 4, waiting: unknown, sequence: 5), .forked(author, fork),
                .stale(author, known: 4, shown: 2), .withdrawn(author, from: 4),
                .complaint(author, .kindChanged(item)), .otherState(author, sequence: 4),
                .clockAhead(author, milliseconds: 86_400_000),
                .checkpoint(author, sequence: 4, .piece(1)),
            ]
        for finding in findings {
            let text = "\(finding)"
            #expect(text.contains("Olga on laptop"), "\(text)")
            // No names of enum cases, and no values left out.
            #expect(!text.contains("(") && !text.contains("Optional"), "\(text)")
        }
        #expect("\(unknown)".contains(log.description))
        #expect(
            "\(SyncFinding.stopped(author, sequence: 4, .right(.missingRight(.write))))"
                == "commit 4 of Olga on laptop was not allowed: its author had no right to write")
    }
}
