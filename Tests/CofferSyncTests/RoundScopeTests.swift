import CofferFormat
import CofferRemote
import CofferTrust
import Foundation
import RemoteConformance
import SyncTestSupport
import Testing

@testable import CofferSync

/// A directory that is removed with the last reference to it.
private final class TemporaryDirectory {
    let path: String

    init() throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent(
            "coffer-sync-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
        path = url.path
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}

/// What a round asks of a remote, and what starts a round.
struct RoundScopeTests {
    private struct Pair {
        let directory: TemporaryDirectory
        let world: SyncWorld
        let remote: CountingRemote
        let olga: Device
        let will: Device

        /// Two devices that know each other, with a folder as their remote.
        init() async throws {
            directory = try TemporaryDirectory()
            world = try await SyncWorld()
            let person = try await world.adds("Will", .writer)
            let folder = FolderBackend(path: directory.path)
            // The format object has to come first.
            for (name, bytes) in world.remote.objects.sorted(by: { $0.key < $1.key })
            where name.last == "format" {
                try await folder.put(name, .memory(bytes), ifAbsent: true)
            }
            for (name, bytes) in world.remote.objects where name.last != "format" {
                try await folder.put(name, .memory(bytes), ifAbsent: true)
            }
            remote = CountingRemote(folder)
            olga = try world.device(world.owner, "laptop", remote: remote)
            will = try world.device(person, "desk", remote: remote)
            for device in [olga, will] { try await device.writes("\(device.label).txt", "1") }
            for device in [olga, will, olga, will, olga, will] { try await device.sync() }
        }

        /// The number of gets, lists, puts and deletes of a round.
        func cost(_ device: Device, _ scope: RoundScope) async throws -> [Int] {
            let before = remote.counts
            try await device.engine.round(scope)
            let after = remote.counts
            return [
                after.gets - before.gets, after.lists - before.lists, after.puts - before.puts,
                after.deletes - before.deletes,
            ]
        }
    }

    /// Without notifications, the next names reveal changes: one question for each log, and one for the
    /// members.
    @Test func namesThatComeNext() async throws {
        let pair = try await Pair()
        let before = pair.remote.counts
        #expect(await pair.will.engine.nextNames() == nil)
        let after = pair.remote.counts
        #expect(after.gets - before.gets == 2 && after.lists == before.lists && after.puts == before.puts)
        try await pair.olga.writes("b.txt", "1")
        try await pair.olga.engine.round(.changes)
        let scope = try #require(await pair.will.engine.nextNames())
        #expect(scope == RoundScope(logs: [pair.olga.log]))
        try await pair.will.engine.round(scope)
        #expect(await pair.will.files()["b.txt"] == "1")
        #expect(await pair.will.engine.nextNames() == nil)
        // This device's own commits do not count as changes.
        #expect(await pair.olga.engine.nextNames() == nil)
    }

    @Test func requestsOfAChangeAreFew() async throws {
        let pair = try await Pair()
        try await pair.olga.writes("a.txt", "1")
        // The commit. The replica puts packs.
        #expect(try await pair.cost(pair.olga, .changes) == [0, 0, 1, 0])
        // The commit, and a check that no further one follows.
        let change = try #require(
            RoundScope.change(
                below: pair.world.layout.log(pair.olga.log), pair.world.layout, own: pair.will.log))
        #expect(try await pair.cost(pair.will, change) == [2, 0, 0, 0])
        #expect(await pair.will.files()["a.txt"] == "1")
        // Later, the acknowledgement of what it has applied.
        #expect(try await pair.cost(pair.will, .acknowledgement) == [0, 0, 1, 0])
        #expect(try await pair.cost(pair.will, .acknowledgement) == [0, 0, 0, 0])
    }

    @Test func aPollWithoutChangesIsCheap() async throws {
        let pair = try await Pair()
        for device in [pair.olga, pair.will] {
            // Asks for a further link of the members, and lists all logs.
            #expect(try await pair.cost(device, .poll) == [1, 1, 0, 0])
            // Also asks for the next commit of both logs.
            #expect(try await pair.cost(device, .all) == [3, 1, 0, 0])
            #expect(try await pair.cost(device, .changes) == [0, 0, 0, 0])
        }
    }

