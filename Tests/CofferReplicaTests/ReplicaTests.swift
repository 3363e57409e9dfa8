import CofferFormat
import CofferRemote
import CofferSync
import CofferSystem
import CofferTestSupport
import MergeCases
import RemoteConformance
import Testing

import CofferClient
import CofferVault

/// Real vaults that engines sync.
@Suite struct ReplicaTests {
    /// The devices of two people.
    private func pair(_ world: ReplicaWorld) throws -> [ReplicaDevice] {
        [try ReplicaDevice(0, in: world), try ReplicaDevice(1, in: world)]
    }

    private func expectSame(_ devices: [ReplicaDevice], _ comment: Comment? = nil) async throws {
        let trees = try await onThread { try devices.map { try $0.tree() } }
        for (device, tree) in zip(devices, trees) {
            #expect(tree == trees[0], comment)
            let flaws = try await onThread { try device.flaws() }
            #expect(flaws == [], comment)
            let state = try await device.replica.stateHash()
            let other = try await devices[0].replica.stateHash()
            #expect(state == other, comment)
            let findings = await device.engine.status.findings
            #expect(findings.isEmpty, comment)
        }
    }

    /// Numeric user ids mean nothing on other devices, so incoming items belong to the owner of the root, and
    /// so do items that a change makes.
    @Test func incomingItemsBelongToTheOwnerOfTheRoot() async throws {
        let devices = try pair(try await ReplicaWorld.make())
        try await onThread {
            func chown(_ path: String, _ device: ReplicaDevice, _ user: UInt32, _ group: UInt32) throws {
                var changes = AttributeChanges()
                (changes.user, changes.group) = (user, group)
                let number = try path.isEmpty ? Vault.rootNumber : device.number(path)
                _ = try device.vault.setAttributes(of: number, changes)
            }
            try chown("", devices[1], 4321, 8765)
            try devices[0].makeDirectory("dir")
            try devices[0].write("1", to: "dir/file")
            try chown("dir/file", devices[0], 0, 0)
            try devices[0].setMode(0o4755, of: "dir/file")
        }
        try await ReplicaDevice.meet(devices)
        try await onThread {
            for path in ["dir", "dir/file"] {
                let found = try devices[1].vault.attributes(of: devices[1].number(path))
                #expect(found.user == 4321 && found.group == 8765, "\(path)")
            }
            let kept = try devices[0].vault.attributes(of: devices[0].number("dir/file"))
            #expect(kept.user == 0 && kept.group == 0)
        }
    }

    @Test func everythingTravelsBothWays() async throws {
        let devices = try pair(try await ReplicaWorld.make())
        var random = SplitMix64(seed: 1)
        let sizes = [0, 1, 4096, 65_536, 65_537, 1 << 20, (1 << 20) + 1, 9 << 20, 20 << 20]
        let files = sizes.map { random.bytes($0) }
        try await onThread {
            for (number, device) in devices.enumerated() {
                let top = "dir \(number)"
                try device.makeDirectory(top)
                for (index, bytes) in files.enumerated() { try device.write(bytes, to: "\(top)/\(index)") }
                try device.link("\(top)/2", as: "\(top)/hard")
                try device.make("\(top)/soft", mode: 0o120_777, target: "a target")
                try device.make("\(top)/fifo", mode: 0o010_600)
                try device.setMode(0o640, of: "\(top)/3")
                try device.setAttribute("user.color", to: "blue", of: "\(top)/4")
                try device.setAttribute("user.color", to: "red", of: top)
                try device.move("\(top)/1", to: "\(top)/moved")
            }
        }
        try await ReplicaDevice.meet(devices)
        try await expectSame(devices)
        try await onThread {
            for (number, device) in devices.enumerated() {
                let other = "dir \(1 - number)"
                let isThere = try device.bytes("\(other)/8") == files[8]
                #expect(isThere)
                try device.put([9, 9, 9], to: "\(other)/8", at: 5 << 20)
                try device.put([7], to: "\(other)/8", at: 20 << 20)
                try device.truncate("\(other)/7", to: 3 << 20)
                try device.remove("\(other)/moved")
                try device.remove("\(other)/hard")
                try device.move("\(other)/0", to: "dir \(number)/from elsewhere")
                try device.setAttribute("user.color", to: "green", of: other)
            }
        }
        try await ReplicaDevice.meet(devices)
        try await expectSame(devices)
        try await onThread {
            var expected = files[8] + [7]
            expected.replaceSubrange(5 << 20..<(5 << 20) + 3, with: [9, 9, 9])
            let isSame = try devices[0].bytes("dir 0/8") == expected
            #expect(isSame)
            let count = try devices[0].bytes("dir 0/7").count
            #expect(count == 3 << 20)
        }
    }

