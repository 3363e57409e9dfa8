import CofferFormat
import CofferRemote
import RemoteConformance
import SyncTestSupport
import Testing

@testable import CofferSync

/// Commits that the storage loses after their author has put them.
struct LostCommitTests {
    private struct Scene {
        let world: SyncWorld
        let olga: Device, will: Device

        /// Makes commits on the owner's device, each with a file; Will has seen none of them.
        init(commits count: Int) async throws {
            world = try await SyncWorld()
            olga = try world.device(world.owner, "laptop")
            will = try world.device(try await world.adds("Will", .writer), "desk")
            try await olgaWrites(1...count)
        }

        func olgaWrites(_ numbers: ClosedRange<Int>) async throws {
            for number in numbers {
                try await olga.writes("o\(number)", "\(number)")
                try await olga.sync()
            }
        }

        func commit(_ sequence: UInt64, of device: Device) -> RemoteName {
            world.layout.commit(device.log, sequence)
        }

        /// Makes the storage lose commits.
        func loses(_ sequences: [UInt64], of device: Device) async throws {
            for sequence in sequences { try await world.remote.delete(commit(sequence, of: device)) }
        }

        /// Makes a device drop its copies of some of its commits.
        func forgets(_ device: Device, _ sequences: [UInt64]) async throws {
            let rows = sequences.flatMap {
                [
                    KeptChange(KeptRow.Key(.outgoing, number: $0), nil),
                    KeptChange(KeptRow.Key(.put, number: $0), nil),
                ]
            }
            try await device.replica.save(rows)
            device.restart()
        }
    }

