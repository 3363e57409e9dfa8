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

/// Contents move out of sparse and small packs, which are deleted then.
@Suite struct PackMoveTests {
    @Test func contentsLeaveSparsePacks() async throws {
        let place = try await MovingPlace(3)
        try await place.writeSparse()
        let before = (place.packs, place.byteCount)
        let commits = await place.devices[1].engine.status.progress.commitsApplied
        try await place.rest()
        #expect(place.byteCount < before.1 / 2)
        #expect(!before.0.isSubset(of: place.packs))
        #expect(await place.devices[1].engine.status.progress.commitsApplied > commits)
        try await place.expectReadable()
        // It comes to rest.
        let objects = place.packs
        try await place.rest()
        #expect(place.packs == objects)
    }

    @Test func smallPacksBecomeFew() async throws {
        let place = try await MovingPlace(2)
        for number in 0..<12 {
            try await onThread {
                try place.devices[0].write(MovingPlace.bytes(UInt64(number), 5000), to: "file \(number)")
            }
            try await ReplicaDevice.meet(place.devices)
        }
        #expect(place.packs.count >= 12)
        try await place.rest()
        #expect(place.packs.count <= 4)
        try await place.expectReadable()
    }

    /// Nothing is fetched anew, and programs see no change.
    @Test func whatIsHereStaysHere() async throws {
        let place = try await MovingPlace(2)
        try await place.writeSparse()
        let other = place.devices[1]
        let before = try await onThread {
            for name in try other.names(in: "") { _ = try other.bytes(name) }
            return (
                try other.tree(), try other.vault.cache.missingContent().bytes, try other.number("file 7")
            )
        }
        #expect(before.1 == 0)
        let packs = place.packs
        try await place.rest()
        #expect(!packs.isSubset(of: place.packs))
        let after = try await onThread {
            (try other.tree(), try other.vault.cache.missingContent().bytes, try other.number("file 7"))
        }
        #expect(after == before)
    }

    /// A device that has changed a file, whose content moves meanwhile, replaces it without a conflict.
    @Test(arguments: [false, true])
    func aConcurrentChangeIsNoConflict(isFirst: Bool) async throws {
        let place = try await MovingPlace(2)
        try await place.writeSparse()
        let (owner, other) = (place.devices[0], place.devices[1])
        let packs = place.packs
        try await onThread { try other.put([1, 2, 3], to: "file 7", at: 1000) }
        if isFirst { try await other.send() }
        await owner.engine.looksSoon()
        try await owner.send()
        for _ in 0..<4 { _ = try await owner.round() }
        try await place.rest()
        let names = try await onThread { (try owner.names(in: ""), try other.names(in: "")) }
        #expect(names.0.count == 8 && names.1 == names.0)
        let changed = MovingPlace.bytes(7, 1000) + [1, 2, 3] + MovingPlace.bytes(7, 100_000)[1003...]
        #expect(try await onThread { try owner.bytes("file 7") } == changed)
        try await place.rest()
        #expect(!packs.isSubset(of: place.packs))
        try await place.expectReadable()
    }

    /// A device that has changed a part of a file, which another one has replaced, needs what nothing else needs.
    @Test func whatOnlyOneDeviceNeedsStays() async throws {
        let place = try await MovingPlace(3)
        try await place.writeSparse()
        let (owner, other) = (place.devices[0], place.devices[2])
        try await onThread {
            _ = try other.vault.cache.evict(to: 0)
            try other.put([1, 2, 3], to: "file 7", at: 1000)
            try owner.write("short", to: "file 7")
        }
        try await place.rest(Array(place.devices.prefix(2)))
        try await place.rest()
        try await place.expectReadable()
        let changed = MovingPlace.bytes(7, 1000) + [1, 2, 3] + MovingPlace.bytes(7, 100_000)[1003...]
        let isThere = try await onThread {
            try other.names(in: "").contains { try other.bytes($0) == changed }
        }
        #expect(isThere)
    }

