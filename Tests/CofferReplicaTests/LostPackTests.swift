import CofferFormat
import CofferRemote
import CofferSync
import CofferSystem
import CofferTestSupport
import RemoteConformance
import Testing

@testable import CofferStore
@testable import CofferSync
@testable import CofferVault

/// Packs and commits that the storage loses after they were put.
@Suite struct LostPackTests {
    private struct Pair {
        let remote = MemoryRemote()
        let world: ReplicaWorld
        let owner: ReplicaDevice, member: ReplicaDevice
        /// The content that the owner writes.
        let large = (0..<400_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 4) }

        /// The owner has written a file in one piece, one in many pieces, and a small one; the member has
        /// read none of them.
        init() async throws {
            world = try await ReplicaWorld.make(remote)
            owner = try ReplicaDevice(0, in: world)
            member = try ReplicaDevice(1, in: world)
            try await meet()
            let (owner, large) = (owner, large)
            try await onThread {
                try owner.write(large, to: "large")
                try owner.write("small", to: "small")
                try owner.write("", to: "pieces")
                // More ranges than fit into a content value.
                for piece in 0..<12 {
                    try owner.put(Array("piece \(piece)".utf8), to: "pieces", at: Int64(piece) * 65_536)
                    try owner.vault.commit()
                }
            }
            try await meet()
        }

        func meet() async throws { try await ReplicaDevice.meet([owner, member]) }

        var packs: [RemoteName] { remote.objects.keys.filter { world.layout.packs.contains($0) } }

        func losesPacks() async throws {
            for name in packs { try await remote.delete(name) }
        }

        /// Syncs again after a while.
        func meetLater() async throws {
            for device in [owner, member] { await device.engine.lookedLongAgo() }
            try await meet()
        }