    @Test("The author puts a lost commit again", arguments: [[1], [2], [3], [1, 3], [2, 3]] as [[UInt64]])
    func theAuthorPutsALostCommitAgain(sequences: [UInt64]) async throws {
        let scene = try await Scene(commits: 3)
        let objects = scene.world.remote.objects
        try await scene.loses(sequences, of: scene.olga)
        for _ in 0..<2 { try await scene.will.sync() }
        #expect(await scene.will.files().count < 3)
        // A new process has the bytes, too.
        scene.olga.restart()
        try await scene.olga.sync()
        for (name, bytes) in objects { #expect(scene.world.remote.objects[name] == bytes) }
        let note = SyncFinding.putAgain(sequence: sequences[0], others: sequences.count - 1)
        #expect(await scene.olga.findings() == [note])
        #expect(!note.isDoubt)
        try await scene.will.sync()
        #expect(await scene.will.files().count == 3)
        #expect(await scene.will.findings().isEmpty)
        // Commits that are there are not put again.
        for _ in 0..<4 { try await scene.olga.sync() }
        #expect(await scene.olga.findings() == [note])
    }

    @Test func truncatedObjectsArePutAgain() async throws {
        let scene = try await Scene(commits: 3)
        let name = scene.commit(2, of: scene.olga)
        let bytes = try #require(scene.world.remote.objects[name])
        try await scene.world.remote.put(name, .memory(Array(bytes.prefix(100))), ifAbsent: false)
        try await scene.olga.sync()
        #expect(scene.world.remote.objects[name] == bytes)
        try await scene.will.sync()
        #expect(await scene.will.files().count == 3)
    }

    /// An occasional poll also lists the whole log; a round for something else does not.
    @Test func occasionalPollsFindTheLoss() async throws {
        let scene = try await Scene(commits: 3)
        let name = scene.commit(1, of: scene.olga)
        try await scene.loses([1], of: scene.olga)
        try await scene.olga.engine.round(.poll)
        #expect(scene.world.remote.objects[name] == nil)
        await scene.olga.engine.comparedLongAgo()
        try await scene.olga.engine.round(.poll)
        #expect(scene.world.remote.objects[name] != nil)
    }

    // MARK: Without a copy

    @Test func anOwnersCheckpointTakesItsPlace() async throws {
        let scene = try await Scene(commits: 3)
        try await scene.will.sync()
        try await scene.olgaWrites(4...6)
        try await scene.loses([5], of: scene.olga)
        try await scene.forgets(scene.olga, [5])
        for device in [scene.will, scene.will, scene.olga, scene.will, scene.olga, scene.will] {
            try await device.sync()
        }
        #expect(await scene.will.files().count == 6)
        #expect(await scene.will.stateHash() == scene.olga.stateHash())
        #expect(await (scene.will.findings() + scene.olga.findings()).isEmpty)
        #expect(scene.world.remote.objects[scene.commit(5, of: scene.olga)] == nil)
    }

    /// A writer's checkpoint has to be confirmed by another author, who must have had the commit.
    @Test func commitsLostEverywhereAreReported() async throws {
        let scene = try await Scene(commits: 1)
        let will = scene.will
        for number in 1...4 {
            try await will.writes("w\(number)", "1")
            try await will.sync()
        }
        try await scene.loses([2], of: will)
        try await scene.forgets(will, [2])
        for _ in 0..<3 { for device in [will, scene.olga] { try await device.sync() } }
        let lost = SyncFinding.ownLost(sequence: 2, others: 0)
        #expect(await will.findings().contains(lost))
        #expect(lost.isDoubt)
        #expect("\(lost)".contains("commit 2 of this device"))
        // No second checkpoint is made for it.
        let objects = scene.world.remote.objects.keys
        for _ in 0..<3 { for device in [will, scene.olga] { try await device.sync() } }
        #expect(scene.world.remote.objects.keys == objects)
    }

    // MARK: What is gone for a reason

    @Test func commitsCoveredByACheckpointAreNotPutAgain() async throws {
        let world = try await SyncWorld()
        let olga = try world.device(world.owner, "laptop")
        let will = try world.device(try await world.adds("Will", .writer), "desk")
        for device in [olga, will] {
            device.setup.commitsPerCheckpoint = 5
            device.restart()
        }
        for number in 0..<20 {
            try await olga.writes("o\(number)", "x")
            for device in [olga, will, olga] { try await device.sync() }
        }
        let first = world.layout.commit(olga.log, 1)
        #expect(world.remote.objects[first] == nil)
        let objects = world.remote.objects
        for device in [olga, will] {
            device.restart()
            for _ in 0..<3 { try await device.sync() }
            #expect(await device.findings().isEmpty)
            // Nor does the device keep them forever.
            let covered = try await #require(device.engine.checkpoints.standing).covered[device.log]
            let kept = await device.engine.ownLog.kept.keys
            #expect(kept.allSatisfy { $0 > covered })
        }
        #expect(world.remote.objects == objects)
    }

    @Test func anOlderStateOfTheStorageIsAnAlarm() async throws {
        let scene = try await Scene(commits: 2)
        for device in [scene.will, scene.olga, scene.will] { try await device.sync() }
        let before = scene.world.remote.objects
        for number in 1...2 {
            try await scene.will.writes("w\(number)", "1")
            for device in [scene.will, scene.olga, scene.will] { try await device.sync() }
        }
        for name in scene.world.remote.objects.keys where before[name] == nil {
            try await scene.world.remote.delete(name)
        }
        for _ in 0..<4 {
            for device in [scene.olga, scene.will] { try await device.sync() }
        }
        #expect(scene.world.remote.objects == before)
        for device in [scene.olga, scene.will] {
            let stale = await device.findings().filter { if case .stale = $0 { true } else { false } }
            #expect(stale.count == 2, "\(stale)")
        }
    }

    @Test func aLongLogsEndIsNotPutAgain() async throws {
        let scene = try await Scene(commits: 8)
        try await scene.loses([5, 6, 7, 8], of: scene.olga)
        for _ in 0..<4 { try await scene.olga.sync() }
        #expect(scene.world.commitCount(scene.olga) == 4)
        #expect(
            await scene.olga.findings().contains {
                if case .stale(_, known: 8, shown: 4) = $0 { true } else { false }
            })
    }

    @Test func commitsRemovedByARestoreAreNotPutAgain() async throws {
        let scene = try await Scene(commits: 2)
        let bound = try await scene.world.bound(scene.olga)
        try await scene.olgaWrites(3...3)
        try await scene.loses([3], of: scene.olga)
        try await scene.world.announcesRestore([bound])
        for _ in 0..<3 { try await scene.olga.sync() }
        #expect(scene.world.remote.objects[scene.commit(3, of: scene.olga)] == nil)
    }

    // MARK: What is kept

    /// A record that a commit of this number was put must not apply to another commit.
    @Test func anotherCommitOfTheSameNumberIsPut() async throws {
        let scene = try await Scene(commits: 1)
        try await scene.olga.writes("later", "1")
        #expect(try await scene.olga.engine.makeCommit(isNeeded: false))
        let hash = [UInt8](repeating: 7, count: 32)
        try await scene.olga.replica.save([KeptChange(KeptRow.Key(.put, number: 2), hash)])
        scene.olga.restart()
        try await scene.olga.sync()
        try await scene.will.sync()
        #expect(await scene.will.files().keys.sorted() == ["later", "o1"])
    }
}

extension SyncEngine {
    /// Makes it time to look at the whole log again.
    fileprivate func comparedLongAgo() { ownLog.compared(lost: Set(ownLog.lost), at: nil) }
}
