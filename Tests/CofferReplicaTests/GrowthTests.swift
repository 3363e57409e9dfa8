import CofferSync
import CofferTestSupport
import RemoteConformance
import Testing

import CofferVault

/// Files of many extents that another device appends to, while programs may have them open.
@Suite struct GrowthTests {
    /// Sizes within one extent, at its end, and with a tree of pages.
    static let sizes = [5, 70_000, 1 << 20, (3 << 20) + 100]

    private func pair(_ bytes: [UInt8]) async throws -> (devices: [ReplicaDevice], number: Int64) {
        let world = try await ReplicaWorld.make()
        let devices = [try ReplicaDevice(0, in: world), try ReplicaDevice(1, in: world)]
        try await onThread {
            try devices[0].write(bytes, to: "log")
            // Every other page becomes an extent, so that there is a tree.
            guard bytes.count > 1 << 20 else { return }
            for offset in stride(from: 0, to: 1 << 18, by: 8192) {
                try devices[0].put(Array(bytes[offset..<offset + 4096]), to: "log", at: Int64(offset))
            }
        }
        try await ReplicaDevice.meet(devices)
        let number = try await onThread {
            devices[1].vault.setSink(RecordedChanges())
            return try devices[1].number("log")
        }
        return (devices, number)
    }

    private func expect(
        _ bytes: [UInt8], on devices: [ReplicaDevice], isSameFile: Bool, as number: Int64
    ) async throws {
        try await ReplicaDevice.meet(devices)
        try await onThread {
            #expect(try (devices[1].number("log") == number) == isSameFile)
            let isSame = try devices[1].bytes("log") == bytes
            #expect(isSame)
            let flaws = try devices.flatMap { try $0.flaws() }
            #expect(flaws == [])
        }
    }

    /// Appends as a kernel does: writes the page with the old end again, with the new bytes.
    @Test(arguments: sizes, [false, true])
    func whatIsOnlyAddedToStaysTheFile(size: Int, isRead: Bool) async throws {
        var random = SplitMix64(seed: 1)
        var bytes = random.bytes(size)
        let (devices, number) = try await pair(bytes)
        if isRead { _ = try await onThread { [bytes] in try devices[1].bytes("log") == bytes } }
        for count in [10, 5000, 1 << 20] {
            let start = bytes.count / 4096 * 4096
            bytes += random.bytes(count)
            try await onThread { [bytes] in
                try devices[0].put(Array(bytes[start...]), to: "log", at: Int64(start))
            }
            // The last two arrive together.
            if count == 5000 {
                _ = try await devices[0].round()
                continue
            }
            try await expect(bytes, on: devices, isSameFile: true, as: number)
        }
    }

    @Test(arguments: sizes)
    func anotherEndMakesANewFile(size: Int) async throws {
        var random = SplitMix64(seed: 2)
        var bytes = random.bytes(size)
        let (devices, number) = try await pair(bytes)
        bytes[size - 1] ^= 1
        let start = (size - 1) / 4096 * 4096
        bytes += random.bytes(10)
        try await onThread { [bytes] in
            try devices[0].put(Array(bytes[start...]), to: "log", at: Int64(start))
        }
        try await expect(bytes, on: devices, isSameFile: false, as: number)
    }

    /// A change too large to be compared counts as a new file.
    @Test func aRewrittenLargeFileIsANewFile() async throws {
        var random = SplitMix64(seed: 3)
        var bytes = random.bytes(2 << 20)
        let (devices, number) = try await pair(bytes)
        bytes += [1]
        try await onThread { [bytes] in try devices[0].put(bytes, to: "log", at: 0) }
        try await expect(bytes, on: devices, isSameFile: false, as: number)
    }

    /// A program appends before the kernel shows what the other device has appended.
    @Test(arguments: [0] + sizes)
    func whatAProgramAppendsUnawareIsKeptBeside(size: Int) async throws {
        var random = SplitMix64(seed: 4)
        let bytes = random.bytes(size)
        let (hers, his, more) = (random.bytes(5000), random.bytes(300), random.bytes(70_000))
        let (devices, number) = try await pair(bytes)
        let (alice, bob) = (devices[0], devices[1])
        let start = size / 4096 * 4096
        let end = Array(bytes[start...])
        try await onThread { try alice.put(end + hers, to: "log", at: Int64(start)) }
        while try await alice.round() {}
        while try await bob.round() {}
        try await onThread {
            #expect(try bob.number("log") == number)
            let vault = bob.vault
            try vault.contents.write(
                (end + his).span.bytes, to: number, at: Int64(start), touches: true, dropsPrivileges: false)
            #expect(try bob.number("log") != number)
            #expect(vault.beginGrowth(of: number, to: Int64(size + hers.count)) == nil)
            // The program goes on in its own version.
            try vault.contents.write(
                more.span.bytes, to: number, at: Int64(size + his.count), touches: true,
                dropsPrivileges: false)
        }
        try await ReplicaDevice.meet(devices)
        try await onThread {
            for device in devices {
                let names = try device.names(in: "").sorted { $0.count < $1.count }
                #expect(names.count == 2 && names.first == "log")
                let isSame = try device.bytes("log") == bytes + hers
                let isKept = try device.bytes(names.last ?? "") == bytes + his + more
                #expect(isSame && isKept)
                #expect(try device.flaws() == [])
            }
        }
    }