    /// What the remote has changed of a pack is not copied in the place of the right bytes.
    @Test func whatIsDamagedIsNotCopied() async throws {
        let place = try await MovingPlace(2)
        try await place.writeSparse()
        let (owner, world) = (place.devices[0], place.world)
        try await onThread { for device in place.devices { _ = try device.vault.cache.evict(to: 0) } }
        let use = try await owner.replica.packUse()
        let pack = try #require(use.max { $0.value.byteCount < $1.value.byteCount }?.key)
        let name = world.layout.pack(pack)
        let whole = try #require(place.remote.objects[name])
        try await place.remote.put(name, .memory(whole.map { $0 ^ 1 }), ifAbsent: false)
        try await place.rest()
        #expect(place.packs.contains(name))
        try await place.remote.put(name, .memory(whole), ifAbsent: false)
        try await place.rest()
        #expect(!place.packs.contains(name))
        try await place.expectReadable()
    }

    /// Parts of extents that were overwritten are gone on this device: the remote has them.
    @Test func extentsWithHolesComeFromTheRemote() async throws {
        let place = try await MovingPlace(2)
        let owner = place.devices[0]
        try await onThread {
            for number in 0..<3 {
                try owner.write(MovingPlace.bytes(UInt64(number), 1_000_000), to: "\(number)")
            }
        }
        try await ReplicaDevice.meet(place.devices)
        try await onThread {
            for number in 0..<2 { try owner.write("\(number)", to: "\(number)") }
            try owner.put(MovingPlace.bytes(9, 600_000), to: "2", at: 100_000)
            try owner.vault.compact()
        }
        let sparse = try #require(place.largest)
        try await place.rest()
        #expect(!place.packs.contains(sparse))
        try await place.expectReadable()
        let isRight = try await onThread {
            let old = MovingPlace.bytes(2, 1_000_000)
            return try owner.bytes("2") == old[..<100_000] + MovingPlace.bytes(9, 600_000) + old[700_000...]
        }
        #expect(isRight)
    }

    /// A content with a tree of pages, on all devices: most of its extents stay where they are.
    @Test func aContentWithPagesMoves() async throws {
        let place = try await MovingPlace(2)
        let owner = place.devices[0]
        try await place.writeLarge()
        try await ReplicaDevice.meet(place.devices)
        try await onThread { for number in 0..<30 { try owner.write("short", to: "\(number)") } }
        let sparse = try #require(place.largest)
        try await place.rest()
        #expect(!place.packs.contains(sparse))
        try await place.expectReadable()
        let now = try await onThread { try owner.bytes("large") }
        #expect(Array(now[39 * 70_000..<39 * 70_000 + 5000]) == MovingPlace.bytes(39, 5000))
    }

    /// Commits arrive before the packs that they need, as in a replicated folder: nothing is given up for that.
    @Test func pagesMayComeLater() async throws {
        let place = try await MovingPlace(1)
        let owner = place.devices[0]
        let connection = HidingRemote(place.remote)
        let member = try ReplicaDevice(1, in: place.world.at(connection), retiresAll: true, moves: true)
        let all = [owner, member]
        try await ReplicaDevice.meet(all)
        try await place.writeLarge()
        try await ReplicaDevice.meet(all)
        try await onThread {
            for number in 0..<30 { try owner.write("short", to: "\(number)") }
            _ = try member.bytes("large")
        }
        try await ReplicaDevice.meet(all)
        let before = place.packs
        connection.hide(allBut: before)
        await owner.engine.looksSoon()
        for _ in 0..<6 { for device in all { _ = try await device.round() } }
        #expect(place.packs.count > before.count)
        let missing = try await onThread { try member.vault.cache.missingContent().bytes }
        let bytes = try await onThread { try member.bytes("large") }
        #expect(missing < 1_500_000 && Array(bytes.suffix(5000)) == MovingPlace.bytes(39, 5000))
        #expect(before.isSubset(of: place.packs), "it still needs the old packs")
        connection.hide(allBut: nil)
        // What has not arrived is looked for after a pause.
        let end = ContinuousClock.now + .seconds(60)
        while before.isSubset(of: place.packs), ContinuousClock.now < end {
            try await Task.sleep(for: .seconds(1))
            try await place.rest(all)
        }
        #expect(!before.isSubset(of: place.packs))
        try await place.expectReadable(all)
    }

    /// Two files share extents: both move, and a device that joins later can read both.
    @Test func sharedExtentsMove() async throws {
        let place = try await MovingPlace(2)
        try await place.writeSparse()
        let owner = place.devices[0]
        try await onThread { try MovingPlace.clone("file 7", as: "copy", on: owner) }
        let sparse = try #require(place.largest)
        try await place.rest()
        #expect(!place.packs.contains(sparse))
        #expect(try await onThread { try owner.bytes("copy") } == MovingPlace.bytes(7, 100_000))
        try await place.expectReadable()
    }

