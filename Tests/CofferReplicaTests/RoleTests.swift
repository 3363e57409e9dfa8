import CofferClient
import CofferFormat
import CofferRemote
import CofferSync
import CofferSystem
import CofferTestSupport
import CofferTrust
import MergeCases
import RemoteConformance
import SyncTestSupport
import Testing

@testable import CofferSync
import CofferVault

/// Changes by a member that loses the right to write, and may get it back later.
@Suite struct RoleTests {
    private struct Team {
        let owner: ReplicaDevice, member: ReplicaDevice

        init(commitsPerCheckpoint: UInt64 = 1000) async throws {
            let world = try await ReplicaWorld.make()
            owner = try ReplicaDevice(0, in: world, commitsPerCheckpoint: commitsPerCheckpoint)
            member = try ReplicaDevice(1, in: world, commitsPerCheckpoint: commitsPerCheckpoint)
            try await meet()
            let owner = owner
            owner.commitsAtOnce = true
            try await onThread {
                try owner.makeDirectory("d")
                try owner.write("old f", to: "f")
                try owner.write("old g", to: "d/g")
                try owner.write("old h", to: "h")
                try owner.makeDirectory("e")
            }
            owner.commitsAtOnce = false
            try await meet()
        }

        func meet() async throws { try await ReplicaDevice.meet([owner, member]) }

        func makeMember(_ role: Role) async throws {
            let identity = await member.engine.setup.keys.author.identity
            try await owner.engine.setRole(of: identity, to: role)
        }

        /// Writes to an existing file, moves another, removes a third, and makes new ones.
        func memberWrites() async throws {
            let member = member
            try await onThread {
                try member.write("mine", to: "f")
                try member.write("new", to: "n")
                try member.makeDirectory("d/sub")
                try member.write("within", to: "d/sub/n")
                try member.make("d/link", mode: 0o120_777, target: "target")
                try member.move("d/g", to: "e/g")
                try member.remove("h")
                try member.setAttribute("user.mine", to: "x", of: "")
            }
        }

        /// Checks that both show what the owner wrote, and nothing else.
        func expectShared(_ texts: [String: String]) async throws {
            let (owner, member) = (owner, member)
            let (one, other) = try await onThread { (try owner.tree(), try member.tree()) }
            #expect(one == other)
            for (path, text) in texts {
                let found = try await onThread { try member.read(path) }
                #expect(found == text, "\(path)")
            }
            #expect(Set(one.keys) == Set(texts.keys).union(["d/", "e/"]))
            let flaws = try await onThread { try owner.flaws() + member.flaws() }
            #expect(flaws == [])
            let (unsent, attribute) = try await onThread {
                (try member.vault.outgoing.unsentCount(), try member.attribute("user.mine", of: ""))
            }
            #expect(unsent == 0 && attribute == nil)
        }

        /// Checks that the other vault has what the member wrote; a name may contain a label.
        func expectAside(_ texts: [String: String]) async throws {
            let aside = OpenVault(vault: member.aside)
            for (path, text) in texts {
                let directory = String(path.prefix(upTo: path.lastIndex(of: "/") ?? path.startIndex))
                let found = try await onThread {
                    try aside.names(in: directory).map { directory.isEmpty ? $0 : "\(directory)/\($0)" }
                        .filter { $0.hasPrefix(path) && !$0.hasSuffix("/") }.map { try aside.read($0) }
                }
                #expect(found == [text], "\(path)")
            }
            let link = try await onThread { try aside.vault.readLink(aside.number("d/link")) }
            #expect(link == Array("target".utf8))
            let damage = try await onThread { try aside.vault.check { _, _ in }.damage.map(\.text) }
            #expect(damage == [])
        }

        /// Checks that the member may write again.
        func expectMemberWrites() async throws {
            try await makeMember(.writer)
            try await meet()
            let (owner, member) = (owner, member)
            try await onThread {
                member.vault.setForReading(false)
                try member.write("again", to: "f")
            }
            try await meet()
            let text = try await onThread { try owner.read("f") }
            #expect(text == "again")
            // A device that had to begin another log still counts as one device.
            for device in [owner, member] {
                let labels = await device.engine.status.devices.compactMap(\.author.label).sorted()
                #expect(labels == ["member's laptop", "owner's laptop"])
            }
        }
    }

    private final class OpenVault: OpenVaultUser, Sendable {
        let name = "", label = ""
        let vault: Vault
        init(vault: Vault) { self.vault = vault }
        func collect() {}
    }

    private static let old = ["f": "old f", "d/g": "old g", "h": "old h"]
    private static let written = ["f": "mine", "n": "new", "d/sub/n": "within"]

    @Test("Unsent changes go to another vault", arguments: [1000, 3] as [UInt64])
    func whatIsUnsent(commitsPerCheckpoint: UInt64) async throws {
        let team = try await Team(commitsPerCheckpoint: commitsPerCheckpoint)
        try await team.makeMember(.reader)
        try await team.memberWrites()
        try await team.meet()
        try await team.expectShared(Self.old)
        try await team.expectAside(Self.written)
        try await team.expectMemberWrites()
    }

    /// The other vault has what was written here; the file has the incoming content.
    @Test func unsentAndChangedElsewhere() async throws {
        let team = try await Team()
        try await team.makeMember(.reader)
        try await team.memberWrites()
        let owner = team.owner
        try await onThread { try owner.write("newer", to: "f") }
        try await team.meet()
        try await team.expectShared(Self.old.merging(["f": "newer"]) { $1 })
        try await team.expectAside(Self.written)
    }

