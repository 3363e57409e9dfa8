import CofferClient
import CofferFormat
import CofferRemote
import CofferSystem
import CofferTestSupport
import CofferTrust
import RemoteConformance
import Synchronization
import Testing

@testable import CofferSync
import CofferVault

/// Failures while unsent changes are copied to another vault: nothing is dropped before its copy exists.
@Suite struct SettingAsideTests {
    /// A remote whose packs can be made unreachable.
    private final class PackSwitch: ForwardingRemote {
        let memory = MemoryRemote()
        var base: any RemoteBackend { memory }
        private let arePacksOff = Mutex(false)

        func turnPacks(on isOn: Bool) { arePacksOff.withLock { $0 = !isOn } }

        func get(_ name: RemoteName, _ range: Range<Int>) async throws(RemoteError) -> RemoteContent {
            if name.text.contains("/packs/"), arePacksOff.withLock({ $0 }) { throw .unreachable("off") }
            return try await base.get(name, range)
        }
    }

    private final class OpenVault: OpenVaultUser, Sendable {
        let name = "", label = ""
        let vault: Vault
        init(vault: Vault) { self.vault = vault }
        func collect() {}
    }

    private struct Team {
        let remote = PackSwitch()
        let world: ReplicaWorld
        let owner: ReplicaDevice, member: ReplicaDevice
        let aside: OpenVault
        /// The content of the owner's file, and what the member writes.
        let theirs = (0..<400_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 4) }
        let mine = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 17 >> 3) }

        init() async throws {
            world = try await ReplicaWorld.make(remote)
            owner = try ReplicaDevice(0, in: world)
            member = try ReplicaDevice(1, in: world)
            aside = OpenVault(vault: member.aside)
            let (owner, theirs) = (owner, theirs)
            try await meet()
            try await onThread { try owner.write(theirs, to: "f") }
            try await meet()
        }

        func meet() async throws { try await ReplicaDevice.meet([owner, member]) }

        func makeReader() async throws {
            let identity = await member.engine.setup.keys.author.identity
            try await owner.engine.setRole(of: identity, to: .reader)
        }

        /// Checks that the member sees the vault as all others do, and that each file in the other vault is
        /// right.
        func expect(aside texts: [String: [UInt8]]) async throws {
            let (owner, member, aside, theirs) = (owner, member, aside, theirs)
            try await onThread {
                #expect(try member.bytes("f") == theirs)
                let (one, other) = (try owner.tree(), try member.tree())
                #expect(one == other)
                let flaws = try owner.flaws() + member.flaws()
                #expect(flaws == [])
                let (hasUnsent, names) = (try member.vault.outgoing.hasUnsent(), try aside.names(in: ""))
                #expect(!hasUnsent && Set(names) == Set(texts.keys))
                for (name, bytes) in texts { #expect(try aside.bytes(name) == bytes, "\(name)") }
            }
        }

        /// Checks that the member's vault is unchanged.
        func expectUntouched() async throws {
            let (member, aside) = (member, aside)
            try await onThread {
                #expect(try member.vault.outgoing.hasUnsent())
                let names = try aside.names(in: "").filter { $0 != ".coffer-part" }
                #expect(names == [])
            }
        }
    }

    /// A part of the file was written here; the rest is only at the remote.
    @Test func unreachableContentStaysUntilItIsReachable() async throws {
        let team = try await Team()
        let member = team.member
        try await onThread { try member.put(Array("mine".utf8), to: "f", at: 100) }
        try await team.makeReader()
        team.remote.turnPacks(on: false)
        for _ in 0..<2 { await #expect(throws: SyncError.self) { try await member.engine.round() } }
        try await team.expectUntouched()
        team.remote.turnPacks(on: true)
        try await team.meet()
        var expected = team.theirs
        expected.replaceSubrange(100..<104, with: Array("mine".utf8))
        try await team.expect(aside: ["f": expected])
    }

    /// The rest is damaged at the remote, and repaired there later.
    @Test func changesWithDamagedRemoteContentStayUntilRepair() async throws {
        let team = try await Team()
        let (member, remote) = (team.member, team.remote.memory)
        try await onThread { try member.put(Array("mine".utf8), to: "f", at: 100) }
        try await team.makeReader()
        let packs = remote.objects.filter { team.world.layout.packs.contains($0.key) }
        for (name, bytes) in packs {
            let damaged = bytes.prefix(48) + bytes.dropFirst(48).map { ~$0 }
            try await remote.put(name, .memory(Array(damaged)), ifAbsent: false)
        }
        await #expect(throws: SyncError.self) { try await member.engine.round() }
        try await team.expectUntouched()
        for (name, bytes) in packs { try await remote.put(name, .memory(bytes), ifAbsent: false) }
        try await team.meet()
        var expected = team.theirs
        expected.replaceSubrange(100..<104, with: Array("mine".utf8))
        try await team.expect(aside: ["f": expected])
    }

    /// A block written here is gone for good: all others are copied, and the file is named.
    @Test func locallyDamagedBlocksAreHolesInTheCopy() async throws {
        let team = try await Team()
        let (member, mine) = (team.member, team.mine)
        try await onThread {
            let packs = Set(member.test.directory.paths.filter { $0.hasPrefix("packs/") })
            try member.write(mine, to: "new")
            try member.vault.commit()
            let pack = try #require(
                member.test.directory.paths.first { $0.hasPrefix("packs/") && !packs.contains($0) }
                    ?? packs.first)
            let image = member.test.directory.bytes(of: pack)
            // The file's extent begins at a page of the pack, wherever that is.
            member.test.directory.flip(pack, at: image.count / 2)
        }
        let hurt = try await onThread { () -> [Range<Int64>] in
            try member.vault.check { _, _ in }.damage.compactMap(\.range)
        }
        let hole = try #require(hurt.first)
        #expect(hurt.count == 1)
        try await team.makeReader()
        try await team.meet()
        var expected = mine
        for place in hole { expected[Int(place)] = 0 }
        try await team.expect(aside: ["new": expected])
        #expect(member.problems.all.contains { $0.text.contains("new") })
    }

    /// A program writes once more after everything was examined, and before it is dropped.
    @Test func writesDuringTheCopyAreCopiedToo() async throws {
        let team = try await Team()
        let member = team.member
        try await onThread { try member.write("first", to: "new") }
        try await team.makeReader()
        let writes = Mutex(1)
        let place = member.aside
        member.replica.setAsidePlace { () throws(FileSystemError) in
            let isFirst = writes.withLock { left in
                defer { left = 0 }
                return left == 1
            }
            guard isFirst else { return place }
            // Like a request that was under way when the role ended.
            member.vault.setForReading(false)
            defer { member.vault.setForReading(true) }
            guard (try? member.write("second", to: "new")) != nil,
                (try? member.write("other", to: "newer")) != nil
            else { throw .noSpace }
            return place
        }
        var failures = 0
        for _ in 0..<4 {
            do { _ = try await member.engine.round() } catch { failures += 1 }
        }
        #expect(failures == 1)
        try await team.meet()
        let (aside, owner) = (team.aside, team.owner)
        try await onThread {
            let texts = try aside.names(in: "").map { try aside.read($0) }.sorted()
            #expect(texts == ["other", "second"] || texts == ["first", "other", "second"])
            let (one, other) = (try owner.tree(), try member.tree())
            #expect(one == other)
            let hasUnsent = try member.vault.outgoing.hasUnsent()
            #expect(!hasUnsent)
        }
    }

    /// The kernel's pages of a program's writes that it has not handed over.
    private final class DirtyPages: ChangeSink {
        private let vault: Vault
        private let dirty: Mutex<(item: Int64, bytes: [UInt8])?>

        init(of item: Int64, _ bytes: [UInt8], in vault: Vault) {
            self.vault = vault
            dirty = Mutex((item, bytes))
        }

        func begin() {}
        func note(_ changes: [VaultChange], in vault: Vault) {}
        func end() {}
        func noteAtOnce(_ change: VaultChange, in vault: Vault) {}
        func knows(_ item: Int64) -> Bool { dirty.withLock { $0?.item == item } }
        func awaitShown() {}

        func flush(_ item: Int64) {
            let pages = dirty.withLock { dirty in
                defer { if dirty?.item == item { dirty = nil } }
                return dirty?.item == item ? dirty : nil
            }
            guard let pages else { return }
            // Once the vault is read-only, the write is refused, and lost.
            try? vault.contents.write(
                pages.bytes.span.bytes, to: item, at: 0, touches: true, dropsPrivileges: false)
        }
    }

    @Test func pagesInTheKernelAreCopiedToo() async throws {
        let team = try await Team()
        let member = team.member
        let pages = try await onThread { () -> DirtyPages in
            try member.write("on disk", to: "new")
            return DirtyPages(
                of: try member.number("new"), Array("in memory".utf8), in: member.vault)
        }
        member.vault.setSink(pages)
        try await team.makeReader()
        try await team.meet()
        member.vault.setSink(nil)
        try await team.expect(aside: ["new": Array("in memory".utf8)])
    }

    /// The other vault has no room, so nothing is dropped.
    @Test func withoutRoomForTheCopyEverythingStays() async throws {
        let team = try await Team()
        let (member, mine) = (team.member, team.mine)
        try await onThread { try member.write(mine, to: "new") }
        try await team.makeReader()
        let full = Mutex(true)
        let place = member.aside
        member.replica.setAsidePlace { () throws(FileSystemError) in
            if full.withLock({ $0 }) { throw .noSpace }
            return place
        }
        await #expect(throws: SyncError.self) { try await member.engine.round() }
        try await team.expectUntouched()
        full.withLock { $0 = false }
        try await team.meet()
        try await team.expect(aside: ["new": mine])
    }
}