    @Test func aPollFindsWhatIsListed() async throws {
        let pair = try await Pair()
        for number in 0..<3 {
            try await pair.olga.writes("a\(number).txt", "1")
            _ = try await pair.cost(pair.olga, .changes)
        }
        // The three commits, and the acknowledgement.
        #expect(try await pair.cost(pair.will, .poll) == [4, 1, 1, 0])
        #expect(await pair.will.files().count == 5)
    }

    @Test func reportedChangesAreFetched() throws {
        let layout = RemoteLayout(VaultID(low: 1, high: 2))
        let (own, other) = (LogID(low: 3, high: 4), LogID(low: 5, high: 6))
        func scope(_ prefix: RemotePrefix) -> RoundScope? { .change(below: prefix, layout, own: own) }
        #expect(scope(.all) == .all)
        #expect(scope(layout.prefix) == .all)
        #expect(scope(layout.log(other)) == RoundScope(logs: [other]))
        #expect(scope(layout.log(own)) == nil)
        #expect(scope(layout.logs) == RoundScope(listsLogs: true))
        #expect(scope(try #require(layout.logs.appending("x"))) == RoundScope(listsLogs: true))
        for prefix in [layout.packs, layout.checkpoints, try #require(layout.checkpoints.appending("x"))] {
            #expect(scope(prefix) == nil)
        }
        for prefix in [layout.members, layout.requests, layout.identities] {
            #expect(scope(prefix) == RoundScope(looksForMembers: true))
        }
    }

    @Test func wakesAreKeptAndCombined() async {
        let wakes = Wakes()
        wakes.wake(.changes)
        await wakes.sleep()
        #expect(wakes.next() == .changes)
        wakes.wake(RoundScope(logs: [LogID(low: 1, high: 1)]))
        wakes.wake(RoundScope(looksForMembers: true, logs: [LogID(low: 2, high: 2)]))
        await wakes.sleep()
        // Wakes before the take are combined; a later one is left for the next take.
        wakes.wake(.acknowledgement)
        let joined = RoundScope(
            looksForMembers: true, logs: [LogID(low: 1, high: 1), LogID(low: 2, high: 2)], acknowledges: true)
        #expect(wakes.peek() == joined)
        #expect(wakes.next() == joined)
        wakes.wake(.poll)
        await wakes.sleep()
        #expect(wakes.next() == .poll)
        let sleeper = Task { await wakes.sleep() }
        sleeper.cancel()
        await sleeper.value
    }

    @Test func afterAFailureARoundLooksEverywhere() async throws {
        let world = try await SyncWorld()
        let olga = try world.device(world.owner, "laptop")
        let will = try world.device(try await world.adds("Will", .writer), "desk")
        for device in [olga, will, olga] { try await device.sync() }
        try await olga.writes("a.txt", "1")
        try await olga.sync()
        try await will.writes("b.txt", "1")
        world.remote.become(.unreachable)
        await #expect(throws: SyncError.self) { try await will.engine.round(.changes) }
        world.remote.become(.well)
        // The failed round may have been the one that was notified of the other's commit.
        try await will.engine.round(.changes)
        #expect(await will.files().count == 2)
    }

    @Test func runFindsLaterChangesInAFolder() async throws {
        let pair = try await Pair()
        let engines = [pair.olga.engine, pair.will.engine]
        let runs = engines.map { engine in Task { await engine.run() } }
        for number in 0..<5 {
            let (from, to) = number % 2 == 0 ? (pair.olga, pair.will) : (pair.will, pair.olga)
            try await from.writes("run\(number)", "1")
            from.engine.localChange()
            for await status in await to.engine.statuses() {
                #expect(status.failure == nil)
                if await to.files()["run\(number)"] == "1" { break }
            }
        }
        for run in runs { run.cancel() }
        for run in runs { await run.value }
    }
}
