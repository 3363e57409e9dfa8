import CofferFormat
import CofferRemote
import CofferSystem
import CofferTestSupport
import MergeCases
import RemoteConformance
import Synchronization
import Testing

import CofferVault

/// A profile that was restored from a copy, and that writes before it has caught up with its own log.
///
/// Until then it can make no commit, so its changes are in none while newer ones arrive.
@Suite struct PutBackTests {
    /// Runs a story of a member: in the vault that is copied, afterwards, and after the copy was restored.
    ///
    /// - Returns: The member and the owner, who have synced again.
    private func story(
        on remote: any RemoteBackend = MemoryRemote(),
        before: @escaping @Sendable (ReplicaDevice) throws -> Void,
        after: @escaping @Sendable (ReplicaDevice) throws -> Void,
        elsewhere: @escaping @Sendable (ReplicaDevice) throws -> Void = { _ in },
        putBack: @escaping @Sendable (ReplicaDevice) throws -> Void
    ) async throws -> (ReplicaDevice, ReplicaDevice) {
        let world = try await ReplicaWorld.make(remote)
        let owner = try ReplicaDevice(0, in: world)
        let lost = try ReplicaDevice(1, in: world)
        try await onThread { try before(lost) }
        try await ReplicaDevice.meet([lost, owner])
        try await onThread { try lost.vault.commit() }
        let copy = lost.test.directory.copy()
        try await onThread {
            try after(lost)
            try elsewhere(owner)
            // The member's log continues even if nothing else does.
            try lost.write("1", to: "later")
        }
        try await ReplicaDevice.meet([lost, owner])
        let member = try ReplicaDevice(1, in: world, on: lost.test.on(copy))
        try await onThread { try putBack(member) }
        try await ReplicaDevice.meet([member, owner])
        try await onThread {
            let trees = (try member.tree(), try owner.tree())
            #expect(trees.0 == trees.1)
            let flaws = (try member.flaws(), try owner.flaws())
            #expect(flaws == ([], []))
        }
        return (member, owner)
    }

    /// The sorted texts of all files whose names begin with `prefix`.
    private func texts(_ device: ReplicaDevice, _ prefix: String) async throws -> [String] {
        try await onThread {
            try device.names(in: "").filter { $0.hasPrefix(prefix) }.map { try device.read($0) }.sorted()
        }
    }

    @Test func conflictingWritesAreBothKept() async throws {
        let (_, owner) = try await story {
            try $0.write("old", to: "a.txt")
        } after: {
            try $0.write("sent", to: "a.txt")
        } putBack: {
            try $0.write("mine", to: "a.txt")
        }
        #expect(try await texts(owner, "a") == ["mine", "sent"])
        #expect(try await texts(owner, "a.txt") == ["sent"])
    }

    @Test func changesOfOthersAreKeptToo() async throws {
        let (_, owner) = try await story {
            try $0.write("old", to: "a.txt")
            try $0.link("a.txt", as: "hard.txt")
        } after: { _ in
        } elsewhere: {
            try $0.write("theirs", to: "a.txt")
        } putBack: {
            try $0.write("mine", to: "hard.txt")
        }
        #expect(try await texts(owner, "") == ["1", "mine", "theirs", "theirs"])
    }

    @Test func aRenamedFileKeepsItsNewName() async throws {
        let (_, owner) = try await story {
            try $0.write("old", to: "a")
        } after: {
            try $0.write("sent", to: "a")
        } putBack: {
            try $0.write("mine", to: "a")
            try $0.move("a", to: "b")
        }
        #expect(try await texts(owner, "a") == ["sent"])
        #expect(try await texts(owner, "b") == ["mine"])
    }

    @Test func aFileRemovedElsewhereStaysAsWritten() async throws {
        let (_, owner) = try await story {
            try $0.makeDirectory("d")
            try $0.write("old", to: "d/a")
            try $0.write("old", to: "b")
        } after: {
            try $0.remove("b")
        } elsewhere: {
            try $0.remove("d/a")
            try $0.remove("d")
        } putBack: {
            try $0.write("mine", to: "d/a")
            try $0.write("mine too", to: "b")
        }
        #expect(try await texts(owner, "a") == ["mine"])
        #expect(try await texts(owner, "b") == ["mine too"])
        #expect(try await texts(owner, "d") == [])
    }