    /// Contents in conflict stay where they are, and so do extents that they share with a file that moves.
    @Test func whatACopySharesStays() async throws {
        let place = try await MovingPlace(2)
        try await place.writeSparse()
        let (owner, other) = (place.devices[0], place.devices[1])
        try await onThread { try MovingPlace.clone("file 7", as: "both", on: owner) }
        try await ReplicaDevice.meet(place.devices)
        try await onThread { try owner.put([1, 2, 3], to: "both", at: 10) }
        try await owner.send()
        try await onThread { try other.put([4, 5, 6], to: "both", at: 10) }
        try await place.rest()
        let names = try await onThread { try owner.names(in: "").filter { $0.hasPrefix("both") } }
        #expect(names.count == 2)
        #expect(try await owner.engine.allMoves() > 0)
        try await place.expectReadable()
    }

    /// Of two files that share extents on a device, one moves: the device needs both places, and loses no bytes.
    @Test(arguments: [0, 1], [false, true])
    func oneOfTwoFilesThatShareMoves(sharedOn number: Int, rebuilds: Bool) async throws {
        let place = try await MovingPlace(2)
        try await place.writeSparse()
        let (owner, other, sharing) = (place.devices[0], place.devices[1], place.devices[number])
        try await onThread {
            _ = try sharing.bytes("file 7")
            try MovingPlace.clone("file 7", as: "both", on: sharing)
        }
        try await ReplicaDevice.meet(place.devices)
        try await onThread { try owner.put([1, 2, 3], to: "both", at: 10) }
        let some = try await owner.replica.contentPacks().packs
        #expect(try await owner.replica.moveContents(from: some, byteCountMax: 1 << 20) > 0)
        try await owner.send()
        if rebuilds {
            try await other.rebuild()
        } else {
            try await ReplicaDevice.meet(place.devices)
        }
        for device in place.devices {
            #expect(try await device.misplaced() == [], "\(device.name)")
        }
        let before = try await onThread {
            let bytes = try owner.bytes("both")
            try owner.remove("file 7")
            try owner.vault.commit()
            try owner.vault.compact()
            return bytes
        }
        place.remote.become(.unreachable)
        let after = try await onThread { try owner.bytes("both") }
        #expect(after == before)
        place.remote.become(.well)
        try await place.rest()
        try await place.expectReadable()
    }

    /// Ranges that were united after they were sent would leave a fact without its pack.
    @Test func unitedRangesKeepTheirPacks() async throws {
        let place = try await MovingPlace(1)
        let owner = place.devices[0]
        try await onThread {
            try owner.write("", to: "file")
            for part in 0..<200 {
                try owner.put(MovingPlace.bytes(UInt64(part), 4000), to: "file", at: Int64(part) * 4000)
                if part % 7 == 6 { try owner.vault.commit() }
            }
            // Compaction leaves alone what was written just now.
            var changes = AttributeChanges()
            changes.modified = .at(1)
            _ = try owner.vault.setAttributes(of: owner.number("file"), changes)
        }
        try await place.rest()
        try await onThread {
            try owner.vault.commit()
            try owner.vault.compact()
        }
        try await place.rest()
        #expect(try await owner.misplaced() == [])
        try await place.expectReadable()
    }

    /// Compaction replaces extents between the copy and the commit: the content stays where it was.
    @Test func whatChangedMeanwhileStays() async throws {
        let place = try await MovingPlace(1)
        let owner = place.devices[0]
        try await place.writeSparse()
        let some = try await owner.replica.contentPacks().packs
        #expect(try await owner.replica.moveContents(from: some, byteCountMax: 1 << 20) > 0)
        try await onThread {
            let vault = owner.vault
            let number = try owner.number("file 7")
            let rows = try vault.reading { state throws(FileSystemError) in
                try state.index.extents(of: number, overlapping: 0..<Int64.max)
            }
            #expect(try vault.repacking.rewrite(rows, marking: .content))
        }
        try await place.rest()
        #expect(try await owner.misplaced() == [])
        try await place.expectReadable()
    }
}
