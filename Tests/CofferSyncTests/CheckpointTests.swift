import CofferFormat
import CofferRemote
import CofferTrust
import RemoteConformance
import SyncTestSupport
import Testing

@testable import CofferSync

struct CheckpointTests {
    private func device(_ world: SyncWorld, _ person: Person, _ label: String, every count: UInt64) throws
        -> Device
    {
        let device = try world.device(person, label)
        device.setup.commitsPerCheckpoint = count
        device.restart()
        return device
    }

    private func checkpointCount(_ world: SyncWorld) -> Int {
        world.remote.objects.keys.count {
            world.layout.checkpoints.contains($0) && RemoteLayout.sequence(of: $0) != nil
        }
    }

    @Test func logsStayBoundedAndNewDevicesStartFromACheckpoint() async throws {
        let world = try await SyncWorld()
        let olga = try device(world, world.owner, "laptop", every: 10)
        let will = try device(world, try await world.adds("Will", .writer), "desk", every: 10)
        for number in 0..<60 {
            try await olga.writes("o\(number)", "x")
            try await olga.sync()
            try await will.sync()
        }
        try await olga.sync()
        #expect(checkpointCount(world) <= 2)
        #expect(world.commitCount(olga) < 30 && world.commitCount(will) < 30)
        let counting = CountingRemote(world.remote)
        let late = try world.device(try await world.adds("Lea", .writer), "tablet", remote: counting)
        try await late.sync()
        #expect(await late.files().count == 60)
        #expect(await late.stateHash() == olga.stateHash())
        #expect(counting.counts.gets < 60)
        try await late.writes("l", "1")
        for device in [late, olga, will] { try await device.sync() }
        #expect(await will.files().count == 61)
        #expect(await will.stateHash() == late.stateHash())
        #expect(await (late.findings() + will.findings()).isEmpty)
    }

    @Test func checkpointsDoNotCauseEndlessCheckpoints() async throws {
        let world = try await SyncWorld()
        // Each checkpoint causes more acknowledgements than the number of commits that makes the next one
        // due.
        var devices = [try device(world, world.owner, "laptop", every: 4)]
        for number in 0..<5 {
            let person = try await world.adds("W\(number)", number % 2 == 0 ? .writer : .admin)
            devices.append(try device(world, person, "d\(number)", every: 4))
        }
        for device in devices {
            try await device.writes(device.label, "x")
            try await device.sync()
        }
        for _ in 0..<12 { for device in devices { try await device.sync() } }
        let objects = world.remote.objects
        for _ in 0..<3 {
            for device in devices {
                // A restart must not begin a new checkpoint either.
                device.restart()
                try await device.sync()
            }
        }
        #expect(world.remote.objects == objects)
        for device in devices { #expect(await device.files().count == 6) }
    }

    @Test func anUnconfirmedCheckpointIsRememberedAcrossRestarts() async throws {
        let world = try await SyncWorld()
        let will = try device(world, try await world.adds("Will", .writer), "desk", every: 5)
        for number in 0..<7 {
            try await will.writes("w\(number)", "x")
            try await will.sync()
            will.restart()
        }
        #expect(checkpointCount(world) == 1)
        let wanda = try device(world, try await world.adds("Wanda", .writer), "den", every: 1000)
        try await wanda.sync()
        try await will.sync()
        for number in 0..<3 {
            try await will.writes("x\(number)", "x")
            try await will.sync()
            will.restart()
        }
        #expect(checkpointCount(world) == 2)
    }

    @Test func aWritersCheckpointCountsOnceConfirmed() async throws {
        let world = try await SyncWorld()
        let will = try device(world, try await world.adds("Will", .writer), "desk", every: 5)
        let wanda = try device(world, try await world.adds("Wanda", .writer), "den", every: 1000)
        for number in 0..<5 {
            try await will.writes("w\(number)", "x")
            try await will.sync()
        }
        #expect(checkpointCount(world) == 1)
        // It is not used, and that is nothing to report: nobody need ever confirm it.
        #expect(try await will.engine.newestCheckpoint() == nil)
        let early = try world.device(world.owner, "early")
        try await early.sync()
        #expect(await early.findings().isEmpty)
        #expect(await early.files().count == 5)
        try await wanda.sync()
        let late = try world.device(try await world.adds("Lea", .writer), "tablet")
        try await late.sync()
        let findings = await late.findings()
        #expect(findings.isEmpty)
        #expect(try await late.engine.newestCheckpoint() != nil)
        #expect(await late.files().count == 5)
    }

    @Test func aDeviceThatWasAwayAppliesTheCheckpoint() async throws {
        let world = try await SyncWorld()
        let olga = try device(world, world.owner, "laptop", every: 8)
        let away = try device(world, try await world.adds("Al", .writer), "boat", every: 1000)
        try await away.writes("mine", "1")
        try await away.sync()
        // The commits that the checkpoint covers are deleted although this device has not acknowledged it.
        for number in 0..<20 {
            try await olga.writes("o\(number)", "x")
            try await olga.sync()
        }
        let last = try await world.bound(olga).sequence
        let first = try #require(
            world.remote.objects.keys.filter { world.layout.checkpoints.contains($0) }
                .compactMap { RemoteLayout.sequence(of: $0) }.max())
        for sequence in 1...first { try await world.remote.delete(world.layout.commit(olga.log, sequence)) }
        #expect(first < last)
        try await away.writes("later", "2")
        try await away.sync()
        // A missing object may only be late, so the device looks for it once more.
        try await away.sync()
        #expect(await away.files().count == 22)
        try await olga.sync()
        #expect(await olga.stateHash() == away.stateHash())
    }

