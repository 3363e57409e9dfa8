import CofferFormat
import CofferRemote
import CofferTrust
import RemoteConformance
import SyncTestSupport
import Synchronization
import Testing

import CofferSync

struct SyncEngineTests {
    @Test func changesReachTheOtherDevice() async throws {
        let world = try await SyncWorld()
        let olga = try world.device(world.owner, "laptop")
        let will = try world.device(try await world.adds("Will", .writer), "desk")
        try await olga.writes("a.txt", "1")
        try await olga.sync()
        try await will.sync()
        #expect(await will.files() == ["a.txt": "1"])
        // Both write before they see each other's change.
        try await will.writes("a.txt", "2")
        try await olga.writes("a.txt", "3")
        for device in [will, olga, will] { try await device.sync() }
        #expect(await olga.files().values.sorted() == ["2", "3"])
        #expect(await olga.stateHash() == will.stateHash())
        #expect(await (olga.findings() + will.findings()).isEmpty)
    }

    @Test func anIdlePairExchangesNothing() async throws {
        let world = try await SyncWorld()
        let olga = try world.device(world.owner, "laptop")
        let will = try world.device(try await world.adds("Will", .writer), "desk")
        try await olga.writes("a.txt", "1")
        for _ in 0..<3 {
            try await olga.sync()
            try await will.sync()
        }
        // One commit, and one acknowledgement.
        #expect(world.commitCount(olga) == 1 && world.commitCount(will) == 1)
        let objects = world.remote.objects.count
        let transactions = await olga.replica.transactions
        for _ in 0..<5 {
            try await olga.sync()
            try await will.sync()
        }
        #expect(world.remote.objects.count == objects)
        #expect(await olga.replica.transactions <= transactions + 5)
    }

    /// A waiting commit is not forgotten when the next one of its log cannot be checked yet.
    @Test func commitsWaitingBeforeAStopAreApplied() async throws {
        let world = try await SyncWorld()
        let will = try await world.adds("Will", .writer)
        let (long, short) = (LogID(low: 1, high: 9), LogID(low: 2, high: 9))
        var last = LogBound(log: long, sequence: 0, hash: .zero)
        func makes(_ person: Person, _ dot: Dot, _ previous: CommitHash, _ heads: [LogBound]) async throws
            -> LogBound
        {
            let bytes = try world.forge(
                person, at: dot, previous: previous, heads: heads,
                facts: try fileFacts(dot.log.low << 32 | dot.sequence, "\(dot.log.low)-\(dot.sequence)"),
                introduction: dot.sequence == 1 ? try LogIntroduction(name: "x", label: "y") : nil)
            try await world.put(bytes, at: dot)
            let hash = try SyncWorld.commitHash(of: bytes)
            return LogBound(log: dot.log, sequence: dot.sequence, hash: hash)
        }
        // More than are fetched at once, so that they arrive after the other log.
        for sequence in 1...UInt64(60) {
            last = try await makes(world.owner, Dot(log: long, sequence: sequence), last.hash, [])
        }
        let first = try await makes(will, Dot(log: short, sequence: 1), .zero, [last])
        let link = world.layout.member(world.chain.nextSequence)
        _ = try await world.adds("Zoe", .writer)
        _ = try await makes(will, Dot(log: short, sequence: 2), first.hash, [last])
        let bytes = try #require(world.remote.objects[link])
        try await world.remote.delete(link)
        let olga = try world.device(world.owner, "laptop")
        try await olga.sync()
        #expect(await olga.files().count == 61)
        try await world.remote.put(link, .memory(bytes), ifAbsent: true)
        try await olga.sync()
        #expect(await olga.files().count == 62)
        #expect(await olga.findings().isEmpty)
    }

