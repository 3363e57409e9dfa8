import CofferFormat
import CofferRemote
import CofferTrust
import RemoteConformance
import SyncTestSupport
import Testing

@testable import CofferSync

/// Looks at the members, commits and checkpoints at a remote.
struct RemoteInspectionTests {
    private struct Scene {
        let world: SyncWorld
        let olga: Device, will: Device

        /// Both devices have written, and have seen what the other one wrote.
        init(commits count: Int = 3, every commitsPerCheckpoint: UInt64 = 1000) async throws {
            world = try await SyncWorld()
            olga = try world.device(world.owner, "laptop")
            will = try world.device(try await world.adds("Will", .writer), "desk")
            for device in [olga, will] {
                device.setup.commitsPerCheckpoint = commitsPerCheckpoint
                device.restart()
            }
            for number in 0..<count {
                try await olga.writes("o\(number)", "x")
                try await olga.sync()
                try await will.writes("w\(number)", "x")
                try await will.sync()
            }
            for _ in 0..<3 { for device in [olga, will] { try await device.sync() } }
        }

        func objects(below prefix: RemotePrefix) -> [RemoteName] {
            world.remote.objects.keys.filter { prefix.contains($0) }.sorted()
        }

        func flip(_ name: RemoteName) async throws {
            var bytes = try #require(world.remote.objects[name])
            bytes[bytes.count / 2] ^= 1
            try await world.remote.put(name, .memory(bytes), ifAbsent: false)
        }

        func problems(_ device: Device, readsAll: Bool = false) async -> [RemoteProblem] {
            let findings = await device.engine.inspectRemote(readsAll: readsAll)
            #expect(findings.failures.isEmpty)
            return findings.problems
        }

        /// Expects that an inspection says whether the device has not applied everything.
        func expect(
            _ device: Device, isBehind: Bool, sourceLocation: SourceLocation = #_sourceLocation
        ) async {
            let findings = await device.engine.inspectRemote(readsAll: false)
            let isNotChecked = findings.failures.contains { $0.why == .behind }
            #expect(findings.isBehind == isNotChecked, sourceLocation: sourceLocation)
            #expect(findings.isBehind == isBehind, sourceLocation: sourceLocation)
        }
    }