    /// Both the checkpoint and the storage lack commits of the device that is to read the checkpoint.
    @Test func aCheckpointKeepsLocalOnlyContent() async throws {
        let world = try await SyncWorld()
        let olga = try device(world, world.owner, "laptop", every: 8)
        let away = try device(world, try await world.adds("Al", .writer), "boat", every: 1000)
        try await away.writes("mine", "1")
        try await away.sync()
        for number in 0..<20 {
            try await olga.writes("o\(number)", "x")
            try await olga.sync()
        }
        let first = try #require(
            world.remote.objects.keys.filter { world.layout.checkpoints.contains($0) }
                .compactMap { RemoteLayout.sequence(of: $0) }.max())
        for sequence in 1...first { try await world.remote.delete(world.layout.commit(olga.log, sequence)) }
        try await away.writes("later", "2")
        try await away.sync()
        let last = try await world.bound(away)
        let name = world.layout.commit(away.log, last.sequence)
        let bytes = try #require(world.remote.objects[name])
        try await world.remote.delete(name)
        // Otherwise it would put its copy back.
        try await away.replica.save([KeptChange(KeptRow.Key(.outgoing, number: last.sequence), nil)])
        away.restart()
        for _ in 0..<3 { try await away.sync() }
        #expect(await away.files() == ["mine": "1", "later": "2"])
        #expect(try await world.bound(away) == last)
        try await world.remote.put(name, .memory(bytes), ifAbsent: true)
        for _ in 0..<2 { try await away.sync() }
        #expect(await away.files().count == 22)
    }

    @Test func aCheckpointWithAWrongPieceIsNotApplied() async throws {
        let world = try await SyncWorld()
        let olga = try device(world, world.owner, "laptop", every: 4)
        // Will does not acknowledge the checkpoint, so nothing is deleted.
        let will = try device(world, try await world.adds("Will", .writer), "desk", every: 1000)
        try await will.writes("w", "x")
        try await will.sync()
        for number in 0..<3 {
            try await olga.writes("o\(number)", "x")
            try await olga.sync()
        }
        let piece = try #require(
            world.remote.objects.keys.first {
                world.layout.checkpoints.contains($0) && RemoteLayout.sequence(of: $0) == nil
            })
        var bytes = try #require(world.remote.objects[piece])
        bytes[bytes.count - 1] ^= 1
        try await world.remote.put(piece, .memory(bytes), ifAbsent: false)
        let late = try world.device(try await world.adds("Lea", .writer), "tablet")
        try await late.sync()
        #expect(await late.files().count == 4)
        let isNamed = await late.findings().contains {
            if case .checkpoint(_, _, .piece(0)) = $0 { true } else { false }
        }
        #expect(isNamed)
    }

    /// Otherwise the commits would be deleted, and no new device could read the vault.
    @Test func aRemovalThatSawWhatNoLongerCountsIsInACheckpoint() async throws {
        let world = try await SyncWorld()
        let olga = try device(world, world.owner, "laptop", every: 10)
        let will = try device(world, try await world.adds("Will", .writer), "desk", every: 1000)
        let mallory = try await world.adds("Mallory", .writer)
        let den = try device(world, mallory, "den", every: 1000)
        try await den.writes("seen", "1")
        try await den.sync()
        let bound = try await world.bound(den)
        try await olga.sync()
        try await den.writes("unseen", "2")
        try await den.sync()
        // Will has applied it, and removes the file; the owner removes Mallory without having seen it.
        try await will.sync()
        await will.removes("unseen")
        try await will.sync()
        try await world.removes(mallory, [bound])
        for number in 0..<20 {
            try await olga.writes("o\(number)", "x")
            for device in [olga, will] { try await device.sync() }
        }
        #expect(world.commitCount(olga) < 20)
        let late = try world.device(try await world.adds("Lea", .writer), "tablet")
        try await late.sync()
        #expect(await late.files().count == 21)
        #expect(await late.stateHash() == olga.stateHash())
        #expect(await late.findings().allSatisfy { if case .checkpoint = $0 { false } else { true } })
    }

    /// A replicated folder delivers objects in any order.
    @Test("A checkpoint whose announcement arrives late is used then, and reported only after three rounds")
    func anAnnouncementThatArrivesLate() async throws {
        let world = try await SyncWorld()
        // No other device has to acknowledge the checkpoint, so the commits that it covers are deleted.
        let olga = try device(world, world.owner, "laptop", every: 5)
        for number in 0..<7 {
            try await olga.writes("o\(number)", "x")
            try await olga.sync()
        }
        let checkpoint = try #require(
            world.remote.objects.keys.filter { world.layout.checkpoints.contains($0) }
                .compactMap { RemoteLayout.sequence(of: $0) }.max())
        let name = world.layout.commit(olga.log, checkpoint + 1)
        let bytes = try #require(world.remote.objects[name])
        try await world.remote.delete(name)
        let late = try world.device(try await world.adds("Lea", .writer), "tablet")
        func problems() async -> [CheckpointProblem] {
            await late.findings().compactMap {
                if case .checkpoint(_, _, let problem) = $0 { problem } else { nil }
            }
        }
        for _ in 0..<2 {
            try await late.sync()
            #expect(await problems().isEmpty)
        }
        try await late.sync()
        #expect(await problems() == [.announcementMissing])
        try await world.remote.put(name, .memory(bytes), ifAbsent: true)
        try await late.sync()
        #expect(await late.files().count == 7)
        #expect(await problems().isEmpty)
    }

    @Test("An announcement counts as missing once a round, however often the round looks for it")
    func missedAnnouncementsAreCountedByRound() {
        let dot = Dot(log: LogID(low: 1, high: 2), sequence: 3)
        var awaited = AwaitedAnnouncements()
        #expect(awaited.miss(dot, inRound: 1) == 1)
        #expect(awaited.miss(dot, inRound: 1) == 1)
        #expect(awaited.miss(dot, inRound: 4) == 2)
        awaited.arrived(dot)
        #expect(awaited.miss(dot, inRound: 5) == 1)
    }
}
