import CofferFormat
import CofferSystem
import CofferTestSupport
import Testing

@testable import CofferVault

/// Taking back what one of three people did, while the one who does it was away.
@Suite struct UndoOfThreeTests {
    /// A file of which each version comes as a new item passes through several hands while nobody looks here.
    @Test(arguments: [false, true]) func whatOthersAddedInBetweenStays(isShown: Bool) async throws {
        let world = try await ReplicaWorld.make()
        let devices = try (0..<3).map { try ReplicaDevice($0, in: world) }
        let (alice, bob, carol) = (devices[0], devices[1], devices[2])
        if isShown { alice.vault.setSink(RecordedChanges()) }
        try await onThread {
            try alice.write(Array("old".utf8), to: "his")
            try alice.vault.history.set(.forever)
        }
        try await ReplicaDevice.meet(devices)
        try await onThread { try alice.vault.history.keepPresent() }
        let begin = Clock.realTime
        // Alice is away, and hears of all of it at once.
        for (device, text) in [(bob, "his"), (carol, "hers, and his"), (bob, "more, hers, and his")] {
            try await onThread { try device.write(Array(text.utf8), to: "his") }
            for other in [device, bob, carol] { while try await other.round() {} }
        }
        try await ReplicaDevice.meet(devices)
        let undone = try await onThread {
            let view = try #require(try alice.vault.history.view(at: begin))
            defer { view.close() }
            return try alice.vault.undo.run(
                by: [.device(LogID(low: 2, high: 7))], since: view, isRehearsal: false)
        }
        #expect(undone.conflictPaths == ["his"])
        #expect(try await onThread { try alice.read("his") } == "more, hers, and his")
    }

    /// A commit may bring into sight what another one has made: a folder that was removed here comes back with it.
    @Test(arguments: [0, 3, 12, 16, 22, 23], [false, true])
    func whatOthersWroteIsThere(seed: Int, isShown: Bool) async throws {
        let world = try await ReplicaWorld.make()
        let devices = try (0..<3).map { try ReplicaDevice($0, in: world) }
        let (alice, bob, carol) = (devices[0], devices[1], devices[2])
        if isShown { alice.vault.setSink(RecordedChanges()) }
        try await onThread {
            var program = RandomProgram(seed: UInt64(500 + seed), on: alice)
            for _ in 0..<40 { try program.act() }
            try alice.vault.history.set(.forever)
        }
        try await ReplicaDevice.meet(devices)
        try await onThread { try alice.vault.history.keepPresent() }
        let begin = Clock.realTime
        var written: [String: Set<String>] = [:]
        var random = SplitMix64(seed: UInt64(600 + seed))
        for stage in 0..<2 {
            for step in 0..<24 {
                let device = devices[random.below(3)]
                let seed = UInt64(10_000 * (seed + 1) + 100 * stage + step)
                let new = try await onThread {
                    let before = UndoPair.contents(try device.tree())
                    var program = RandomProgram(seed: seed, on: device)
                    for _ in 0..<3 { try program.act() }
                    return UndoPair.contents(try device.tree()).subtracting(before)
                }
                written[device.name, default: []].formUnion(new)
                // Alice is away.
                for device in [bob, carol] where random.oneIn(2) { _ = try await device.round() }
            }
            try await ReplicaDevice.meet(devices)
            try await onThread { try alice.vault.history.keepPresent() }
        }
        let before = try await onThread { UndoPair.contents(try alice.tree()) }
        // With Alice's device among those that are undone, Carol's work still stays.
        let isOwn = seed % 3 == 0
        let undone = try await onThread {
            let view = try #require(try alice.vault.history.view(at: begin))
            defer { view.close() }
            let own: Set<History.Author> = isOwn ? [.thisDevice, UndoPair.her] : []
            return try alice.vault.undo.run(
                by: own.union([.device(LogID(low: 2, high: 7))]), since: view, isRehearsal: false)
        }
        #expect(!undone.steps.isEmpty)
        try await ReplicaDevice.meet(devices)
        let trees = try await onThread { try devices.map { UndoPair.contents(try $0.tree()) } }
        #expect(trees[1] == trees[0] && trees[2] == trees[0])
        let his = written[bob.name, default: []]
        for (name, contents) in written where name != bob.name && !(isOwn && name == alice.name) {
            let lost = contents.subtracting(his).intersection(before).subtracting(trees[0])
            #expect(lost == [], "\(name), \(undone.stepPaths), \(undone.conflictPaths)")
        }
        let flaws = try await onThread { try devices.flatMap { try $0.flaws() } }
        #expect(flaws == [])
    }
}
