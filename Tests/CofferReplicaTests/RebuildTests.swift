import CofferFacts
import CofferFormat
import CofferRemote
import CofferSystem
import CofferTestSupport
import Testing

import CofferClient
import CofferSync
import CofferVault

/// Rebuilds of all facts, on real vaults.
@Suite struct RebuildTests {
    @Test func aNewMemberTakesACheckpoint() async throws {
        let world = try await ReplicaWorld.make()
        let owner = try ReplicaDevice(0, in: world, commitsPerCheckpoint: 3)
        let member = try ReplicaDevice(1, in: world)
        var random = SplitMix64(seed: 1)
        let large = random.bytes(12 << 20)
        try await onThread {
            try owner.makeDirectory("d")
            try owner.makeDirectory("d/e")
            for number in 0..<1200 {
                try owner.write("\(number)", to: "d/\(number % 2 == 0 ? "" : "e/")\(number)")
            }
            try owner.write(large, to: "d/large")
            try owner.link("d/large", as: "hard")
            try owner.setAttribute("user.x", to: "1", of: "d/0")
        }
        try await ReplicaDevice.meet([owner, member])
        try await onThread { try owner.remove("d/2") }
        try await ReplicaDevice.meet([owner, member])
        // None of the first commits is left.
        let first = world.layout.commit(LogID(low: 1, high: 7), 1)
        await #expect(throws: (any Error).self) { try await world.remote.get(first, 0..<1) }
        let guest = try ReplicaDevice(2, in: world)
        try await onThread { try guest.write("mine", to: "from before") }
        try await ReplicaDevice.meet([guest, owner, member])
        try await onThread {
            let trees = (try guest.tree(), try owner.tree(), try member.tree())
            #expect(trees.0 == trees.1 && trees.1 == trees.2)
            #expect(trees.0["from before"] != nil && trees.0["d/e/1199"] != nil)
            for device in [guest, owner, member] {
                let flaws = try device.flaws()
                #expect(flaws == [])
                let damage = try device.vault.check { _, _ in }.damage.map(\.text)
                #expect(damage == [])
            }
        }
    }

