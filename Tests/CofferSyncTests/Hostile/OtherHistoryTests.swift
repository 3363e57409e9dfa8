import CofferFacts
import CofferFormat
import CofferRemote
import CofferTrust
import RemoteConformance
import SyncTestSupport
import Testing

import CofferSync

/// A log with two histories, or with fewer commits than before: what is reported, and what is not.
struct OtherHistoryTests {
    @Test func twoHistoriesOfALogAreReported() async throws {
        let scene = try await HostileScene()
        let one = try scene.forged(1, "one")
        let two = try scene.forged(2, "two")
        // The storage shows each of the others a different one.
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
        // After a restart, a different commit in a known commit's place is detected too.
        let third = try scene.world.device(scene.world.owner, "third")
        try await scene.world.put(one, at: scene.first)
        try await third.sync()
        try await scene.world.put(two, at: scene.first)
        third.restart()
        try? await third.sync()
        #expect(await third.findings().contains { if case .forked = $0 { true } else { false } })
    }

    /// A reader claims that Will's log had a different commit.
    @Test func aClaimOfAnotherHistoryBlocksNobody() async throws {
        let scene = try await HostileScene()
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
        for round in 1...3 {
            for device in [scene.will, scene.olga] {
                try await device.writes("\(device.label) \(round)", "1")
                try await device.sync()
            }
            try await scene.will.sync()
            #expect(await scene.olga.files().count == 2 * round + 1)
            #expect(await scene.olga.stateHash() == scene.will.stateHash())
        }
        for device in [scene.olga, scene.will] {
            #expect(
                await device.findings().contains {
                    if case .forked(let author, fork) = $0 { author.name == "Will" } else { false }
                })
        }
    }

    /// Some devices know that a claim about another log is false; others, which have restarted, do not.
    @Test func aLieAboutAnotherLogDividesNobody() async throws {
        let scene = try await HostileScene()
        for number in 1...3 {
            try await scene.will.writes("w\(number)", "1")
            try await scene.will.sync()
        }
        let third = try scene.world.device(scene.world.owner, "third")
        for device in [scene.olga, third, scene.will, scene.olga, third] { try await device.sync() }
        third.restart()
        let lie = LogBound(log: scene.will.log, sequence: 1, hash: .zero)
        let bytes = try scene.world.forge(
            scene.mallory, at: scene.first, heads: [lie], facts: try fileFacts(9, "hers"),
            introduction: try scene.introduction())
        try await scene.world.put(bytes, at: scene.first)
        for device in [scene.olga, third, scene.will] { try await device.sync() }
        for device in [scene.olga, third, scene.will] {
            #expect(await device.files().keys.sorted() == ["hers", "w1", "w2", "w3"])
        }
        // A device that knows better reports it.
        let fork = { (finding: SyncFinding) in
            if case .forked(let author, let fork) = finding {
                author.name == "Will" && !fork.isProven
            } else {
                false
            }
        }
        #expect(await scene.olga.findings().contains(where: fork))
        #expect(await !third.findings().contains(where: fork))
    }

    @Test func anAnnouncedRestoreClearsTheFork() async throws {
        let scene = try await HostileScene()
        let one = try scene.forged(1, "one")
        let two = try scene.forged(2, "two")
        try await scene.world.put(one, at: scene.first)
        try await scene.will.sync()
        // The storage was rolled back to before all that, and a device continued there.
        try await scene.world.remote.delete(scene.world.layout.commit(scene.will.log, 1))
        try await scene.world.put(two, at: scene.first)
        scene.will.restart()
        try await scene.will.sync()
        #expect(await scene.will.findings().contains { if case .forked = $0 { true } else { false } })
        try await scene.world.announcesRestore([])
        for _ in 0..<2 { try await scene.will.sync() }
        #expect(await scene.will.findings().isEmpty)
        let files = await scene.will.files()
        #expect(files == ["two": ""])
    }

    @Test func anAnnouncedRestoreIsSilent() async throws {
        let scene = try await HostileScene()
        try await scene.olga.writes("a", "1")
        try await scene.olga.sync()
        try await scene.will.sync()
        try await scene.world.remote.delete(scene.world.layout.commit(scene.olga.log, 1))
        try await scene.world.announcesRestore([])
        for _ in 0..<5 { try await scene.will.sync() }
        #expect(await scene.will.findings().isEmpty)
    }

    @Test func aStorageThatShowsLessIsStale() async throws {
        let scene = try await HostileScene()
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

    /// The storage loses everything just when a device is about to rebuild its facts.
    @Test func objectsThatTheStorageLostAreKept() async throws {
        let scene = try await HostileScene()
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

    @Test func aRemovedMembersUnseenCommitsAreTakenBack() async throws {
        let scene = try await HostileScene()
        let mallory = try scene.world.device(scene.mallory, "den")
        try await mallory.writes("seen", "1")
        try await mallory.sync()
        let bound = try await scene.world.bound(mallory)
        try await scene.olga.sync()
        try await mallory.writes("unseen", "2")
        try await mallory.sync()
        // Will has applied it, and acknowledges it; the owner removes Mallory without having seen it.
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