    @Test func incomingContentIsFetchedWhenRead() async throws {
        let counting = CountingRemote(MemoryRemote())
        let devices = try pair(try await ReplicaWorld.make(counting))
        var random = SplitMix64(seed: 2)
        let bytes = random.bytes(6 << 20)
        try await onThread { try devices[0].write(bytes, to: "file") }
        try await ReplicaDevice.meet(devices)
        #expect(counting.counts.bytesReceived < 1 << 20)
        try await onThread {
            let number = try devices[1].number("file")
            let state = try devices[1].vault.contentState(of: number)
            #expect(state == .remoteOnly)
            let isSame = try devices[1].bytes("file") == bytes
            #expect(isSame)
        }
        #expect(counting.counts.bytesReceived > 6 << 20)
    }

    @Test func anIdlePairExchangesNothing() async throws {
        let counting = CountingRemote(MemoryRemote())
        let devices = try pair(try await ReplicaWorld.make(counting))
        try await onThread { try devices[0].write("1", to: "a") }
        try await ReplicaDevice.meet(devices)
        let puts = counting.counts.puts
        for _ in 0..<3 {
            for device in devices {
                let isBusy = try await device.round()
                #expect(!isBusy)
            }
        }
        #expect(counting.counts.puts == puts)
    }

    @Test func manySmallFilesShareAPack() async throws {
        let counting = CountingRemote(MemoryRemote())
        let devices = try pair(try await ReplicaWorld.make(counting))
        let puts = counting.counts.puts
        try await onThread {
            for number in 0..<600 { try devices[0].write("text \(number)", to: "\(number)") }
        }
        _ = try await devices[0].round()
        #expect(counting.counts.puts - puts < 16)
        try await ReplicaDevice.meet(devices)
        try await expectSame(devices)
    }

    @Test func damagedContentAffectsNothingElse() async throws {
        let remote = MemoryRemote()
        let world = try await ReplicaWorld.make(remote)
        let devices = try pair(world)
        var random = SplitMix64(seed: 3)
        let bytes = random.bytes(12 << 20)
        try await onThread { try devices[0].write(bytes, to: "large") }
        _ = try await devices[0].round()
        // Damages pages and extents alike.
        for (name, bytes) in remote.objects where name.text.hasPrefix(world.layout.packs.text) {
            var changed = bytes
            for index in stride(from: 60, to: changed.count, by: 4096) { changed[index] ^= 1 }
            try await remote.put(name, .memory(changed), ifAbsent: false)
        }
        try await onThread { try devices[0].write("2", to: "small") }
        _ = try await devices[0].round()
        _ = try await devices[1].round()
        try await onThread {
            let text = try devices[1].read("small")
            #expect(text == "2")
            #expect(throws: FileSystemError.self) { try devices[1].bytes("large") }
        }
        #expect(devices[1].problems.all.contains { $0.text.contains("remote pack") })
        #expect(devices[1].vault.stoppedReason == nil)
    }

    @Test func aFolderAsTheRemote() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let devices = try pair(try await ReplicaWorld.make(FolderBackend(path: folder.path)))
        var random = SplitMix64(seed: 4)
        let bytes = random.bytes(30 << 20)
        try await onThread {
            try devices[0].write(bytes, to: "large")
            for number in 0..<50 { try devices[1].write("\(number)", to: "\(number)") }
        }
        try await ReplicaDevice.meet(devices)
        try await expectSame(devices)
        try await onThread {
            let isSame = try devices[1].bytes("large") == bytes
            #expect(isSame)
        }
    }
}

/// The merge table, through engines.
@Suite struct MergeOnReplicasTests {
    @Test("The merge table, through engines", arguments: MergeCase.onVaults, [false, true])
    func row(_ row: MergeCase, isReversed: Bool) async throws {
        let world = try await ReplicaWorld.make()
        let devices = try (0..<row.userCount).map { try ReplicaDevice($0, in: world) }
        for device in devices {
            _ = try await device.round()
            device.commitsAtOnce = true
        }
        try await onThread {
            try row.run(World(devices, isReversed: isReversed))
            for device in devices {
                let flaws = try device.flaws()
                #expect(flaws == [])
            }
        }
    }
}