    /// All facts of a device, as a checkpoint holds them.
    private func facts(of device: ReplicaDevice) async throws -> [CheckpointPiece.Group] {
        var groups: [CheckpointPiece.Group] = []
        var last: Register?
        while true {
            let page = try await device.replica.values(after: last, limit: 37)
            guard let end = page.last else { return groups }
            for (one, other) in zip([last] + page.map(\.register), page.map(\.register)) {
                if let one { #expect(one.precedes(other)) }
            }
            last = end.register
            for register in page {
                groups += register.values.map {
                    CheckpointPiece.Group(stamp: $0.stamp, facts: [Fact($0.assertion)])
                }
            }
        }
    }

    /// Two devices that have a common past, and then changed separately.
    private func parted(_ seed: UInt64) async throws -> [ReplicaDevice] {
        let world = try await ReplicaWorld.make()
        let devices = [try ReplicaDevice(0, in: world), try ReplicaDevice(1, in: world)]
        for _ in 0..<2 {
            try await onThread {
                for (number, device) in devices.enumerated() {
                    var program = RandomProgram(seed: seed &* 2 &+ UInt64(number), on: device)
                    for _ in 0..<40 { try program.act() }
                }
            }
            try await ReplicaDevice.meet(devices)
        }
        for device in devices { device.commitsAtOnce = true }
        try await onThread {
            for (number, device) in devices.enumerated() {
                var program = RandomProgram(seed: seed &* 3 &+ UInt64(number) &+ 5, on: device)
                for _ in 0..<40 { try program.act() }
                while try device.vault.outgoing.hasUnsent() { try device.collect() }
            }
        }
        // Their packs are at the remote, so that each device can read the other's content.
        return devices
    }

    private func result(of device: ReplicaDevice) async throws -> RebuiltFacts {
        RebuiltFacts(
            versions: try await device.replica.versions(), clock: .max >> 20,
            labels: [
                LogID(low: 1, high: 7): "owner's laptop", LogID(low: 2, high: 7): "member's laptop",
            ], rows: try await device.replica.rows().map { KeptChange($0.key, $0.value) })
    }

    @Test(arguments: Seeds.first(8))
    func theTreeFollowsTheFacts(seed: UInt64) async throws {
        let devices = try await parted(seed)
        let (source, target) = (devices[0], devices[1])
        let groups = try await facts(of: source)
        let result = try await result(of: source)
        for part in [0..<groups.count / 2, groups.count / 2..<groups.count] {
            if part.lowerBound == 0 { try await target.replica.beginRebuild() }
            try await target.replica.addToRebuild(Array(groups[part]))
        }
        let state = try await target.replica.finishRebuild(result)
        #expect(try await source.replica.stateHash() == state, "seed \(seed)")
        #expect(try await target.replica.rows().count == result.rows.count)
        try await onThread {
            let trees = (try source.tree(), try target.tree())
            #expect(trees.0 == trees.1, "seed \(seed)")
            let flaws = try target.flaws()
            #expect(flaws == [], "seed \(seed)")
            try target.vault.close()
        }
    }

    private func content(of number: Int64, in vault: Vault) throws -> [UInt8] {
        let count = Int(try vault.attributes(of: number).size)
        let buffer = AlignedBuffer(count: max(count, 1))
        let read = try vault.contents.read(number, at: 0, count: count, into: buffer)
        return buffer.withBytes(0..<read) { $0.array }
    }

    @Test("Programs keep the contents of the files that they have open", arguments: Seeds.first(3))
    func openFilesStay(seed: UInt64) async throws {
        let devices = try await parted(seed)
        let (source, target) = (devices[0], devices[1])
        let groups = try await facts(of: source)
        let result = try await result(of: source)
        target.vault.setSink(RecordedChanges(releases: false))
        let before = try await onThread {
            var files: [Int64: [UInt8]] = [:]
            for path in try target.tree(withContents: false).keys {
                let number = try target.number(path)
                if try target.vault.attributes(of: number).type == .regular {
                    files[number] = try content(of: number, in: target.vault)
                }
            }
            return files
        }
        try await target.replica.beginRebuild()
        try await target.replica.addToRebuild(groups)
        _ = try await target.replica.finishRebuild(result)
        try await onThread {
            for (number, bytes) in before {
                let isSame = try content(of: number, in: target.vault) == bytes
                #expect(isSame, "seed \(seed), file \(number)")
            }
            let trees = (try source.tree(), try target.tree())
            #expect(trees.0 == trees.1, "seed \(seed)")
            target.vault.setSink(nil)
            try target.vault.close()
        }
    }

    @Test func unsentChangesAreKept() async throws {
        let devices = try await parted(100)
        let (source, target) = (devices[0], devices[1])
        try await onThread { try source.write("common", to: "common") }
        devices[1].commitsAtOnce = false
        try await ReplicaDevice.meet(devices)
        let groups = try await facts(of: source)
        let result = try await result(of: source)
        try await onThread {
            try target.setMode(0o611, of: "common")
            try target.put(Array("unsent".utf8), to: "common", at: 0)
        }
        try await target.replica.beginRebuild()
        try await target.replica.addToRebuild(groups)
        _ = try await target.replica.finishRebuild(result)
        try await onThread {
            let (mode, text) = (try target.mode(of: "common"), try target.read("common"))
            #expect(mode == 0o611 && text == "unsent")
            try target.write("new", to: "new")
        }
        try await onThread {
            try target.makeDirectory("new directory")
            try target.makeDirectory("new directory/e")
            try target.write("1", to: "new directory/e/1")
            try target.link("new directory/e/1", as: "hard")
            try target.move("common", to: "new directory/moved")
            try target.write("2", to: "common")
        }
        try await target.replica.beginRebuild()
        try await target.replica.addToRebuild(groups)
        _ = try await target.replica.finishRebuild(result)
        target.commitsAtOnce = true
        try await onThread {
            let tree = try target.tree()
            #expect(tree["new directory/e/1"] != nil && tree["hard"] != nil && tree["new"] != nil)
            #expect(try target.read("common") == "unsent")
            let other = tree.keys.first { $0.hasPrefix("common (conflict") }
            #expect(try other.map { try target.read($0) } == "2")
            let links = try target.vault.attributes(of: target.number("hard")).links
            #expect(links == 2)
        }
        #expect(target.vault.stoppedReason == nil)
        try await ReplicaDevice.meet(devices)
        try await onThread {
            let trees = try devices.map { try $0.tree() }
            #expect(trees[0] == trees[1] && trees[0]["hard"] != nil)
            for device in devices {
                let flaws = try device.flaws()
                #expect(flaws == [])
            }
        }
    }

    @Test("Nothing that was applied goes and comes back", arguments: [2, 1000])
    func appliedCommitsStay(commitsPerCheckpoint: UInt64) async throws {
        let world = try await ReplicaWorld.make()
        let owner = try ReplicaDevice(0, in: world, commitsPerCheckpoint: commitsPerCheckpoint)
        let member = try ReplicaDevice(1, in: world)
        let devices = [owner, member]
        var random = SplitMix64(seed: 2)
        let (old, new) = (random.bytes(300_000), random.bytes(800_000))
        try await ReplicaDevice.meet(devices)
        try await onThread {
            try owner.write("first", to: "from the owner")
            try owner.write("first", to: "for both")
        }
        try await ReplicaDevice.meet(devices)
        try await onThread {
            try owner.write("second", to: "from the owner")
            try owner.write("third", to: "also from the owner")
        }
        _ = try await owner.round()
        _ = try await member.round()
        // The member's files are in its commits; what it writes to them now is in none.
        try await onThread {
            try member.makeDirectory("d")
            try member.make("d/new", mode: 0o100_644)
            try member.write(old, to: "d/old")
        }
        try await member.send()
        try await onThread {
            try member.write(new, to: "d/new")
            try member.put(new, to: "d/old", at: 100)
            try member.write("by the member", to: "for both")
            try member.write("not sent", to: "unsent")
        }
        let paths = [
            "from the owner", "also from the owner", "for both", "d", "d/new", "d/old", "unsent",
        ]
        let before = try await onThread { (try member.tree(), try paths.map { try member.number($0) }) }
        #expect(before.0.count == paths.count)
        try await member.rebuild()
        let after = try await onThread { (try member.tree(), try paths.map { try member.number($0) }) }
        #expect(before == after)
        try await ReplicaDevice.meet(devices)
        try await onThread {
            for device in devices {
                let (tree, flaws) = (try device.tree(), try device.flaws())
                #expect(tree == before.0 && flaws == [])
            }
        }
    }

    @Test("A power cut leaves the old facts or the new ones", arguments: Seeds.first(3))
    func crash(seed: UInt64) async throws {
        let devices = try await parted(seed &+ 50)
        let (source, target) = (devices[0], devices[1])
        let groups = try await facts(of: source)
        let result = try await result(of: source)
        try await onThread { try target.vault.commit() }
        let old = try await onThread { try target.tree(withContents: false) }
        let cuts = Condition([SimulatedStorageDirectory]())
        let disk = target.test.directory
        disk.observe { _, _ in cuts.withLock { $0.append(disk.crash(seed: seed &+ UInt64($0.count))) } }
        try await target.replica.beginRebuild()
        try await target.replica.addToRebuild(groups)
        _ = try await target.replica.finishRebuild(result)
        disk.observe(nil)
        let new = try await onThread { try target.tree(withContents: false) }
        #expect(old != new)
        var seen: Set<Bool> = []
        let all = cuts.withLock { $0 }
        for (number, cut) in all.enumerated()
        where number % (all.count / 40 + 1) == 0 || number + 1 == all.count {
            let again = try ReplicaDevice(1, in: target.world, on: target.test.on(cut))
            let (tree, flaws) = try await onThread {
                (try again.tree(withContents: false), try again.flaws())
            }
            #expect(tree == old || tree == new, "seed \(seed), cut \(number)")
            #expect(flaws == [], "seed \(seed), cut \(number)")
            seen.insert(tree == new)
        }
        #expect(seen.contains(false))
    }
}
