import CofferFacts
import CofferFormat
import CofferRemote
import CofferSystem
import CofferTestSupport
import RemoteConformance
import SyncTestSupport
import Synchronization
import Testing

import CofferClient
@testable import CofferSync
@testable import CofferVault

/// Packs that nothing refers to any more are deleted at the remote, and no others.
@Suite struct RetirementTests {
    private static let text = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 37 >> 3) }

    private static func devices(_ count: Int, _ world: ReplicaWorld) throws -> [ReplicaDevice] {
        try (0..<count).map { try ReplicaDevice($0, in: world, retiresAll: true) }
    }

    private static func packs(_ world: ReplicaWorld, _ remote: MemoryRemote) -> Set<RemoteName> {
        Set(remote.objects.keys.filter { world.layout.packs.contains($0) })
    }

    /// Syncs until nothing more happens, with all the looks at packs that this takes.
    private static func meetOften(_ devices: [ReplicaDevice]) async throws {
        for _ in 0..<5 {
            for device in devices { await device.engine.lookedLongAgo() }
            try await ReplicaDevice.meet(devices)
        }
    }

    /// The packs that a device's contents refer to.
    private static func used(_ device: ReplicaDevice) async throws -> Set<RemoteName> {
        let used = try await device.replica.contentPacks()
        #expect(used.isComplete)
        return Set(used.packs.map(device.world.layout.pack))
    }

    @Test func whatNothingRefersToIsDeleted() async throws {
        let remote = MemoryRemote()
        let world = try await ReplicaWorld.make(remote)
        let devices = try Self.devices(3, world)
        try await ReplicaDevice.meet(devices)
        var all: Set<RemoteName> = []
        for round in 0..<4 {
            for (number, device) in devices.enumerated() {
                try await onThread {
                    try device.write(Self.text + [UInt8(round)], to: "file \(number)")
                    try device.write("\(round)", to: "small \(number)")
                }
            }
            try await ReplicaDevice.meet(devices)
            all.formUnion(Self.packs(world, remote))
        }
        try await Self.meetOften(devices)
        let left = Self.packs(world, remote)
        #expect(left == (try await Self.used(devices[0])) && left.count < all.count)
        for device in devices {
            try await onThread {
                _ = try device.vault.cache.evict(to: 0)
                for number in 0..<3 {
                    let isNew = try device.bytes("file \(number)") == Self.text + [3]
                    #expect(isNew)
                    #expect(try device.read("small \(number)") == "3")
                }
            }
            #expect(await device.engine.status.findings == [])
            #expect(await device.engine.retirements.others.isEmpty)
        }
        // Otherwise it would never end.
        let objects = remote.objects
        try await Self.meetOften(devices)
        #expect(remote.objects == objects)
    }

    /// A device that was away has changed a part of a file that is only at the remote; the others replaced it.
    @Test func aDeviceThatIsAwayIsWaitedFor() async throws {
        let remote = MemoryRemote()
        let world = try await ReplicaWorld.make(remote)
        let devices = try Self.devices(3, world)
        let (owner, away) = (devices[0], devices[2])
        try await onThread { try owner.write(Self.text, to: "file") }
        try await ReplicaDevice.meet(devices)
        try await onThread {
            _ = try away.vault.cache.evict(to: 0)
            try away.put([1, 2, 3], to: "file", at: 1000)
        }
        let before = Self.packs(world, remote)
        try await onThread { try owner.write("other", to: "file") }
        try await Self.meetOften(Array(devices.prefix(2)))
        #expect(before.isSubset(of: Self.packs(world, remote)))
        try await Self.meetOften(devices)
        for device in devices {
            try await onThread {
                let names = try device.names(in: "")
                #expect(names.count == 2)
                let both = try Set(names.map { try device.bytes($0) })
                let changed = Self.text[..<1000] + [1, 2, 3] + Self.text[1003...]
                let areRight = both == [Array(changed), Array("other".utf8)]
                #expect(areRight)
            }
        }
    }

    /// A file without a name keeps its packs as long as programs use it.
    @Test func filesInUseRetainTheirPacks() async throws {
        let remote = MemoryRemote()
        let world = try await ReplicaWorld.make(remote)
        let devices = try Self.devices(2, world)
        let (owner, member) = (devices[0], devices[1])
        try await onThread { try owner.write(Self.text, to: "file") }
        try await ReplicaDevice.meet(devices)
        // Programs may have everything open.
        member.vault.setSink(RecordedChanges(releases: false))
        let number = try await onThread {
            _ = try member.vault.cache.evict(to: 0)
            return try member.number("file")
        }
        try await onThread { try owner.remove("file") }
        try await Self.meetOften(devices)
        let used = try await Self.used(member)
        #expect(!used.isEmpty && used.isSubset(of: Self.packs(world, remote)))
        member.vault.release(number)
        try await Self.meetOften(devices)
        #expect(Self.packs(world, remote).isEmpty)
    }

    /// A content with the pack was on its way to a device that had already answered, and whose second answer is not.
    @Test func contentsOnTheirWayKeepTheirPacks() async throws {
        let remote = MemoryRemote()
        let world = try await ReplicaWorld.make(remote)
        let connection = PartialRemote(remote)
        let owner = try ReplicaDevice(0, in: world, retiresAll: true)
        let carol = try ReplicaDevice(1, in: world)
        let dan = try ReplicaDevice(2, in: world.at(connection))
        try await onThread { try owner.write(Self.text, to: "file") }
        try await ReplicaDevice.meet([owner, carol, dan])
        let pack = try #require(Self.packs(world, remote).first)
        // Carol changes a part of it, and the owner, who does not know that, all of it.
        try await onThread {
            for device in [carol, dan] { _ = try device.vault.cache.evict(to: 0) }
            try carol.put([1], to: "file", at: 1000)
            try owner.write("other", to: "file")
        }
        await owner.engine.lookedLongAgo()
        while try await owner.round() {}
        #expect(await owner.engine.retirements.own?.packs.count == 1)
        while try await dan.round() {}
        // Now Carol's change is there. It reaches Dan, and his answer to that does not reach anybody.
        try await carol.send()
        connection.allowPuts(false)
        await #expect(throws: SyncError.self) { try await dan.engine.round() }
        let copy = try await onThread {
            let names = try dan.names(in: "")
            return try #require(
                try names.first { try dan.vault.attributes(of: dan.number($0)).size == Self.text.count })
        }
        try await onThread { try dan.put([2], to: copy, at: 2000) }
        // Carol replaces that, before she sees the question, so that only Dan needs the rest of it.
        try await onThread { try carol.write("short", to: "file") }
        try await carol.send()
        for _ in 0..<4 {
            await owner.engine.lookedLongAgo()
            try await ReplicaDevice.meet([owner, carol])
        }
        #expect(Self.packs(world, remote).contains(pack))
        connection.allowPuts(true)
        try await Self.meetOften([owner, carol, dan])
        let changed = Self.text[..<1000] + [1] + Self.text[1001..<2000] + [2] + Self.text[2001...]
        for device in [owner, carol, dan] {
            try await onThread {
                let isThere = try device.names(in: "").contains { try device.bytes($0) == Array(changed) }
                #expect(isThere, "\(device.label)")
            }
        }
    }

    /// Of two devices of the owner, the one with the lower log asks.
    @Test func onlyOneDeviceDeletes() async throws {
        let remote = MemoryRemote()
        let world = try await ReplicaWorld.make(remote)
        let first = try ReplicaDevice(0, in: world, retiresAll: true)
        let second = try ReplicaDevice(0, number: 4, in: world, retiresAll: true)
        try await onThread { try second.write(Self.text, to: "file") }
        try await ReplicaDevice.meet([first, second])
        try await onThread {
            try first.write("first", to: "other")
            try second.write("short", to: "file")
        }
        try await ReplicaDevice.meet([first, second])
        let before = Self.packs(world, remote)
        for _ in 0..<4 {
            await second.engine.lookedLongAgo()
            try await ReplicaDevice.meet([first, second])
        }
        #expect(Self.packs(world, remote) == before)
        for _ in 0..<4 {
            await first.engine.lookedLongAgo()
            try await ReplicaDevice.meet([first, second])
        }
        #expect(Self.packs(world, remote).count < before.count)
    }

    /// Half a year passes on this device's clock alone: the other one is not silent for that.
    @Test func aDeviceThatWasAwayWaitsForOthers() async throws {
        let remote = MemoryRemote()
        let world = try await ReplicaWorld.make(remote)
        let devices = try Self.devices(2, world)
        let owner = devices[0]
        try await onThread { try owner.write(Self.text, to: "file") }
        try await ReplicaDevice.meet(devices)
        world.passes(milliseconds: 180 * 86_400_000)
        try await onThread { try owner.write("other", to: "file") }
        let before = Self.packs(world, remote)
        try await Self.meetOften([owner])
        #expect(before.isSubset(of: Self.packs(world, remote)))
        #expect(await owner.engine.retirements.own != nil)
        try await Self.meetOften(devices)
        #expect(Self.packs(world, remote) == (try await Self.used(owner)))
    }

    @Test func aRemoteThatRefusesIsLeftAlone() async throws {
        let remote = MemoryRemote()
        let world = try await ReplicaWorld.make(remote)
        let refusing = PartialRemote(remote)
        refusing.refuseDeletes()
        let owner = try ReplicaDevice(0, in: world.at(refusing), retiresAll: true)
        try await onThread { try owner.write(Self.text, to: "file") }
        try await ReplicaDevice.meet([owner])
        try await onThread { try owner.write("short", to: "file") }
        try await Self.meetOften([owner])
        let findings = await owner.engine.status.findings
        #expect(findings == [.packsStay(.refused("no"))] && findings.allSatisfy { !$0.isDoubt })
        let objects = remote.objects
        try await Self.meetOften([owner])
        #expect(remote.objects == objects)
    }

    /// Storage that brings deleted packs back is not asked to delete them again and again.
    @Test func packsThatComeBackAreLeftAlone() async throws {
        let remote = MemoryRemote()
        let world = try await ReplicaWorld.make(remote)
        let owner = try Self.devices(1, world)[0]
        try await onThread { try owner.write(Self.text, to: "file") }
        try await ReplicaDevice.meet([owner])
        let before = remote.objects
        try await onThread { try owner.write("short", to: "file") }
        try await Self.meetOften([owner])
        let gone = before.filter { remote.objects[$0.key] == nil }
        #expect(gone.count == 1)
        for (name, bytes) in gone { try await remote.put(name, .memory(bytes), ifAbsent: true) }
        try await Self.meetOften([owner])
        let objects = remote.objects
        try await Self.meetOften([owner])
        #expect(remote.objects == objects && gone.allSatisfy { objects[$0.key] != nil })
        let isTold = await owner.engine.status.findings.contains {
            if case .packsStay = $0 { true } else { false }
        }
        #expect(isTold)
    }

    /// Whatever devices do, and in whichever order they sync: all contents stay readable everywhere.
    @Test(arguments: Seeds.first(6))
    func nothingThatIsNeededGoes(seed: UInt64) async throws {
        let remote = MemoryRemote()
        let world = try await ReplicaWorld.make(remote)
        let devices = try Self.devices(3, world)
        try await ReplicaDevice.meet(devices)
        try await RandomProgram.play(160, on: devices, seed: seed) {
            await $0.engine.lookedLongAgo()
        } check: { _ in
            try await Self.meetOften(devices)
            let left = Self.packs(world, remote)
            #expect(left == (try await Self.used(devices[0])), "seed \(seed)")
            for device in devices {
                // All contents come from the remote.
                let (tree, flaws) = try await onThread {
                    _ = try device.vault.cache.evict(to: 0)
                    return (try device.tree(), try device.flaws())
                }
                #expect(flaws == [], "seed \(seed): \(device.label)")
                let first = try await onThread { try devices[0].tree() }
                #expect(tree == first, "seed \(seed): \(device.label)")
                let findings = await device.engine.status.findings.map { "\($0)" }
                #expect(findings == [], "seed \(seed): \(device.label)")
            }
        }
    }
}

/// A remote on which some calls can be turned off.
private final class PartialRemote: ForwardingRemote {
    let base: any RemoteBackend
    private let puts = Mutex(true), deletes = Mutex(true)

    init(_ base: any RemoteBackend) { self.base = base }

    func allowPuts(_ isAllowed: Bool) { puts.withLock { $0 = isAllowed } }
    func refuseDeletes() { deletes.withLock { $0 = false } }

    func put(_ name: RemoteName, _ bytes: RemoteBytes, ifAbsent: Bool) async throws(RemoteError) {
        guard puts.withLock({ $0 }) else { throw .unreachable("off") }
        try await base.put(name, bytes, ifAbsent: ifAbsent)
    }

    func delete(_ name: RemoteName) async throws(RemoteError) {
        guard deletes.withLock({ $0 }) else { throw .refused("no") }
        try await base.delete(name)
    }
}

extension SyncEngine {
    /// Makes the next round look at the packs, and ask again.
    fileprivate func lookedLongAgo() {
        packs.lookSoon()
        packs.asked(deletedCount: 1)
    }
}