    /// A program looks a file up before what was added is shown, and extends what it sees.
    @Test(arguments: [0] + sizes)
    func lookupsShowTheOldEndUntilTheNewOneIsShown(size: Int) async throws {
        var random = SplitMix64(seed: 9)
        let (bytes, hers) = (random.bytes(size), random.bytes(5000))
        let (devices, number) = try await pair(bytes)
        let (alice, bob) = (devices[0], devices[1])
        try await onThread { try alice.put(hers, to: "log", at: Int64(size)) }
        while try await alice.round() {}
        while try await bob.round() {}
        try await onThread {
            let vault = bob.vault
            func shown() throws -> [Int64?] {
                let entries = try vault.readDirectory(Vault.rootNumber, after: 2, limit: 2, attributes: true)
                return [try vault.lookup(Array("log".utf8), in: Vault.rootNumber).size]
                    + entries.map { $0.attributes?.size }
            }
            let (old, new) = (Int64(size), Int64(size + hers.count))
            #expect(try shown() == [old, old])
            #expect(try vault.attributes(of: number).size == new)
            var changes = AttributeChanges()
            changes.size = old + 100
            _ = try vault.setAttributes(of: number, changes)
            #expect(try shown().count == 3)
        }
        try await ReplicaDevice.meet(devices)
        for device in devices {
            try await onThread {
                let contents = try Set(device.names(in: "").map { try device.bytes($0) })
                let areRight = contents == [bytes + hers, bytes + [UInt8](repeating: 0, count: 100)]
                #expect(areRight)
                #expect(try device.flaws() == [])
            }
        }
    }

    /// A program writes while the kernel shows what was added: at the old end, or into what it has seen already.
    @Test(arguments: [0, 6000], [0, 1000])
    func whatAProgramWritesMeanwhileIsKeptBeside(size: Int, place: Int) async throws {
        var random = SplitMix64(seed: 7)
        let (bytes, hers, his) = (random.bytes(size), random.bytes(5000), random.bytes(300))
        let (devices, number) = try await pair(bytes)
        let (alice, bob) = (devices[0], devices[1])
        try await onThread { try alice.put(hers, to: "log", at: Int64(size)) }
        while try await alice.round() {}
        while try await bob.round() {}
        try await onThread {
            let vault = bob.vault
            #expect(vault.beginGrowth(of: number, to: Int64(size + hers.count)) != nil)
            try vault.contents.write(
                his.span.bytes, to: number, at: Int64(size + place), touches: true, dropsPrivileges: false)
            vault.endGrowth(of: number, at: Int64(size + hers.count))
        }
        try await ReplicaDevice.meet(devices)
        var changed = bytes + hers
        changed.replaceSubrange(size + place..<size + place + 300, with: his)
        for device in devices {
            try await onThread { [changed] in
                let contents = try Set(device.names(in: "").map { try device.bytes($0) })
                // The kernel has all of it by now, so the program's version ends with what it does not write over.
                let areRight = contents == [bytes + hers, changed]
                #expect(areRight)
                #expect(try device.flaws() == [])
            }
        }
    }

    /// A program that has emptied a file is about to write it anew: another version does not come in between.
    @Test func whatWasEmptiedDoesNotGrow() async throws {
        var random = SplitMix64(seed: 5)
        let (bytes, hers) = (random.bytes(70_000), random.bytes(5000))
        let (devices, number) = try await pair(bytes)
        let (alice, bob) = (devices[0], devices[1])
        try await onThread {
            try alice.put(hers, to: "log", at: Int64(bytes.count))
            try bob.truncate("log", to: 0)
        }
        // He sends the empty content before he hears of hers.
        for device in [bob, alice, bob] { while try await device.round() {} }
        try await expect(bytes + hers, on: devices, isSameFile: false, as: number)
    }

    /// A program that has made a file, or opened an empty one with O_TRUNC, is about to write it, too.
    @Test(arguments: [false, true]) func whatWasJustMadeDoesNotGrow(isEmptied: Bool) async throws {
        var random = SplitMix64(seed: 8)
        let (hers, his) = (random.bytes(5000), random.bytes(70_000))
        let (devices, log) = try await pair([])
        let (alice, bob) = (devices[0], devices[1])
        bob.vault.setSink(RecordedChanges(releases: false))
        let (name, number) = try await onThread {
            if isEmptied {
                try bob.truncate("log", to: 0)
                return ("log", log)
            }
            try bob.make("new", mode: 0o100_644)
            return ("new", try bob.number("new"))
        }
        for device in [bob, alice] { while try await device.round() {} }
        try await onThread { try alice.put(hers, to: name, at: 0) }
        for device in [alice, bob] { while try await device.round() {} }
        try await onThread {
            #expect(try bob.number(name) != number)
            try bob.vault.contents.write(
                his.span.bytes, to: number, at: 0, touches: true, dropsPrivileges: false)
        }
        try await ReplicaDevice.meet(devices)
        try await onThread {
            for device in devices {
                let contents = try device.names(in: "").map { try device.bytes($0) }
                #expect(contents.contains(hers) && contents.contains(his))
                #expect(try device.flaws() == [])
            }
        }
    }
}
