import CofferCrypto
import CofferFacts
import CofferFormat
import CofferRemote
import CofferSystem
import CofferTestSupport
import CofferTrust
import RemoteConformance
import SyncTestSupport
import Synchronization
import Testing

import CofferClient
@testable import CofferSync
@testable import CofferVault
import CofferStore

/// Moved contents and the history, devices that join, crashes, and random stories.
@Suite struct PackMoveStoryTests {
    /// What the history of a device has moves along with the content, and what only the history has stays.
    @Test func theHistoryMovesAlong() async throws {
        let place = try await MovingPlace(2)
        let (owner, other) = (place.devices[0], place.devices[1])
        try await place.writeSparse()
        try await onThread { try other.vault.history.set(.forever) }
        try await onThread { try other.put([1, 2, 3], to: "file 7", at: 50_000) }
        try await ReplicaDevice.meet(place.devices)
        let sparse = try #require(place.largest)
        try await place.rest()
        #expect(!place.packs.contains(sparse))
        let past = try await onThread {
            _ = try other.vault.cache.evict(to: 0)
            let state = try #require(try other.vault.history.states().last)
            let view = try #require(try other.vault.history.view(of: state))
            defer { view.close() }
            let item = try view.lookup(Array("file 7".utf8), in: Vault.rootNumber)
            let buffer = AlignedBuffer(count: 100_000)
            let count = try view.read(item.number, at: 0, count: 100_000, into: buffer)
            return buffer.withBytes(0..<count) { $0.array }
        }
        #expect(past == MovingPlace.bytes(7, 100_000))
        _ = owner
        try await place.expectReadable()
    }

    /// The commit that states new places cannot be put: the packs with them stay, and so do the old ones.
    @Test func packsOfACommitThatIsNotPutStay() async throws {
        let remote = MemoryRemote()
        let world = try await ReplicaWorld.make(remote)
        let owner = try ReplicaDevice(0, in: world, retiresAll: true, moves: true)
        try await ReplicaDevice.meet([owner])
        try await onThread {
            for number in 0..<8 {
                try owner.write(MovingPlace.bytes(UInt64(number), 100_000), to: "file \(number)")
            }
        }
        try await ReplicaDevice.meet([owner])
        try await onThread { for number in 0..<6 { try owner.write("\(number)", to: "file \(number)") } }
        try await ReplicaDevice.meet([owner])
        let layout = world.layout
        let some = try await owner.replica.contentPacks().packs
        let count = try await owner.replica.moveContents(from: some, byteCountMax: 1 << 20)
        #expect(count == 8)
        // As if this device looked before it made a commit.
        let used = try await owner.replica.contentPacks().packs
        let there = Set(remote.objects.keys.filter { layout.packs.contains($0) })
        #expect(Set(used.map(layout.pack)) == there)
        for _ in 0..<4 {
            await owner.engine.looksSoon()
            try await ReplicaDevice.meet([owner])
        }
        let tree = try await onThread {
            _ = try owner.vault.cache.evict(to: 0)
            return try owner.tree()
        }
        #expect(tree.count == 8)
    }

    /// A device that joins when the commits that moved contents are gone.
    @Test(arguments: [0, 1])
    func aDeviceThatJoinsLaterKnowsThePlaces(checkpointBy number: Int) async throws {
        let remote = MemoryRemote()
        let world = try await ReplicaWorld.make(remote)
        let devices = try (0..<2).map {
            try ReplicaDevice(
                $0, in: world, commitsPerCheckpoint: $0 == number ? 6 : 1000, retiresAll: true, moves: true)
        }
        try await ReplicaDevice.meet(devices)
        let owner = devices[0]
        try await onThread {
            for number in 0..<8 {
                try owner.write(MovingPlace.bytes(UInt64(number), 100_000), to: "file \(number)")
            }
        }
        try await ReplicaDevice.meet(devices)
        try await onThread {
            for number in 0..<6 {
                try owner.write(MovingPlace.bytes(100 + UInt64(number), 10_000), to: "file \(number)")
            }
        }
        for _ in 0..<6 {
            for device in devices { await device.engine.looksSoon() }
            try await ReplicaDevice.meet(devices)
        }
        for step in 0..<30 {
            try await onThread { try owner.write("\(step)", to: "other") }
            try await ReplicaDevice.meet(devices)
        }
        let first = world.layout.commit(LogID(low: 1, high: 7), 1)
        #expect(remote.objects[first] == nil)
        let late = try ReplicaDevice(2, in: world, retiresAll: true, moves: true)
        try await ReplicaDevice.meet(devices + [late])
        let trees = try await onThread { (try owner.tree(), try late.tree()) }
        #expect(trees.0 == trees.1)
        // It knows them after a rebuild, too.
        try await late.rebuild()
        try await onThread { _ = try late.vault.cache.evict(to: 0) }
        let again = try await onThread { (try late.tree(), try late.flaws()) }
        #expect(again.0 == trees.0 && again.1 == [])
    }

    /// Whatever devices do, and in whichever order they sync: all contents stay readable from the remote alone.
    @Test(arguments: Seeds.first(6))
    func nothingThatIsNeededGoes(seed: UInt64) async throws {
        let place = try await MovingPlace(3)
        try await RandomProgram.play(200, on: place.devices, seed: seed) {
            await $0.engine.looksSoon()
        } check: { step in
            try await place.rest()
            try await place.expectReadable(nil, "seed \(seed), step \(step)")
        }
        let moved = try await place.devices[0].engine.allMoves()
        #expect(moved > 0, "seed \(seed)")
    }

    /// Ten times as much was written as there is: at rest, the remote has little more than what is in use.
    @Test func theRemoteStaysSmall() async throws {
        let place = try await MovingPlace(2)
        var random = SplitMix64(seed: 1)
        let (files, byteCount) = (40, 30_000)
        var written = 0
        while written < 10 * files * byteCount {
            for device in place.devices {
                let names = (0..<10).map { _ in random.below(files) }
                let seed = random.next()
                try await onThread {
                    for name in names {
                        try device.write(MovingPlace.bytes(seed ^ UInt64(name), byteCount), to: "\(name)")
                    }
                }
                written += names.count * byteCount
                try await ReplicaDevice.meet(place.devices)
            }
            await place.devices[0].engine.looksSoon()
        }
        try await place.rest()
        let used = try await place.devices[0].replica.packUse().values.reduce(0) { $0 + $1.byteCount }
        #expect(used >= files * byteCount * 9 / 10)
        #expect(place.byteCount <= used * 135 / 100, "\(place.byteCount) of \(used) bytes")
        try await place.expectReadable()
    }
}
