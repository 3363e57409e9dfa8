import CofferCrypto
import CofferFacts
import CofferFormat
import CofferRemote
import CofferTrust
import RemoteConformance
import SyncTestSupport
import Testing

@testable import CofferSync

/// Members that begin far more logs than they need.
struct LogLimitTests {
    /// Low limits, so that few logs reach them.
    private static let logCountMax = 64, authorLogCountMax = 8

    private func world() -> MembershipWorld {
        let world = MembershipWorld()
        world.adjust = {
            $0.logCountMax = Self.logCountMax
            $0.authorLogCountMax = Self.authorLogCountMax
        }
        return world
    }

    /// Commits that each begin a log of their author and say nothing; some log ids sort before all others.
    private struct Flood {
        let author: Person
        var commits: [(dot: Dot, bytes: [UInt8])] = []

        init(_ author: Person, _ count: Int, from first: UInt64 = 0, knowing device: Device) async throws {
            self.author = author
            let keyring = try await device.keys.keyring().orThrow()
            let members = try await device.engine.chain.head.orThrow()
            for number in first..<first + UInt64(count) {
                let dot = Dot(log: LogID(low: number &* 0x9E37_79B9_7F4A_7C15, high: ~number), sequence: 1)
                commits.append((dot, try Self.commit(author, dot, keyring, members)))
            }
        }

        static func commit(
            _ author: Person, _ dot: Dot, _ keyring: Keyring, _ members: LinkHead, heads: [LogBound] = []
        ) throws -> [UInt8] {
            let body = CommitBody(
                previous: .zero, clock: nowMilliseconds << 16, stateHash: .zero, heads: try LogBounds(heads),
                introduction: try LogIntroduction(name: author.name, label: "x"), notices: [], facts: [])
            return SignedRecord.sealing(
                body.paddedBytes, as: .commit, at: dot, under: keyring.current, members: members,
                writes: false, by: author.author)
        }

        func put(_ world: MembershipWorld) async throws {
            for (dot, bytes) in commits {
                let name = world.layout.commit(dot.log, dot.sequence)
                try await world.remote.put(name, .memory(bytes), ifAbsent: false)
            }
        }

        func delete(_ world: MembershipWorld) async throws {
            for (dot, _) in commits {
                try await world.remote.delete(world.layout.commit(dot.log, dot.sequence))
            }
        }

        var bounds: [LogBound] {
            commits.map {
                LogBound(
                    log: $0.dot.log, sequence: 1, hash: CommitHash(Blake2b.hash($0.bytes, for: .commit)))
            }
        }
    }

    private func exchange(_ one: Device, _ other: Device, _ round: Int) async throws {
        try await one.writes("\(one.person.name)\(round)", "1")
        try await one.sync()
        try await other.writes("\(other.person.name)\(round)", "2")
        try await other.sync()
        try await one.sync()
        let files = await one.files()
        #expect(files["\(one.person.name)\(round)"] == "1" && files["\(other.person.name)\(round)"] == "2")
        #expect(await files == other.files())
        #expect(await one.stateHash() == other.stateHash())
    }

    /// How many logs of an author a device reports as left aside.
    private func waiting(_ device: Device, _ author: Person) async -> Int {
        for case .tooManyLogs(author.id, _, let count) in await device.findings() { return count }
        return 0
    }

    /// If an accomplice names all the logs, the vault reaches its limit, and still works.
    @Test(arguments: [false, true])
    func anAuthorOfVeryManyLogsBlocksNobody(isInLeague: Bool) async throws {
        let world = world()
        let olga = try await world.founded()
        let will = try await world.joins("Will", .writer, by: olga)
        let eve = try await world.joins("Eve", .reader, by: olga)
        let rita = try await world.joins("Rita", .reader, by: olga)
        try await exchange(olga, will, 0)
        let floodCount = isInLeague ? 70 : 40
        let flood = try await Flood(rita.person, floodCount, knowing: rita)
        try await flood.put(world)
        if isInLeague {
            let dot = Dot(log: LogID(low: 1, high: 1 << 40), sequence: 1)
            let bytes = try await Flood.commit(
                eve.person, dot, rita.keys.keyring().orThrow(), rita.engine.chain.head.orThrow(),
                heads: Array(flood.bounds.prefix(Self.logCountMax)))
            try await world.remote.put(world.layout.commit(dot.log, 1), .memory(bytes), ifAbsent: true)
        }
        try await exchange(olga, will, 1)
        // Every log has had its turn.
        for _ in 0..<(isInLeague ? 4 : 1) { for device in [olga, will] { try await device.sync() } }
        try await exchange(olga, will, 2)
        for device in [olga, will] {
            let count = await device.logCount(of: rita.person)
            if isInLeague {
                #expect(count > Self.logCountMax - 8)
                #expect(await device.engine.status.devices.count <= Self.logCountMax)
                #expect(await waiting(device, rita.person) > 0)
            } else {
                #expect(count >= Self.authorLogCountMax && count <= 2 * Self.authorLogCountMax)
                #expect(await waiting(device, rita.person) + count == floodCount)
            }
            #expect(await !device.findings().contains { if case .stopped = $0 { true } else { false } })
        }
        if !isInLeague {
            // A later member still finds room.
            let late = try await world.joins("Late", .writer, by: olga)
            for _ in 0..<2 { try await late.sync() }
            try await exchange(late, olga, 3)
            try await will.sync()
        }
        try await olga.engine.remove(rita.person.id)
        let removal = try await olga.engine.chain.state.removals.last.orThrow()
        #expect(removal.bounds.bounds.count == Self.authorLogCountMax)
        for _ in 0..<3 { for device in [olga, will] { try await device.sync() } }
        try await exchange(olga, will, 4)
        for device in [olga, will] {
            let count = await device.logCount(of: rita.person)
            #expect(count <= Self.authorLogCountMax)
            #expect(await waiting(device, rita.person) == 0)
            #expect(await device.findings().count <= 2 * Findings.countMax)
        }
    }