    @Test(
        "What became commits that count for nobody goes to another vault",
        arguments: [false, true], [1000, 3] as [UInt64])
    func withdrawnCommits(arePut: Bool, commitsPerCheckpoint: UInt64) async throws {
        let team = try await Team(commitsPerCheckpoint: commitsPerCheckpoint)
        let member = team.member
        member.commitsAtOnce = true
        try await team.memberWrites()
        member.commitsAtOnce = false
        try await team.makeMember(.reader)
        // They reach the remote before their author learns of the change.
        if arePut { try await member.engine.putUnsent() }
        try await team.meet()
        try await team.expectShared(Self.old)
        try await team.expectAside(Self.written)
        let isTold = await member.engine.status.findings.contains {
            if case .withdrawn = $0 { true } else { false }
        }
        #expect(isTold)
        try await team.expectMemberWrites()
    }

    /// Changes made on top of withdrawn commits belong to a writer again, and are sent.
    @Test("A reinstated writer sends the changes that no commit has", arguments: [1000, 3] as [UInt64])
    func writerAgain(commitsPerCheckpoint: UInt64) async throws {
        let team = try await Team(commitsPerCheckpoint: commitsPerCheckpoint)
        let (owner, member) = (team.owner, team.member)
        member.commitsAtOnce = true
        try await team.memberWrites()
        member.commitsAtOnce = false
        try await team.makeMember(.reader)
        try await team.makeMember(.writer)
        try await onThread { try member.write("on top", to: "f") }
        try await team.meet()
        try await team.expectAside(["n": "new", "d/sub/n": "within"])
        let (one, other) = try await onThread { (try owner.tree(), try member.tree()) }
        #expect(one == other)
        let texts = try await onThread {
            try owner.names(in: "").filter { $0.hasPrefix("f") }.map { try owner.read($0) }
        }
        #expect(Set(texts) == ["old f", "on top"])
        let flaws = try await onThread { try owner.flaws() + member.flaws() }
        #expect(flaws == [])
    }

    /// A guest makes files and loses the right to write before the owner has seen them; a member has worked on them.
    ///
    /// The files go, as their makers' commits do not count. What the member wrote does not, and nobody finds fault with
    /// the member, whose commits are about files that no commit makes any more.
    @Test("What was written to a file of withdrawn commits goes to another vault")
    func writtenOverWithdrawn() async throws {
        let team = try await Team()
        let (owner, member) = (team.owner, team.member)
        let guest = try ReplicaDevice(2, in: member.world)
        try await ReplicaDevice.meet([guest, owner, member])
        let remote = try (member.world.remote as? MemoryRemote).orThrow()
        let seen = remote.objects
        try await onThread {
            try guest.write("first", to: "changed")
            try guest.write("only the guest's", to: "unchanged")
            try guest.makeDirectory("folder")
        }
        try await ReplicaDevice.meet([guest, member])
        try await onThread {
            try member.write("second", to: "changed")
            try member.move("changed", to: "folder/moved")
            try member.write("a new file", to: "folder/own")
        }
        try await ReplicaDevice.meet([guest, member])
        // A replicated folder: what they put has not arrived at the owner's.
        let late = remote.objects.filter { seen[$0.key] == nil }
        for name in late.keys { try await remote.delete(name) }
        let identity = await guest.engine.setup.keys.author.identity
        try await owner.engine.setRole(of: identity, to: .reader)
        for (name, bytes) in late { try await remote.put(name, .memory(bytes), ifAbsent: true) }
        try await ReplicaDevice.meet([owner, member, guest])
        let aside = OpenVault(vault: member.aside)
        let found = try await onThread {
            (
                try [owner, member, guest].map { try $0.tree() }, try owner.read("own"),
                try aside.names(in: "folder").map { "\($0): \(try aside.read("folder/\($0)"))" }
            )
        }
        #expect(Set(found.0).count == 1)
        #expect(Set(found.0[0].keys) == ["d/", "d/g", "e/", "f", "h", "own"])
        #expect(found.1 == "a new file" && found.2 == ["moved: second"])
        for device in [owner, member, guest] {
            let findings = await device.engine.status.findings.map { "\($0)" }
            #expect(findings.allSatisfy { !$0.contains("member's laptop") }, "\(findings)")
            let flaws = try await onThread { try device.flaws() }
            #expect(flaws == [])
        }
    }

    /// What was copied before a crash is not copied again.
    @Test func aCrashInBetween() async throws {
        let team = try await Team()
        try await team.makeMember(.reader)
        try await team.memberWrites()
        let member = team.member
        for _ in 0..<2 { try await member.replica.setAside([], andUnsent: true) }
        try await team.meet()
        try await team.expectShared(Self.old)
        try await team.expectAside(Self.written)
        let aside = OpenVault(vault: member.aside)
        let names = try await onThread { try aside.names(in: "").sorted() }
        #expect(names == ["d/", "f", "n"])
    }

    /// A right to write that ended in the meantime does not end writing.
    @Test func aReinstatedWriterContinues() async throws {
        let team = try await Team()
        for _ in 0..<2 {
            try await team.makeMember(.reader)
            try await team.meet()
            try await team.expectMemberWrites()
        }
    }
}
