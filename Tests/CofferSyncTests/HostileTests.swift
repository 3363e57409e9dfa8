import CofferFacts
import CofferFormat
import CofferRemote
import CofferTrust
import RemoteConformance
import SyncTestSupport
import Testing

@testable import CofferSync

/// What a hostile member or storage puts beside the commits of others: refused by name, and the others go on.
struct HostileTests {
    private struct Scene {
        let world: SyncWorld
        let olga: Device
        let will: Device
        let mallory: Person
        let log = LogID(low: 666, high: 6)

        var first: Dot { Dot(log: log, sequence: 1) }
        func introduction() throws -> LogIntroduction { try LogIntroduction(name: "Mallory", label: "den") }

        init() async throws {
            world = try await SyncWorld()
            olga = try world.device(world.owner, "laptop")
            will = try world.device(try await world.adds("Will", .writer), "desk")
            mallory = try await world.adds("Mallory", .writer)
        }

        /// Others exchange files; what is said of Mallory's log.
        func othersGoOn(_ round: Int = 1) async throws -> CommitProblem? {
            try await olga.writes("o\(round)", "1")
            try await olga.sync()
            try await will.writes("w\(round)", "2")
            try await will.sync()
            try await olga.sync()
            #expect(await olga.stateHash() == will.stateHash())
            let files = await olga.files()
            #expect(files["o\(round)"] == "1" && files["w\(round)"] == "2")
            for device in [olga, will] {
                #expect(
                    await device.findings().contains {
                        "\($0)".contains(log.description) || "\($0)".contains("Mallory")
                    })
            }
            for case .stopped(let author, _, let problem) in await will.findings() where author.log == log {
                return problem
            }
            return nil
        }
    }

    @Test func aCommitOfAGibibyteIsNotRead() async throws {
        let scene = try await Scene()
        let name = scene.world.layout.commit(scene.log, 1)
        let counting = CountingRemote(HugeObject(base: scene.world.remote, name: name))
        try await scene.world.put([0], at: scene.first)
        scene.will.restart(remote: counting)
        scene.olga.restart(remote: counting)
        #expect(try await scene.othersGoOn() == .tooLong(byteCount: 1 << 30))
        #expect(counting.counts.bytesReceived < 4 << 20)
    }

    @Test func namesThatAreNoNames() async throws {
        let scene = try await Scene()
        let facts = try fileFacts(9, "abc")
        for byte in [UInt8(ascii: "/"), 0] {
            var body = CommitBody(
                previous: .zero, clock: 1, stateHash: .zero, heads: .none,
                introduction: try scene.introduction(), notices: [], facts: facts
            ).paddedBytes
            let place = try body.indices.last { body[$0...].starts(with: Array("abc".utf8)) }.orThrow()
            body[place] = byte
            let bytes = SignedRecord.sealing(
                body, as: .commit, at: scene.first, under: scene.world.keyring.current,
                members: try scene.world.chain.head.orThrow(), writes: true, by: scene.mallory.author)
            try await scene.world.put(bytes, at: scene.first)
            #expect(try await scene.othersGoOn(Int(byte)) == .malformed(.invalid(field: "name")))
        }
    }

    @Test func factsThatOnlyANewerCofferKnows() async throws {
        let scene = try await Scene()
        var body = CommitBody(
            previous: .zero, clock: 1, stateHash: .zero, heads: .none, introduction: try scene.introduction(),
            notices: [], facts: try fileFacts(9, "abc")
        ).paddedBytes
        // The attribute of the first fact: behind version, number of logs, number of facts.
        let place = 4 + 32 + 8 + 32 + 2 + 1 + 2 + 7 + 2 + 3 + 1 + 4 + 1 + 2 + 4
        #expect(body[place] == 1)
        body[place] = 200
        let bytes = SignedRecord.sealing(
            body, as: .commit, at: scene.first, under: scene.world.keyring.current,
            members: try scene.world.chain.head.orThrow(), writes: true, by: scene.mallory.author)
        try await scene.world.put(bytes, at: scene.first)
        #expect(try await scene.othersGoOn() == .newerContent(field: "attribute", found: 200))
    }

    @Test func aNewerFormatVersionIsNamed() async throws {
        let scene = try await Scene()
        var bytes = try scene.world.forge(
            scene.mallory, at: scene.first, introduction: try scene.introduction())
        bytes[8] = 7
        try await scene.world.put(bytes, at: scene.first)
        #expect(try await scene.othersGoOn() == .newerVersion(found: 7, supported: 1))
    }

    @Test func aParentThatIsAFileLosesNothing() async throws {
        let scene = try await Scene()
        let file = ItemID(low: 1, high: 0xF11E)
        let child = ItemID(low: 2, high: 0xF11E)
        let place = Place(parent: file, name: try EntryName("inner".utf8).orThrow())
        let facts =
            try fileFacts(1, "outer") + [
                Fact(.kind(child, .file)),
                Fact(.place(EntryID(low: 2, high: 0xE), .init(item: child, place: place, previous: nil))),
            ]
        let bytes = try scene.world.forge(
            scene.mallory, at: scene.first, facts: facts, introduction: try scene.introduction())
        try await scene.world.put(bytes, at: scene.first)
        #expect(try await scene.othersGoOn() == nil)
        // Shown in the root; said by name.
        #expect(await scene.olga.files().keys.contains("inner"))
        #expect(await scene.olga.findings().contains { if case .complaint = $0 { true } else { false } })
    }

    @Test func aReaderWhoWrites() async throws {
        let scene = try await Scene()
        let rita = try await scene.world.adds("Rita", .reader)
        let bytes = try scene.world.forge(
            rita, at: scene.first, facts: try fileFacts(1, "bad"), introduction: try scene.introduction())
        try await scene.world.put(bytes, at: scene.first)
        #expect(try await scene.othersGoOn() == .right(.missingRight(.write)))
        #expect(await !scene.olga.files().keys.contains("bad"))
    }

    @Test func aMissingCommitHoldsUpOnlyThoseBehindIt() async throws {
        let scene = try await Scene()
        let heads = [LogBound(log: LogID(low: 777, high: 7), sequence: 3, hash: .zero)]
        let bytes = try scene.world.forge(
            scene.mallory, at: scene.first, heads: heads, facts: try fileFacts(1, "waits"),
            introduction: try scene.introduction())
        try await scene.world.put(bytes, at: scene.first)
        _ = try await scene.othersGoOn()
        let gap = await scene.olga.findings().contains {
            if case .gap(let author, missing: 3, let waiting, sequence: 1) = $0 {
                author.log == LogID(low: 777, high: 7) && waiting.log == scene.log
            } else {
                false
            }
        }
        #expect(gap)
    }

    @Test func clocksThatAreYearsOff() async throws {
        let scene = try await Scene()
        let bytes = try scene.world.forge(
            scene.mallory, at: scene.first, clock: .max, facts: try fileFacts(1, "future"),
            introduction: try scene.introduction())
        try await scene.world.put(bytes, at: scene.first)
        #expect(try await scene.othersGoOn() == nil)
        #expect(await scene.olga.files().keys.contains("future"))
        #expect(await scene.olga.findings().contains { if case .clockAhead = $0 { true } else { false } })
        #expect(try await scene.othersGoOn(2) == nil)
    }

    @Test func aDamagedCommitHealsWhenItIsPutRight() async throws {
        let scene = try await Scene()
        let bytes = try scene.world.forge(
            scene.mallory, at: scene.first, facts: try fileFacts(1, "good"),
            introduction: try scene.introduction())
        var damaged = bytes
        damaged[100] ^= 1
        try await scene.world.put(damaged, at: scene.first)
        #expect(try await scene.othersGoOn() == .notAuthentic)
        try await scene.world.put(Array(bytes.prefix(300)), at: scene.first)
        #expect(try await scene.othersGoOn(2) == .damaged(.truncated))
        try await scene.world.put(bytes, at: scene.first)
        try await scene.olga.sync()
        #expect(await scene.olga.files().keys.contains("good"))
        #expect(await scene.olga.findings().isEmpty)
    }

    @Test func aReplayedCommitOfAnotherPlace() async throws {
        let scene = try await Scene()
        let bytes = try scene.world.forge(
            scene.mallory, at: Dot(log: scene.log, sequence: 2), facts: try fileFacts(1, "x"))
        try await scene.world.put(bytes, at: scene.first)
        #expect(try await scene.othersGoOn() == .elsewhere)
    }

    @Test func twoHistoriesOfALogAreNamed() async throws {
        let scene = try await Scene()
        let one = try scene.world.forge(
            scene.mallory, at: scene.first, facts: try fileFacts(1, "one"),
            introduction: try scene.introduction())
        let two = try scene.world.forge(
            scene.mallory, at: scene.first, facts: try fileFacts(2, "two"),
            introduction: try scene.introduction())
        // Each of the others is shown another one.
        try await scene.world.put(one, at: scene.first)
        try await scene.olga.sync()
        try await scene.world.put(two, at: scene.first)
        try await scene.will.writes("w", "1")
        try await scene.will.sync()
        try await scene.olga.sync()
        let forks = await scene.olga.findings().compactMap { finding -> ForkedLog? in
            if case .forked(let author, let fork) = finding, author.name == "Mallory" { fork } else { nil }
        }
        #expect(forks.count == 1)
        #expect(forks.first?.dot == scene.first && forks.first?.known != forks.first?.other)
        // After a start, what the storage shows in the place of what was known is found out too.
        let third = try scene.world.device(scene.world.owner, "third")
        try await scene.world.put(one, at: scene.first)
        try await third.sync()
        try await scene.world.put(two, at: scene.first)
        third.restart()
        try? await third.sync()
        #expect(await third.findings().contains { if case .forked = $0 { true } else { false } })
    }

    /// The storage forgets everything when a device wants to take all facts anew.
    @Test func whatTheStorageHasNoMoreIsNotGivenUp() async throws {
        let scene = try await Scene()
        let mallory = try scene.world.device(scene.mallory, "den")
        try await mallory.writes("seen", "1")
        try await mallory.sync()
        let bound = try await scene.world.bound(mallory)
        try await mallory.writes("unseen", "2")
        try await mallory.sync()
        try await scene.will.writes("own", "3")
        try await scene.will.sync()
        try await scene.world.removes(scene.mallory, [bound])
        let commits = scene.world.remote.objects.filter { scene.world.layout.logs.contains($0.key) }
        for name in commits.keys { try await scene.world.remote.delete(name) }
        for _ in 0..<3 { try await scene.will.sync() }
        #expect(await scene.will.files() == ["seen": "1", "unseen": "2", "own": "3"])
        let isNamed = await scene.will.findings().contains {
            if case .stale(_, known: 2, shown: 0) = $0 { true } else { false }
        }
        #expect(isNamed)
        for (name, bytes) in commits {
            try await scene.world.remote.put(name, .memory(bytes), ifAbsent: false)
        }
        for _ in 0..<2 { try await scene.will.sync() }
        #expect(await scene.will.files() == ["seen": "1", "own": "3"])
    }

    /// Who may only read, says that Will's log had another commit.
    @Test func whoTellsOfAnotherHistoryStopsNobody() async throws {
        let scene = try await Scene()
        let rita = try await scene.world.adds("Rita", .reader)
        try await scene.will.writes("w", "1")
        try await scene.will.sync()
        let bound = try await scene.world.bound(scene.will)
        let lie = LogBound(log: bound.log, sequence: bound.sequence, hash: .zero)
        let bytes = try scene.world.forge(
            rita, at: scene.first, heads: [lie], introduction: try scene.introduction())
        try await scene.world.put(bytes, at: scene.first)
        let fork = ForkedLog(
            dot: Dot(log: bound.log, sequence: bound.sequence), known: bound.hash, other: .zero,
            witness: scene.first)
        for round in 1...3 { #expect(try await scene.othersGoOn(round) == .forked(fork)) }
        for device in [scene.olga, scene.will] {
            #expect(
                await device.findings().contains {
                    if case .forked(let author, fork) = $0 { author.name == "Will" } else { false }
                })
        }
    }

    @Test func aStorageThatShowsLessIsStale() async throws {
        let scene = try await Scene()
        try await scene.olga.writes("a", "1")
        try await scene.olga.sync()
        try await scene.will.sync()
        let name = scene.world.layout.commit(scene.olga.log, 1)
        let bytes = try #require(scene.world.remote.objects[name])
        try await scene.world.remote.delete(name)
        func isStale() async -> Bool {
            await scene.will.findings().contains {
                if case .stale(_, known: 1, shown: 0) = $0 { true } else { false }
            }
        }
        for round in 0..<3 {
            #expect(await !isStale(), "round \(round)")
            try await scene.will.sync()
        }
        #expect(await isStale())
        try await scene.world.remote.put(name, .memory(bytes), ifAbsent: true)
        try await scene.will.sync()
        #expect(await !isStale())
    }

    @Test func anAnnouncedRestoreIsSilent() async throws {
        let scene = try await Scene()
        try await scene.olga.writes("a", "1")
        try await scene.olga.sync()
        try await scene.will.sync()
        try await scene.world.remote.delete(scene.world.layout.commit(scene.olga.log, 1))
        try await scene.world.announcesRestore([])
        for _ in 0..<5 { try await scene.will.sync() }
        #expect(await scene.will.findings().isEmpty)
    }

    @Test func aForkIsForgottenOnceARestoreIsAnnounced() async throws {
        let scene = try await Scene()
        let one = try scene.world.forge(
            scene.mallory, at: scene.first, facts: try fileFacts(1, "one"),
            introduction: try scene.introduction())
        let two = try scene.world.forge(
            scene.mallory, at: scene.first, facts: try fileFacts(2, "two"),
            introduction: try scene.introduction())
        try await scene.world.put(one, at: scene.first)
        try await scene.will.sync()
        // The storage was put back to before all that, and somebody went on.
        try await scene.world.remote.delete(scene.world.layout.commit(scene.will.log, 1))
        try await scene.world.put(two, at: scene.first)
        scene.will.restart()
        try await scene.will.sync()
        #expect(await scene.will.findings().contains { if case .forked = $0 { true } else { false } })
        try await scene.world.announcesRestore([])
        for _ in 0..<2 { try await scene.will.sync() }
        #expect(await scene.will.findings().isEmpty)
        #expect(await scene.will.files() == ["two": ""])
    }

    @Test func numbersThatNoCommitHasAreNoNames() async throws {
        let scene = try await Scene()
        try await scene.will.writes("w", "1")
        try await scene.will.sync()
        let layout = scene.world.layout
        for log in [scene.log, scene.will.log, scene.olga.log] {
            let numbers: [UInt64] = [.max, .max - 1, 1 << 63, Dot.sequenceMax + 1]
            for sequence in numbers {
                try await scene.world.remote.put(layout.commit(log, sequence), .memory([1]), ifAbsent: true)
                try await scene.world.remote.put(
                    layout.checkpoint(log, sequence), .memory([1]), ifAbsent: true)
            }
        }
        for device in [scene.olga, scene.will, scene.olga] { try await device.sync() }
        #expect(await scene.olga.files() == ["w": "1"])
        #expect(await scene.olga.findings().isEmpty)
        // The highest ones that are names: commits are missing in front of them.
        for log in [scene.log, LogID(low: 667, high: 6)] {
            try await scene.world.put([1], at: Dot(log: log, sequence: Dot.sequenceMax))
        }
        try await scene.olga.writes("o", "1")
        for device in [scene.olga, scene.will] { try await device.sync() }
        #expect(await scene.will.files().count == 2)
        #expect(await scene.olga.engine.status.progress.commitsLeft > 1 << 62)
    }

    /// More logs than are looked into at a time, which are none, stand in front of one that is.
    @Test func logsThatAreNoneHideNoOther() async throws {
        let scene = try await Scene()
        try await scene.olga.sync()
        for number in 0..<1100 as Range<UInt64> {
            try await scene.world.put([1], at: Dot(log: LogID(low: number << 8, high: 0), sequence: 1))
        }
        try await scene.will.writes("w", "1")
        try await scene.will.sync()
        for _ in 0..<2 { try await scene.olga.sync() }
        #expect(await scene.olga.files() == ["w": "1"])
        // And once more, as the logs of others are known now.
        let third = try scene.world.device(scene.world.owner, "third")
        try await third.writes("t", "2")
        try await third.sync()
        for _ in 0..<2 { try await scene.olga.sync() }
        #expect(await scene.olga.files() == ["w": "1", "t": "2"])
    }

    @Test func recordsWithNumbersThatNoCommitHasAreRefused() async throws {
        let scene = try await Scene()
        let heads = [LogBound(log: LogID(low: 777, high: 7), sequence: .max, hash: .zero)]
        let bytes = try scene.world.forge(
            scene.mallory, at: scene.first, heads: heads, facts: try fileFacts(1, "x"),
            introduction: try scene.introduction())
        try await scene.world.put(bytes, at: scene.first)
        #expect(try await scene.othersGoOn() == .malformed(.invalid(field: "sequence")))
    }

    @Test func announcementsOfOtherCheckpointsAreLeftAside() async throws {
        let scene = try await Scene()
        let admin = try await scene.world.adds("Ada", .admin)
        for (round, sequence) in [UInt64.max, 1, 0].enumerated() {
            let dot = Dot(log: LogID(low: UInt64(round), high: 66), sequence: 1)
            let bytes = try scene.world.forge(
                admin, at: dot, introduction: try LogIntroduction(name: "Ada", label: "x"),
                notices: [.checkpoint(sequence: sequence, .zero)])
            try await scene.world.put(bytes, at: dot)
        }
        try await scene.olga.sync()
        // With this device's own, which acknowledges them.
        #expect(await scene.olga.engine.logs.count == 4)
        #expect(await scene.olga.engine.standing == nil)
    }

    @Test func aListingWithoutEndHasOne() async throws {
        let scene = try await Scene()
        try await scene.will.writes("w", "1")
        try await scene.will.sync()
        scene.olga.restart(remote: CircularListing(base: scene.world.remote))
        do {
            try await scene.olga.sync()
            Issue.record("the listing had an end")
        } catch {
            #expect("\(error)".contains("a listing goes back"))
        }
    }

    @Test func aRemovedMembersUnseenCommitsAreTakenBack() async throws {
        let scene = try await Scene()
        let mallory = try scene.world.device(scene.mallory, "den")
        try await mallory.writes("seen", "1")
        try await mallory.sync()
        let bound = try await scene.world.bound(mallory)
        try await scene.olga.sync()
        try await mallory.writes("unseen", "2")
        try await mallory.sync()
        // Will has applied it, and says so; the owner removes Mallory without having seen it.
        try await scene.will.sync()
        #expect(await scene.will.files().keys.contains("unseen"))
        try await scene.world.removes(scene.mallory, [bound])
        try await scene.will.writes("own", "3")
        for device in [scene.will, scene.olga, scene.will] { try await device.sync() }
        #expect(await scene.will.files() == ["seen": "1", "own": "3"])
        #expect(await scene.olga.files() == ["seen": "1", "own": "3"])
        #expect(await scene.will.stateHash() == scene.olga.stateHash())
        let withdrawn = await scene.will.findings().contains {
            if case .withdrawn(let author, from: 2) = $0 { author.name == "Mallory" } else { false }
        }
        #expect(withdrawn)
        await #expect(throws: SyncError.self) { try await mallory.sync() }
    }
}

