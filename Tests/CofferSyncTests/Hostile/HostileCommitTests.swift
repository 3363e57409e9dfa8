import CofferFacts
import CofferFormat
import CofferRemote
import CofferTrust
import RemoteConformance
import SyncTestSupport
import Testing

@testable import CofferSync

/// Objects that a hostile member puts among others' commits: they are refused and named, and the others
/// continue.
struct HostileCommitTests {
    @Test func aCommitOfAGibibyteIsNotRead() async throws {
        let scene = try await HostileScene()
        let name = scene.world.layout.commit(scene.log, 1)
        let counting = CountingRemote(HugeObject(base: scene.world.remote, name: name))
        try await scene.world.put([0], at: scene.first)
        scene.will.restart(remote: counting)
        scene.olga.restart(remote: counting)
        #expect(try await scene.othersGoOn() == .tooLong(byteCount: 1 << 30))
        #expect(counting.counts.bytesReceived < 4 << 20)
    }

    @Test func malformedNames() async throws {
        let scene = try await HostileScene()
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

    @Test func factsOfANewerVersion() async throws {
        let scene = try await HostileScene()
        var body = CommitBody(
            previous: .zero, clock: 1, stateHash: .zero, heads: .none, introduction: try scene.introduction(),
            notices: [], facts: try fileFacts(9, "abc")
        ).paddedBytes
        // The attribute of the first fact: after the version, the number of logs, and the number of facts.
        let place = 4 + 32 + 8 + 32 + 2 + 1 + 2 + 7 + 2 + 3 + 1 + 4 + 1 + 2 + 4
        #expect(body[place] == 1)
        body[place] = 200
        let bytes = SignedRecord.sealing(
            body, as: .commit, at: scene.first, under: scene.world.keyring.current,
            members: try scene.world.chain.head.orThrow(), writes: true, by: scene.mallory.author)
        try await scene.world.put(bytes, at: scene.first)
        #expect(try await scene.othersGoOn() == .newerContent(field: "attribute", found: 200))
    }

    @Test func aNewerFormatVersionIsReported() async throws {
        let scene = try await HostileScene()
        var bytes = try scene.world.forge(
            scene.mallory, at: scene.first, introduction: try scene.introduction())
        bytes[8] = 7
        try await scene.world.put(bytes, at: scene.first)
        #expect(try await scene.othersGoOn() == .newerVersion(found: 7, supported: 1))
    }

    @Test func aParentThatIsAFileLosesNothing() async throws {
        let scene = try await HostileScene()
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
        // It is shown in the root, and named in a finding.
        #expect(await scene.olga.files().keys.contains("inner"))
        #expect(await scene.olga.findings().contains { if case .complaint = $0 { true } else { false } })
    }

    @Test func aWriteByAReader() async throws {
        let scene = try await HostileScene()
        let rita = try await scene.world.adds("Rita", .reader)
        let bytes = try scene.world.forge(
            rita, at: scene.first, facts: try fileFacts(1, "bad"), introduction: try scene.introduction())
        try await scene.world.put(bytes, at: scene.first)
        #expect(try await scene.othersGoOn() == .right(.missingRight(.write)))
        #expect(await !scene.olga.files().keys.contains("bad"))
    }

    @Test func aMissingCommitBlocksOnlyLaterOnes() async throws {
        let scene = try await HostileScene()
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
        let scene = try await HostileScene()
        let bytes = try scene.world.forge(
            scene.mallory, at: scene.first, clock: .max, facts: try fileFacts(1, "future"),
            introduction: try scene.introduction())
        try await scene.world.put(bytes, at: scene.first)
        #expect(try await scene.othersGoOn() == nil)
        #expect(await scene.olga.files().keys.contains("future"))
        #expect(await scene.olga.findings().contains { if case .clockAhead = $0 { true } else { false } })
        #expect(try await scene.othersGoOn(2) == nil)
    }

    @Test func aDamagedCommitIsAppliedOnceRepaired() async throws {
        let scene = try await HostileScene()
        let bytes = try scene.forged(1, "good")
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
        let scene = try await HostileScene()
        let bytes = try scene.world.forge(
            scene.mallory, at: Dot(log: scene.log, sequence: 2), facts: try fileFacts(1, "x"))
        try await scene.world.put(bytes, at: scene.first)
        #expect(try await scene.othersGoOn() == .elsewhere)
    }

    @Test func recordsWithImpossibleNumbersAreRefused() async throws {
        let scene = try await HostileScene()
        let heads = [LogBound(log: LogID(low: 777, high: 7), sequence: .max, hash: .zero)]
        let bytes = try scene.world.forge(
            scene.mallory, at: scene.first, heads: heads, facts: try fileFacts(1, "x"),
            introduction: try scene.introduction())
        try await scene.world.put(bytes, at: scene.first)
        #expect(try await scene.othersGoOn() == .malformed(.invalid(field: "sequence")))
    }

    @Test func announcementsOfOtherCheckpointsAreLeftAside() async throws {
        let scene = try await HostileScene()
        let admin = try await scene.world.adds("Ada", .admin)
        for (round, sequence) in [UInt64.max, 1, 0].enumerated() {
            let dot = Dot(log: LogID(low: UInt64(round), high: 66), sequence: 1)
            let bytes = try scene.world.forge(
                admin, at: dot, introduction: try LogIntroduction(name: "Ada", label: "x"),
                notices: [.checkpoint(sequence: sequence, .zero)])
            try await scene.world.put(bytes, at: dot)
        }
        try await scene.olga.sync()
        // One of them is this device's own log, which acknowledges the others.
        #expect(await scene.olga.engine.logs.applied.count == 4)
        #expect(await scene.olga.engine.checkpoints.standing == nil)
    }
}