    @Test func aThousandCommitsAreFetchedOnceEach() async throws {
        let world = try await SyncWorld()
        let commits = 1000
        // Two logs of 500 commits; each commit of one names the last of the other.
        var heads: [LogID: LogBound] = [:]
        for number in 0..<UInt64(commits) {
            let log = LogID(low: number % 2, high: 9)
            let dot = Dot(log: log, sequence: number / 2 + 1)
            let bytes = try world.forge(
                world.owner, at: dot, previous: heads[log]?.hash ?? .zero,
                heads: heads.filter { $0.key != log }.map(\.value),
                facts: try fileFacts(number, "f\(number)"),
                introduction: dot.sequence == 1 ? try LogIntroduction(name: "Olga", label: "x") : nil)
            try await world.put(bytes, at: dot)
            let hash = try SyncWorld.commitHash(of: bytes)
            heads[log] = LogBound(log: log, sequence: dot.sequence, hash: hash)
        }
        let counting = CountingRemote(world.remote)
        let will = try world.device(try await world.adds("Will", .admin), "desk", remote: counting)
        try await will.sync()
        #expect(await will.files().count == 1000)
        let counts = counting.counts
        // A get for each commit, some for links, keys and the ends of logs; a list for each thousand names, and one for
        // packs.
        #expect(counts.gets <= commits + 24, "\(counts)")
        #expect(counts.lists <= 9, "\(counts)")
        // Its acknowledgement, and a checkpoint.
        #expect(counts.puts == 4)
        let transactions = await will.replica.transactions
        #expect(transactions <= commits / 16 + 20, "\(transactions) transactions")
        try await will.sync()
        #expect(counting.counts.gets <= counts.gets + 6)
    }

    @Test func commitsThatFindNoRoomToWaitAreFetchedAgain() async throws {
        let world = try await SyncWorld()
        var devices: [Device] = []
        for number in 0..<4 {
            devices.append(try world.device(world.owner, "d\(number)"))
        }
        // Devices with lower ids need commits of devices that come later.
        for number in 0..<24 {
            let device = devices[(number * 3) % 4]
            try await device.writes("f\(number)", "\(number)")
            try await device.sync()
        }
        for byteCountMax in [0, 1000, 3000] {
            let counting = CountingRemote(world.remote)
            let late = try world.device(world.owner, "late", remote: counting)
            late.setup.waitingByteCountMax = byteCountMax
            late.restart()
            try await late.sync()
            #expect(await late.files().count == 24)
            #expect(counting.counts.gets < 600, "\(counting.counts)")
        }
    }

    @Test func commitsMissingFromAListingAreFound() async throws {
        let world = try await SyncWorld()
        let olga = try world.device(world.owner, "laptop")
        let lagging = FrozenListings(base: world.remote)
        let will = try world.device(try await world.adds("Will", .writer), "desk", remote: lagging)
        for number in 0..<4 {
            try await olga.writes("a.txt", "\(number)")
            try await olga.sync()
            try await will.sync()
            #expect(await will.files() == ["a.txt": "\(number)"])
        }
    }

    @Test func aBusyDeviceStillReceivesChanges() async throws {
        let world = try await SyncWorld()
        let olga = try world.device(world.owner, "laptop")
        let will = try world.device(try await world.adds("Will", .writer), "desk")
        try await will.writes("w", "1")
        try await will.sync()
        // Each commit that is put causes another change.
        await olga.replica.changesWithEachCommit()
        try await olga.writes("o", "1")
        try await olga.sync()
        #expect(await olga.files()["w"] == "1")
        let count = world.commitCount(olga)
        try await olga.sync()
        #expect(world.commitCount(olga) > count)
    }

    @Test func aReaderReadsAndAcknowledges() async throws {
        let world = try await SyncWorld()
        let olga = try world.device(world.owner, "laptop")
        let rita = try world.device(try await world.adds("Rita", .reader), "phone")
        try await olga.writes("a.txt", "1")
        try await olga.sync()
        try await rita.writes("b.txt", "2")
        try await rita.sync()
        #expect(await rita.files() == ["a.txt": "1"])
        #expect(world.commitCount(rita) == 1)
        try await olga.sync()
        #expect(await olga.files() == ["a.txt": "1"])
        #expect(await olga.findings().isEmpty)
        // Changes that she may not send are set aside.
        #expect(await rita.replica.setAside.map(\.unsent) == [true])
        #expect(await !rita.replica.hasChanges)
    }

    @Test func aStrangerIsRefusedWithAReason() async throws {
        let world = try await SyncWorld()
        let sam = try world.device(try Person("Sam", 99), "x")
        await #expect(throws: SyncError.notMember) { try await sam.sync() }
        #expect(await sam.engine.status.failure == .notMember)
        let nowhere = try world.device(world.owner, "y", remote: MemoryRemote())
        await #expect(throws: SyncError.noMembers) { try await nowhere.sync() }
    }

