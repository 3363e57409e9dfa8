import CofferFormat
import CofferRemote
import CofferSync
import CofferSystem
import CofferTestSupport
import RemoteConformance
import Testing

import CofferVault

/// Power cuts of a device that makes commits and applies those of others.
@Suite struct ReplicaCrashTests {
    /// The disk after a power cut, and the rest of the world at that moment.
    private struct Cut {
        let disk: SimulatedStorageDirectory
        let other: SimulatedStorageDirectory
        let objects: [RemoteName: [UInt8]]
        let promised: [String: String]
    }

    private struct Record {
        var calls = 0
        var moments: Set<Int> = []
        var files: [String: String] = [:]
        var promised: [String: String] = [:]
        var cuts: [Cut] = []
    }

    @Test("Nothing is lost or doubled by a power cut", arguments: Seeds.first(8))
    func whatIsCommittedStays(seed: UInt64) async throws {
        var random = SplitMix64(seed: seed)
        let remote = MemoryRemote()
        let world = try await ReplicaWorld.make(remote)
        let (device, other) = (try ReplicaDevice(0, in: world), try ReplicaDevice(1, in: world))
        let record = Condition(Record())
        record.withLock { $0.moments = Set((0..<8).map { _ in 1 + random.below(400) }) }
        let (disk, otherDisk) = (device.test.directory, other.test.directory)
        disk.observe { _, _ in
            record.withLock { record in
                record.calls += 1
                guard record.moments.contains(record.calls) else { return }
                record.cuts.append(
                    Cut(
                        disk: disk.crash(seed: UInt64(record.calls)), other: otherDisk.copy(),
                        objects: remote.objects, promised: record.promised))
            }
        }
        var programs = [
            RandomProgram(seed: seed &* 2, on: device), RandomProgram(seed: seed &* 2 &+ 1, on: other),
        ]
        for step in 0..<60 {
            switch random.below(8) {
            case 0:
                let name = "new \(step)"
                try await onThread { try device.write(name, to: name) }
                record.withLock { $0.files[name] = name }
            case 1:
                try await onThread { try device.vault.commit() }
                record.withLock { $0.promised = $0.files }
            case 2, 3: _ = try await device.round()
            case 4: _ = try await other.round()
            case let kind:
                let number = kind == 5 ? 1 : 0
                programs[number] = try await programs[number].acted()
            }
        }
        disk.observe(nil)
        let cuts = record.withLock { $0.cuts }
        #expect(!cuts.isEmpty, "seed \(seed)")
        for (number, cut) in cuts.enumerated() {
            try await check(cut, device, other, "seed \(seed), cut \(number)")
        }
    }

    private func check(
        _ cut: Cut, _ device: ReplicaDevice, _ other: ReplicaDevice, _ comment: Comment
    ) async throws {
        let remote = MemoryRemote()
        for (name, bytes) in cut.objects { try await remote.put(name, .memory(bytes), ifAbsent: true) }
        let world = device.world.at(remote)
        let devices = [
            try ReplicaDevice(0, in: world, on: device.test.on(cut.disk)),
            try ReplicaDevice(1, in: world, on: other.test.on(cut.other)),
        ]
        try await ReplicaDevice.meet(devices)
        let trees = try await onThread { try devices.map { try $0.tree() } }
        #expect(trees[0] == trees[1], comment)
        for (name, text) in cut.promised {
            let found = try? await onThread { try devices[1].read(name) }
            #expect(found == text, "\(comment): \(name)")
        }
        #expect(!trees[0].keys.contains { $0.hasPrefix("new") && $0.contains("conflict") }, comment)
        for device in devices {
            let flaws = try await onThread { try device.flaws() }
            #expect(flaws == [], comment)
            let findings = await device.engine.status.findings
            #expect(findings.isEmpty, comment)
        }
    }
}