    @Test(arguments: [false, true])
    func nothingIsMissing(readsAll: Bool) async throws {
        let scene = try await Scene()
        let objects = scene.world.remote.objects
        for device in [scene.olga, scene.will] {
            // Also right after a start, from what is saved.
            for _ in 0..<2 {
                let findings = await device.engine.inspectRemote(readsAll: readsAll)
                #expect(findings.problems == [] && findings.failures.isEmpty)
                #expect(
                    findings.commitCount
                        == scene.world.commitCount(scene.olga) + scene.world.commitCount(scene.will))
                device.restart()
            }
        }
        #expect(scene.world.remote.objects == objects)
    }

    /// What is not at the remote yet is not missing there.
    @Test func unsentCommits() async throws {
        let scene = try await Scene()
        let olga = scene.olga
        try await olga.writes("new", "x")
        #expect(try await olga.engine.makeCommit(isNeeded: false))
        #expect(await scene.problems(olga) == [])
    }

    @Test func missingCommits() async throws {
        let scene = try await Scene()
        let (olga, will) = (scene.olga, scene.will)
        for sequence: UInt64 in [2, 3] {
            try await scene.world.remote.delete(scene.world.layout.commit(olga.log, sequence))
        }
        let author = await will.engine.logs.author(olga.log)
        #expect(await scene.problems(will) == [.commits(author, first: 2, others: 1)])
        #expect(await scene.problems(olga) == [.ownCommits(first: 2, others: 1, areKept: true)])
        // As the message says.
        await olga.engine.lookedLongAgo()
        try await olga.sync()
        for device in [olga, will] { #expect(await scene.problems(device) == []) }
    }

    @Test func theLastCommit() async throws {
        let scene = try await Scene()
        let head = try await scene.olga.ownSummary.head.sequence
        try await scene.world.remote.delete(scene.world.layout.commit(scene.olga.log, head))
        let author = await scene.will.engine.logs.author(scene.olga.log)
        let lost = [RemoteProblem.commits(author, first: head, others: 0)]
        #expect(await scene.problems(scene.will) == lost)
        // Another one that its author has signed for the same place.
        let dot = Dot(log: scene.olga.log, sequence: head)
        try await scene.world.put(scene.world.forge(scene.world.owner, at: dot), at: dot)
        #expect(await scene.problems(scene.will, readsAll: true) == lost)
    }

    /// A changed byte shows only to those who read everything; an object that is cut short, to its author.
    @Test func damagedCommits() async throws {
        let scene = try await Scene()
        let name = scene.world.layout.commit(scene.olga.log, 2)
        let bytes = try #require(scene.world.remote.objects[name])
        try await scene.flip(name)
        for device in [scene.olga, scene.will] {
            #expect(await scene.problems(device) == [])
            #expect(await scene.problems(device, readsAll: true).count == 1)
        }
        try await scene.world.remote.put(name, .memory(Array(bytes.prefix(100))), ifAbsent: false)
        #expect(
            await scene.problems(scene.olga) == [.ownCommits(first: 2, others: 0, areKept: true)])
        // Others see it if no commit is that short.
        let author = await scene.will.engine.logs.author(scene.olga.log)
        #expect(await scene.problems(scene.will) == [.commits(author, first: 2, others: 0)])
        // A commit of somebody else's log in its place is damage, too, though its author signed it.
        let other = try #require(
            scene.world.remote.objects[scene.world.layout.commit(scene.will.log, 2)])
        try await scene.world.remote.put(name, .memory(other), ifAbsent: false)
        #expect(await scene.problems(scene.will, readsAll: true).count == 1)
    }

    @Test func membersAndKeys() async throws {
        let scene = try await Scene()
        let (world, olga) = (scene.world, scene.olga)
        let prefixes = [world.layout.members, world.layout.identities, world.layout.wraps(epoch: 1)]
        for prefix in prefixes {
            for name in scene.objects(below: prefix) {
                let bytes = try #require(world.remote.objects[name])
                try await world.remote.delete(name)
                let missing = await scene.problems(olga)
                #expect(missing.count == 1, "\(name)")
                try await world.remote.put(name, .memory(bytes), ifAbsent: false)
                try await scene.flip(name)
                #expect(await scene.problems(olga) == [], "\(name)")
                let damaged = await scene.problems(olga, readsAll: true)
                #expect(damaged == missing, "\(name)")
                try await world.remote.put(name, .memory(bytes), ifAbsent: false)
            }
        }
        #expect(await scene.problems(olga, readsAll: true) == [])
    }

    @Test func noVault() async throws {
        let scene = try await Scene()
        try await scene.world.remote.delete(scene.world.layout.format)
        #expect(await scene.problems(scene.olga) == [.vault])
    }

    /// Nobody can join without these; they are read even if a listing shows them.
    @Test(arguments: [false, true])
    func whatJoiningNeeds(readsAll: Bool) async throws {
        let scene = try await Scene()
        let (world, olga) = (scene.world, scene.olga)
        let format = world.layout.format
        for bytes in [[1], RemoteFormat(vault: VaultID(low: 1, high: 2)).bytes] as [[UInt8]] {
            try await world.remote.put(format, .memory(bytes), ifAbsent: false)
            #expect(await scene.problems(olga, readsAll: readsAll) == [.format(name: format.text)])
        }
        try await world.remote.put(format, .memory(RemoteFormat(vault: world.vault).bytes), ifAbsent: false)
        await olga.engine.forgetWraps()
        #expect(await scene.problems(olga, readsAll: readsAll) == [])
        let name = try #require(scene.objects(below: world.layout.wraps(epoch: 1)).first)
        try await scene.flip(name)
        #expect(await scene.problems(olga, readsAll: readsAll) == [.wraps(count: 1)])
        try await world.remote.delete(name)
        #expect(await scene.problems(olga, readsAll: readsAll) == [.wraps(count: 1)])
    }

    /// A range of commits without end is neither walked through nor reported as missing.
    @Test(arguments: [false, true])
    func moreCommitsThanCanBeAskedFor(readsAll: Bool) async throws {
        let scene = try await Scene()
        let (olga, will) = (scene.olga, scene.will)
        let head = try await olga.ownSummary.head.sequence
        await will.engine.claims(Dot.sequenceMax, of: olga.log)
        let author = await will.engine.logs.author(olga.log)
        let findings = await will.engine.inspectRemote(readsAll: readsAll)
        #expect(findings.problems == [.commits(author, first: head + 1, others: 1023)])
        let skipped = Int(Dot.sequenceMax - head) - 1024
        #expect(findings.failures.map { $0.why } == [.tooManyMissing(skipped: skipped)])
        #expect(findings.commitCount > 1 << 62)
    }

    @Test func theNumberDecidesTheGrammar() {
        let author = LogAuthor(log: LogID(low: 1, high: 1), name: nil, label: nil)
        for (count, verb) in [(1, "is"), (2, "are")] {
            let pieces = RemoteProblem.pieces(author, sequence: 3, count: count)
            #expect("\(pieces)".hasSuffix(": \(count) of its pieces \(verb) missing or damaged."))
            let checkpoint = RemoteProblem.checkpoint(author, sequence: 3, gone: count)
            #expect("\(checkpoint)".hasSuffix("and \(count) of the commits that it covers \(verb) gone."))
        }
    }

    // MARK: What this device has not applied

    /// What is new counts as not checked until it is applied.
    @Test func newCommits() async throws {
        let scene = try await Scene()
        let (olga, will) = (scene.olga, scene.will)
        await scene.expect(will, isBehind: false)
        try await olga.writes("new", "x")
        try await olga.sync()
        await scene.expect(will, isBehind: true)
        try await will.engine.catchUp()
        await scene.expect(will, isBehind: false)
        // The first commit of another device.
        let tablet = try scene.world.device(scene.world.owner, "tablet")
        try await tablet.writes("tablet", "x")
        try await tablet.sync()
        await scene.expect(will, isBehind: true)
    }

    @Test func aGapInALog() async throws {
        let scene = try await Scene()
        let (olga, will) = (scene.olga, scene.will)
        let head = try await olga.ownSummary.head.sequence
        for name in ["a", "b"] {
            try await olga.writes(name, "x")
            try await olga.sync()
        }
        try await scene.world.remote.delete(scene.world.layout.commit(olga.log, head + 1))
        for _ in 0..<2 {
            try await will.engine.catchUp()
            await scene.expect(will, isBehind: true)
            will.restart()
        }
        // Even if the listing shows nothing of what was missed.
        try await will.engine.catchUp()
        try await scene.world.remote.delete(scene.world.layout.commit(olga.log, head + 2))
        await scene.expect(will, isBehind: true)
    }

    @Test func aStoppedLog() async throws {
        let scene = try await Scene()
        let (olga, will) = (scene.olga, scene.will)
        let head = try await olga.ownSummary.head.sequence
        try await olga.writes("new", "x")
        try await olga.sync()
        let name = scene.world.layout.commit(olga.log, head + 1)
        try await scene.flip(name)
        try await will.engine.catchUp()
        await scene.expect(will, isBehind: true)
        try await scene.world.remote.delete(name)
        await scene.expect(will, isBehind: true)
    }

    /// A commit that came too late counts for nobody, so nobody misses it.
    @Test func anEndedLog() async throws {
        let scene = try await Scene()
        let (world, olga, will) = (scene.world, scene.olga, scene.will)
        let summary = try await will.ownSummary
        let members = try world.chain.head.orThrow()
        try await world.removes(will.person, [summary.bound])
        let late = Dot(log: will.log, sequence: summary.head.sequence + 1)
        let bytes = try world.forge(
            will.person, at: late, previous: summary.head.hash, clock: summary.clock + 1, epoch: .first,
            members: members)
        try await world.put(bytes, at: late)
        try await olga.sync()
        #expect(await olga.engine.logs.hasEnded(will.log))
        await scene.expect(olga, isBehind: false)
    }

    @Test func aWantedRebuild() async throws {
        let scene = try await Scene()
        await scene.will.engine.wantRebuild()
        await scene.expect(scene.will, isBehind: true)
    }

    @Test func nothingApplied() async throws {
        let scene = try await Scene()
        let world = scene.world
        for log in [scene.olga.log, scene.will.log] {
            try await world.remote.delete(world.layout.commit(log, 1))
        }
        let tablet = try world.device(world.owner, "tablet")
        try await tablet.engine.catchUp()
        #expect(await tablet.engine.logs.applied.isEmpty)
        await scene.expect(tablet, isBehind: true)
        // A checkpoint is enough.
        for name in scene.objects(below: world.layout.logs) { try await world.remote.delete(name) }
        let desk = try world.device(world.owner, "desk")
        try await desk.engine.catchUp()
        await scene.expect(desk, isBehind: false)
        try await world.remote.put(
            world.layout.checkpoint(scene.olga.log, 5), .memory([1]), ifAbsent: false)
        await scene.expect(desk, isBehind: true)
    }

    // MARK: Checkpoints

    @Test func checkpoints() async throws {
        let scene = try await Scene(commits: 30, every: 10)
        let (world, olga) = (scene.world, scene.olga)
        let records = scene.objects(below: world.layout.checkpoints).filter {
            RemoteLayout.sequence(of: $0) != nil
        }
        #expect(!records.isEmpty)
        for device in [olga, scene.will] {
            let findings = await device.engine.inspectRemote(readsAll: true)
            #expect(findings.problems == [] && findings.failures.isEmpty)
            #expect(findings.commitCount < 60)
        }
        let standing = try #require(await olga.engine.checkpoints.standing)
        let author = await olga.engine.logs.author(standing.dot.log)
        let piece = world.layout.checkpointPiece(standing.dot.log, standing.dot.sequence, 0)
        let bytes = try #require(world.remote.objects[piece])
        let lost = RemoteProblem.pieces(author, sequence: standing.dot.sequence, count: 1)
        try await scene.flip(piece)
        #expect(await scene.problems(olga) == [])
        #expect(await scene.problems(olga, readsAll: true) == [lost])
        try await world.remote.delete(piece)
        #expect(await scene.problems(olga) == [lost])
        try await world.remote.put(piece, .memory(bytes), ifAbsent: false)

        // Without its record, new devices need commits that were deleted.
        try await world.remote.delete(world.layout.checkpoint(standing.dot.log, standing.dot.sequence))
        let problems = await scene.problems(olga)
        guard case .checkpoint(author, standing.dot.sequence, let gone)? = problems.first else {
            Issue.record("\(problems)")
            return
        }
        #expect(problems.count == 1 && gone > 20)
    }

    /// Without their checkpoint, new devices begin with the commits, as long as these are there.
    @Test func aCheckpointWhoseCommitsAreThere() async throws {
        let scene = try await Scene(commits: 2, every: 15)
        let olga = scene.olga
        // Will's device is away, and has not acknowledged it.
        for number in 0..<20 {
            try await olga.writes("later \(number)", "x")
            try await olga.sync()
        }
        let standing = try #require(await olga.engine.checkpoints.standing)
        #expect(!standing.isCleared)
        #expect(await scene.problems(olga, readsAll: true) == [])
        let author = await olga.engine.logs.author(standing.dot.log)
        let lost = RemoteProblem.checkpoint(author, sequence: standing.dot.sequence, gone: 0)
        let name = scene.world.layout.checkpoint(standing.dot.log, standing.dot.sequence)
        try await scene.flip(name)
        #expect(await scene.problems(olga) == [lost])
        try await scene.world.remote.delete(name)
        #expect(await scene.problems(olga) == [lost])
        try await scene.world.remote.delete(scene.world.layout.commit(olga.log, 1))
        #expect(
            await scene.problems(olga) == [
                .checkpoint(author, sequence: standing.dot.sequence, gone: 1)
            ])
    }

    // MARK: Hostile and failing remotes

    @Test(arguments: ["log", "members", "identities", "packs"])
    func endlessListings(place: String) async throws {
        let scene = try await Scene()
        scene.olga.restart(remote: CircularListing(base: scene.world.remote, place: place))
        try await scene.world.remote.delete(scene.world.layout.member(0))
        let findings = await scene.olga.engine.inspectRemote(readsAll: false)
        let sizes = await scene.olga.engine.listedSizes(of: [PackID(low: 1, high: 1)])
        #expect(sizes.isEmpty)
        // Nothing is reported as missing because of a listing without end.
        #expect(findings.failures.isEmpty == ["identities", "packs"].contains(place))
        #expect(findings.problems == (place == "members" ? [] : [.links(first: 0, others: 0)]))
    }

    @Test func anUnreachableRemote() async throws {
        let scene = try await Scene()
        scene.world.remote.become(.unreachable)
        let findings = await scene.olga.engine.inspectRemote(readsAll: true)
        #expect(findings.problems == [] && findings.failures.count == 1)
    }

    // MARK: Catching up

    /// Only fetches: what waits to be sent, and what is lost, is for rounds.
    @Test func catchingUpSendsNothing() async throws {
        let scene = try await Scene()
        let (olga, will) = (scene.olga, scene.will)
        try await will.writes("news", "x")
        try await will.sync()
        try await olga.writes("unsent", "x")
        try await scene.world.remote.delete(scene.world.layout.commit(olga.log, 2))
        let objects = scene.world.remote.objects
        try await olga.engine.catchUp()
        #expect(await olga.files()["news"] == "x")
        #expect(scene.world.remote.objects == objects)
        try await olga.sync()
        #expect(scene.world.remote.objects[scene.world.layout.commit(olga.log, 2)] != nil)
        try await will.sync()
        #expect(await will.files()["unsent"] == "x")
    }
}

extension SyncEngine {
    /// Makes the next round compare its own log with the remote.
    fileprivate func lookedLongAgo() { ownLog.compared(lost: Set(ownLog.lost), at: nil) }

    /// Forgets the sets of wraps that this device keeps.
    fileprivate func forgetWraps() { duties.beginRestore() }

    fileprivate func wantRebuild() { rounds.isRebuildWanted = true }

    /// Believes that a log's applied commits end with this number.
    fileprivate func claims(_ sequence: UInt64, of log: LogID) {
        guard let known = logs[log] else { return }
        let head = CommitPoint(
            sequence: sequence, hash: known.head.hash, members: known.head.members, writes: true)
        let claimed = LogSummary(
            log: log, author: known.author, introduction: known.introduction, clock: known.clock, head: head,
            lastWrite: head)
        let summaries = logs.applied.values.filter { $0.log != log } + [claimed]
        var versions = VersionVector()
        for summary in summaries { versions[summary.log] = summary.head.sequence }
        let isRestored = logs.restore(summaries, versions)
        #expect(isRestored)
    }
}