    @Test func failuresStayUntilARoundSucceeds() async throws {
        let world = try await SyncWorld()
        let olga = try world.device(world.owner, "laptop")
        try await olga.writes("a.txt", "1")
        world.remote.become(.unreachable)
        await #expect(throws: SyncError.self) { try await olga.sync() }
        #expect(await olga.engine.status.failure != nil)
        world.remote.become(.well)
        try await olga.sync()
        #expect(await olga.engine.status.failure == nil)
        #expect(await olga.engine.status.progress.commitsSent == 1)
    }

    @Test func aCopiedProfileDoesNotWriteOverItself() async throws {
        let world = try await SyncWorld()
        let olga = try world.device(world.owner, "laptop")
        try await olga.writes("a.txt", "1")
        try await olga.sync()
        // The same log, as it was before that commit.
        let copy = try Device(
            world.owner, "laptop", number: 1, vault: world.vault,
            remote: FaultyRemote(world.remote, RemoteFaults(), seed: 1))
        for _ in 0..<10 { _ = copy.id() }
        try await copy.writes("b.txt", "2")
        // It finds its own commits first, and continues after them.
        try await copy.sync()
        #expect(await copy.files() == ["a.txt": "1", "b.txt": "2"])
        #expect(world.commitCount(olga) == 2)
        // Meanwhile the original device has written a different commit in the same place.
        world.remote.become(.well)
        try await olga.writes("c.txt", "3")
        let commit = try #require(world.remote.objects[world.layout.commit(olga.log, 2)])
        try await world.remote.delete(world.layout.commit(olga.log, 2))
        world.remote.become(.readOnly)
        try? await olga.sync()
        world.remote.become(.well)
        try await world.remote.put(world.layout.commit(olga.log, 2), .memory(commit), ifAbsent: true)
        do {
            try await olga.sync()
            Issue.record("two commits of one number")
        } catch {
            guard case .ownLogForked(let fork) = error as? SyncError else { throw error }
            #expect(fork.dot.sequence == 2)
        }
        #expect(world.remote.objects[world.layout.commit(olga.log, 2)] == commit)
    }

    @Test func anObjectInTheWayOfACommitIsReplaced() async throws {
        let world = try await SyncWorld()
        let olga = try world.device(world.owner, "laptop")
        let will = try world.device(try await world.adds("Will", .writer), "desk")
        try await world.put([1, 2, 3], at: Dot(log: olga.log, sequence: 1))
        try await olga.writes("a.txt", "1")
        try await olga.sync()
        try await will.sync()
        #expect(await will.files() == ["a.txt": "1"])
    }

    @Test func runSyncsWhenSomethingChanges() async throws {
        let world = try await SyncWorld()
        let olga = try world.device(world.owner, "laptop")
        let will = try world.device(try await world.adds("Will", .writer), "desk")
        let engines = [olga.engine, will.engine]
        let runs = engines.map { engine in Task { await engine.run(clock: InstantClock()) } }
        try await olga.writes("a.txt", "1")
        olga.engine.localChange()
        for await status in await will.engine.statuses() {
            #expect(status.failure == nil)
            if await will.files() == ["a.txt": "1"] { break }
        }
        for run in runs { run.cancel() }
        for run in runs { await run.value }
    }
}

/// A clock on which time passes at once; if it has polls, they never come.
struct InstantClock: RemoteClock {
    var now: Duration { .zero }
    var hasPolls = true

    func sleep(for duration: Duration) async throws(RemoteError) {
        if duration < .seconds(1) || !hasPolls {
            await Task.yield()
            if Task.isCancelled { throw .cancelled }
            return
        }
        do { try await Task.sleep(for: .seconds(3600)) } catch { throw .cancelled }
    }
}

/// A remote whose listings stay as they were when they were first asked for.
private final class FrozenListings: ForwardingRemote {
    let base: any RemoteBackend
    private let pages = Mutex<[String: RemotePage]>([:])

    init(base: any RemoteBackend) { self.base = base }

    func list(_ prefix: RemotePrefix, after: RemoteName?) async throws(RemoteError) -> RemotePage {
        let key = "\(prefix) \(after?.text ?? "")"
        if let page = pages.withLock({ $0[key] }) { return page }
        let page = try await base.list(prefix, after: after)
        pages.withLock { $0[key] = page }
        return page
    }
}