        func expectAll(on device: ReplicaDevice) async throws {
            let large = large
            let (first, second) = (owner, member)
            try await onThread {
                #expect(try device.bytes("large") == large)
                #expect(try device.read("small") == "small")
                #expect(try device.bytes("pieces").count == 11 * 65_536 + 8)
                let names = try device.names(in: "").sorted()
                #expect(names == ["large", "pieces", "small"])
                let (one, other) = (try first.tree(), try second.tree())
                #expect(one == other)
                let flaws = try first.flaws() + second.flaws()
                #expect(flaws == [])
            }
        }
    }

    @Test func theAuthorResendsLostContent() async throws {
        let pair = try await Pair()
        let before = try await onThread { try pair.owner.tree(withContents: false) }
        let lost = Set(pair.packs)
        #expect(!lost.isEmpty)
        try await pair.losesPacks()
        // The member's device has what it has read, but must not state where it is stored.
        try await pair.meetLater()
        #expect(!pair.packs.isEmpty && lost.isDisjoint(with: pair.packs))
        try await pair.expectAll(on: pair.member)
        let after = try await onThread { try pair.owner.tree(withContents: false) }
        #expect(after == before)
        let isTold = await pair.owner.engine.status.findings.contains {
            if case .contentsPutAgain = $0 { !$0.isDoubt } else { false }
        }
        #expect(isTold)
        // Otherwise it would never end.
        let objects = pair.remote.objects
        for _ in 0..<2 { try await pair.meetLater() }
        #expect(pair.remote.objects == objects)
    }

    @Test func changesOfOthersAreNotSent() async throws {
        let pair = try await Pair()
        try await pair.expectAll(on: pair.member)
        try await pair.losesPacks()
        await pair.member.engine.lookedLongAgo()
        while try await pair.member.round() {}
        #expect(pair.packs.isEmpty)
        let unsent = try await onThread { try pair.member.vault.outgoing.unsentCount() }
        #expect(unsent == 0)
    }

    @Test func contentLostEverywhereIsReported() async throws {
        let pair = try await Pair()
        let owner = pair.owner
        let left = try await onThread { try owner.vault.cache.evict(to: 0) }
        #expect(left == 0)
        try await pair.losesPacks()
        try await pair.meetLater()
        let lost = await owner.engine.status.findings.filter(\.isDoubt)
        guard case .contentsLost(let byteCount) = lost.first else {
            Issue.record("\(lost)")
            return
        }
        #expect(byteCount >= pair.large.count)
        #expect(await pair.member.engine.status.findings.allSatisfy { !$0.isDoubt })
    }

    /// A storage that shows an older state is not filled up: a person has to decide.
    @Test func anOlderStateIsLeftUnchanged() async throws {
        let pair = try await Pair()
        let (owner, member) = (pair.owner, pair.member)
        let before = pair.remote.objects
        for number in 0..<6 {
            try await onThread { try owner.write("\(number)", to: "later \(number)") }
            try await pair.meet()
        }
        for name in pair.remote.objects.keys where before[name] == nil {
            try await pair.remote.delete(name)
        }
        for device in [owner, member] { await device.engine.lookedLongAgo() }
        for _ in 0..<4 { for device in [owner, member] { _ = try await device.round() } }
        #expect(Set(pair.remote.objects.keys) == Set(before.keys))
        for device in [owner, member] {
            let isStale = await device.engine.status.findings.contains {
                if case .stale = $0 { true } else { false }
            }
            #expect(isStale)
        }
    }

    /// With the store of a real vault, across the end of a mount.
    @Test func aLostCommitComesBackAfterAMount() async throws {
        let pair = try await Pair()
        let (owner, world) = (pair.owner, pair.world)
        for number in 0..<3 {
            try await onThread { try owner.write("\(number)", to: "later \(number)") }
            while try await owner.round() {}
        }
        let log = await owner.engine.logs.own
        let names = pair.remote.objects.keys.filter { world.layout.log(log).contains($0) }.sorted()
        let lost = try #require(names.dropLast().last)
        let bytes = try #require(pair.remote.objects[lost])
        try await pair.remote.delete(lost)
        try await onThread { try owner.vault.commit() }
        let again = try ReplicaDevice(0, in: world, on: owner.test.on(owner.test.directory.copy()))
        _ = try await again.round()
        #expect(pair.remote.objects[lost] == bytes)
        try await ReplicaDevice.meet([again, pair.member])
        let (first, second) = try await onThread { (try again.tree(), try pair.member.tree()) }
        #expect(first == second)
    }

    /// Content that is damaged before it was sent stays beside the other device's version, and does not hold up
    /// sync.
    @Test func damagedContentDoesNotHoldUpChangesOfOthers() async throws {
        let pair = try await Pair()
        let (owner, member, large) = (pair.owner, pair.member, pair.large)
        try await onThread {
            try owner.write(Array(large.reversed()), to: "small")
            try owner.vault.commit()
            let number = try owner.number("small")
            let place = try owner.vault.state.withLock { state throws(FileSystemError) -> (String, Int)? in
                let row = try state.index.extents(of: number, overlapping: 0..<1).first
                guard case .pack(let pack, let position) = row?.place, let id = state.packs.id(of: pack)
                else {
                    return nil
                }
                return ("packs/\(id)", Int(position))
            }
            let (path, position) = try #require(place)
            owner.test.directory.flip(path, at: position + 100)
            try member.write("theirs", to: "small")
            try member.write("another", to: "another")
        }
        while try await member.round() {}
        while try await owner.round() {}
        try await onThread {
            #expect(try owner.read("small") == "theirs")
            #expect(try owner.read("another") == "another")
            let copy = try #require(try owner.names(in: "").first { $0.contains("conflict") })
            #expect(throws: FileSystemError.self) { try owner.bytes(copy) }
        }
        #expect(owner.problems.all.contains { $0.text.contains("damaged") })
    }
}

extension SyncEngine {
    /// Makes it time to look again at everything that was put.
    fileprivate func lookedLongAgo() {
        ownLog.compared(lost: Set(ownLog.lost), at: nil)
        packs.lookSoon()
    }
}