/// A remote with one object that says to be of a gibibyte.
private struct HugeObject: RemoteBackend {
    let base: any RemoteBackend
    let name: RemoteName

    var limits: RemoteLimits { base.limits }
    func describe() -> String { base.describe() }
    func changes(below prefix: RemotePrefix) -> RemoteChanges { base.changes(below: prefix) }

    func get(_ name: RemoteName, _ range: Range<Int>) async throws(RemoteError) -> RemoteContent {
        guard name == self.name else { return try await base.get(name, range) }
        let bytes = [UInt8](repeating: 0, count: range.clamped(to: 0..<1 << 30).count)
        return RemoteContent(bytes: bytes, objectByteCount: 1 << 30)
    }

    func put(_ name: RemoteName, _ bytes: RemoteBytes, ifAbsent: Bool) async throws(RemoteError) {
        try await base.put(name, bytes, ifAbsent: ifAbsent)
    }

    func list(_ prefix: RemotePrefix, after: RemoteName?) async throws(RemoteError) -> RemotePage {
        try await base.list(prefix, after: after)
    }

    func delete(_ name: RemoteName) async throws(RemoteError) { try await base.delete(name) }
}

/// A remote whose listings, or some of them, begin again when they end.
struct CircularListing: RemoteBackend {
    let base: any RemoteBackend
    /// Those of names that have this segment; nil for all.
    var place: String?

    var limits: RemoteLimits { base.limits }
    func describe() -> String { base.describe() }
    func changes(below prefix: RemotePrefix) -> RemoteChanges { base.changes(below: prefix) }

    func get(_ name: RemoteName, _ range: Range<Int>) async throws(RemoteError) -> RemoteContent {
        try await base.get(name, range)
    }

    func put(_ name: RemoteName, _ bytes: RemoteBytes, ifAbsent: Bool) async throws(RemoteError) {
        try await base.put(name, bytes, ifAbsent: ifAbsent)
    }

    func list(_ prefix: RemotePrefix, after: RemoteName?) async throws(RemoteError) -> RemotePage {
        if let place, !prefix.segments.contains(Substring(place)) {
            return try await base.list(prefix, after: after)
        }
        let page = try await base.list(prefix, after: nil)
        return RemotePage(entries: page.entries, next: page.entries.first?.name)
    }

    func delete(_ name: RemoteName) async throws(RemoteError) { try await base.delete(name) }
}