    /// The storage shows each device other logs of one author; in the end both devices have the same ones,
    /// and no more.
    @Test(arguments: [32 << 20, 1 << 10])
    func devicesWithDifferentLogsAgree(waitingByteCountMax: Int) async throws {
        let world = world()
        let olga = try await world.founded()
        let will = try await world.joins("Will", .writer, by: olga)
        let rita = try await world.joins("Rita", .reader, by: olga)
        for device in [olga, will] {
            device.setup.waitingByteCountMax = waitingByteCountMax
            device.restart()
            try await device.sync()
        }
        let one = try await Flood(rita.person, 10, knowing: rita)
        let other = try await Flood(rita.person, 10, from: 10, knowing: rita)
        try await one.put(world)
        try await olga.sync()
        try await one.delete(world)
        try await other.put(world)
        try await will.sync()
        try await one.put(world)
        try await exchange(olga, will, 1)
        try await exchange(olga, will, 2)
        for device in [olga, will] {
            let count = await device.logCount(of: rita.person)
            #expect(count >= 2 * Self.authorLogCountMax - 1)
            #expect(await waiting(device, rita.person) == 20 - count)
        }
        #expect(await Set(olga.logs()) == Set(will.logs()))
    }

    /// Another log of the same author names them.
    @Test func theAuthorsOwnConfirmationDoesNotCount() async throws {
        let world = world()
        let olga = try await world.founded()
        let will = try await world.joins("Will", .writer, by: olga)
        let rita = try await world.joins("Rita", .reader, by: olga)
        let flood = try await Flood(rita.person, 20, knowing: rita)
        try await flood.put(world)
        let dot = Dot(log: LogID(low: 0, high: 0), sequence: 1)
        let bytes = try await Flood.commit(
            rita.person, dot, rita.keys.keyring().orThrow(), rita.engine.chain.head.orThrow(),
            heads: flood.bounds.filter { $0.log != dot.log })
        try await world.remote.put(world.layout.commit(dot.log, 1), .memory(bytes), ifAbsent: false)
        for round in 1...2 { try await exchange(olga, will, round) }
        for device in [olga, will] {
            let count = await device.logCount(of: rita.person)
            // Each device accepts 256, and then those that the other accepted.
            #expect(count <= 2 * Self.authorLogCountMax && count < flood.commits.count)
            #expect(await waiting(device, rita.person) > 0)
        }
    }

    /// A device that accepted more logs than a commit can name, before there was a limit, learns of the
    /// removal, and makes one.
    @Test func aDeviceWithTooManyLogsRecovers() async throws {
        let world = world()
        let olga = try await world.founded()
        let will = try await world.joins("Will", .writer, by: olga)
        let rita = try await world.joins("Rita", .reader, by: olga)
        try await exchange(olga, will, 1)
        let flood = try await Flood(rita.person, 70, knowing: rita)
        try await flood.put(world)
        let verifier = try await olga.engine.verifier()
        for device in [olga, will] {
            var commits: [IncomingCommit] = []
            for (dot, bytes) in flood.commits {
                let commit = try verifier.verify(bytes, at: dot, after: nil)
                let summary = LogSummary(
                    log: dot.log, author: commit.author, introduction: try commit.body.introduction.orThrow(),
                    clock: commit.body.clock, head: commit.point, lastWrite: nil)
                commits.append(
                    IncomingCommit(
                        FactCommit(
                            stamp: Stamp(clock: commit.body.clock, dot: dot), versions: VersionVector(),
                            label: "x", facts: []),
                        claimedVersions: VersionVector(), claimedState: StateHash.zero,
                        rows: [KeptChange(KeptRow.Key(.log, id: dot.log.bytes), summary.bytes)]))
            }
            while !commits.isEmpty {
                commits.removeFirst(try await device.replica.apply(commits, draft: nil).count)
            }
            device.restart()
            await #expect(throws: SyncError.tooManyLogs) { try await device.sync() }
        }
        try await will.writes("kept", "3")
        try await olga.engine.remove(rita.person.id)
        for _ in 0..<3 { for device in [olga, will] { try? await device.sync() } }
        try await exchange(olga, will, 2)
        #expect(await olga.files()["kept"] == "3")
        #expect(await olga.engine.status.devices.count <= 3 + Self.authorLogCountMax)
    }
}