    @Test func filesRemovedHereFollowTheOthers() async throws {
        let (_, owner) = try await story {
            try $0.write("old", to: "a")
            try $0.write("old", to: "b")
        } after: {
            try $0.write("sent", to: "a")
            try $0.remove("b")
        } putBack: {
            try $0.write("mine", to: "a")
            for name in ["a", "b"] { try $0.remove(name) }
        }
        #expect(try await texts(owner, "a") == ["sent"])
        #expect(try await texts(owner, "b") == [])
    }

    @Test("Versions share what they have in common, and one outlives the other", arguments: 0...1)
    func largeFiles(removed: Int) async throws {
        let remote = CountingRemote(MemoryRemote())
        var random = SplitMix64(seed: 1)
        let old = random.bytes(6 << 20)
        let received = Mutex(0)
        let (member, owner) = try await story(on: remote) {
            try $0.write(old, to: "a")
        } after: { _ in
        } elsewhere: {
            _ = try $0.bytes("a")
            try $0.put([1, 2, 3], to: "a", at: 1 << 20)
        } putBack: {
            try $0.put([4, 5, 6], to: "a", at: 5 << 20)
            received.withLock { $0 = remote.counts.bytesReceived }
        }
        // Here only the changed extent and its description; the owner has read all of the other version.
        let bytesReceived = remote.counts.bytesReceived - received.withLock { $0 }
        #expect(bytesReceived < 9 << 20)
        try await onThread {
            let names = try member.names(in: "").filter { $0.hasPrefix("a") }.sorted()
            try #require(names.count == 2)
            var (theirs, mine) = (old, old)
            theirs.replaceSubrange(1 << 20..<(1 << 20) + 3, with: [1, 2, 3])
            mine.replaceSubrange(5 << 20..<(5 << 20) + 3, with: [4, 5, 6])
            let expected = [theirs, mine]
            try member.remove(names[removed])
            try member.vault.commit()
            try member.vault.compact()
            try member.vault.commit()
            for device in [member, owner] {
                let isSame = try device.bytes(names[1 - removed]) == expected[1 - removed]
                #expect(isSame)
            }
            let damage = try member.vault.check { _, _ in }.damage.map(\.text)
            #expect(damage == [])
        }
    }

    @Test func aFileWithOneWriterStaysOneFile() async throws {
        let (_, owner) = try await story {
            try $0.write("old", to: "a")
            try $0.write("old", to: "b")
        } after: {
            try $0.setMode(0o600, of: "a")
            try $0.move("b", to: "c")
        } putBack: {
            try $0.write("mine", to: "a")
            try $0.write("mine too", to: "b")
        }
        #expect(try await texts(owner, "a") == ["mine"])
        #expect(try await texts(owner, "b") == [])
        #expect(try await texts(owner, "c") == ["mine too"])
    }

    @Test("No write is lost", arguments: Seeds.first(8))
    func randomStories(seed: UInt64) async throws {
        let written = Mutex<[Int64: [UInt8]]>([:])
        @Sendable func act(_ device: ReplicaDevice, _ seed: UInt64, _ count: Int) throws {
            var program = RandomProgram(seed: seed, on: device)
            for _ in 0..<count { try program.act() }
        }
        let (_, owner) = try await story { device in
            try act(device, seed, 40)
        } after: { device in
            try act(device, seed &+ 100, 30)
        } elsewhere: { device in
            try act(device, seed &+ 200, 30)
        } putBack: { device in
            try act(device, seed &+ 300, 10)
            for (index, path) in try device.tree(withContents: false).keys.sorted().enumerated() {
                let number = try device.number(path)
                guard try device.vault.attributes(of: number).type == .regular else { continue }
                let text = Array("mine \(index)".utf8)
                try device.write(text, to: path)
                written.withLock { $0[number] = text }
            }
        }
        try await onThread {
            let tree = try owner.tree()
            for text in written.withLock({ $0.values }) {
                #expect(tree.values.contains { $0.contains("\(text)") }, "seed \(seed): \(text)")
            }
        }
    }
}
