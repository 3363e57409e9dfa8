import CofferFormat
import CofferRemote
import CofferSystem
import CofferTestSupport
import RemoteConformance
import Synchronization
import Testing

@testable import CofferClient
@testable import CofferStore
@testable import CofferSync
@testable import CofferVault

/// Checks of what a remote has, with real vaults.
@Suite struct RemoteCheckTests {
    private struct Scene {
        let remote = MemoryRemote()
        let failing: FailingRemote
        let world: ReplicaWorld
        let owner: ReplicaDevice, member: ReplicaDevice

        /// The owner has written files; the member has read none of them.
        init() async throws {
            failing = FailingRemote(remote)
            world = try await ReplicaWorld.make(failing)
            (owner, member) = (try ReplicaDevice(0, in: world), try ReplicaDevice(1, in: world))
            try await ReplicaDevice.meet([owner, member])
            let owner = owner
            try await onThread {
                try owner.write(MovingPlace.bytes(1, 400_000), to: "large")
                try owner.write("small", to: "small")
                try owner.write("", to: "pieces")
                // More ranges than fit into a content value: it has pages.
                for piece in 0..<12 {
                    try owner.put(Array("piece \(piece)".utf8), to: "pieces", at: Int64(piece) * 65_536)
                    try owner.vault.commit()
                }
            }
            try await ReplicaDevice.meet([owner, member])
        }

        var packs: [RemoteName] {
            remote.objects.keys.filter { world.layout.packs.contains($0) }.sorted()
        }

        /// The pack with the large file.
        var largest: RemoteName {
            get throws {
                try #require(packs.max { remote.objects[$0]?.count ?? 0 < remote.objects[$1]?.count ?? 0 })
            }
        }

        func replace(_ name: RemoteName, _ change: (inout [UInt8]) -> Void) async throws {
            var bytes = try #require(remote.objects[name])
            change(&bytes)
            try await remote.put(name, .memory(bytes), ifAbsent: false)
        }
    }

    /// Fails after some calls, or is silent when it is asked for a listing.
    private final class FailingRemote: ForwardingRemote {
        let base: any RemoteBackend
        private let rest = Mutex(Int.max)
        private let isSilent = Mutex(false)
        init(_ base: any RemoteBackend) { self.base = base }
        func fail(after count: Int) { rest.withLock { $0 = count } }
        func hang() { isSilent.withLock { $0 = true } }
        var left: Int { rest.withLock { $0 } }

        private func pass() throws(RemoteError) {
            let isOver = rest.withLock { rest in
                rest -= 1
                return rest < 0
            }
            if isOver { throw .unreachable("the cable was pulled") }
        }

        func get(_ name: RemoteName, _ range: Range<Int>) async throws(RemoteError) -> RemoteContent {
            try pass()
            return try await base.get(name, range)
        }

        func list(_ prefix: RemotePrefix, after: RemoteName?) async throws(RemoteError) -> RemotePage {
            try pass()
            while isSilent.withLock({ $0 }) {
                do { try await Task.sleep(for: .seconds(3600)) } catch { throw .cancelled }
            }
            return try await base.list(prefix, after: after)
        }
    }

    private func check(_ device: ReplicaDevice, readsAll: Bool = false) async throws -> RemoteCheck {
        try await onThread {
            let checking = RemoteChecking(device.engine, device.vault, callCount: { 0 }, isHeard: { true })
            return checking.run(readsAll: readsAll, RemoteCheck(remote: "memory")) { _, _ in }
        }
    }

    @Test(arguments: [false, true])
    func aWholeRemote(readsAll: Bool) async throws {
        let scene = try await Scene()
        let before = scene.remote.objects
        for device in [scene.owner, scene.member] {
            let missing = try await onThread { try device.vault.cache.missingContent().bytes }
            let found = try await check(device, readsAll: readsAll)
            #expect(found.problems == [] && found.unchecked == [])
            #expect(found.packs == scene.packs.count && found.commits > 0 && found.bytes > 400_000)
            #expect(found.readBytes == (readsAll ? found.bytes : nil))
            // What was read is not kept.
            #expect(try await onThread { try device.vault.cache.missingContent().bytes } == missing)
        }
        #expect(scene.remote.objects == before)
    }

    @Test func aMissingPack() async throws {
        let scene = try await Scene()
        let pack = try scene.largest
        try await scene.remote.delete(pack)
        for device in [scene.owner, scene.member] {
            let found = try await check(device, readsAll: device === scene.member)
            let problem = try #require(found.problems.first)
            #expect(found.problems.count == 1 && found.unchecked == [])
            #expect(problem.text.contains("\(pack.last) is missing"))
            #expect(problem.paths.contains("large") && problem.files == problem.paths.count)
            #expect(problem.bytes ?? 0 >= 400_000)
            #expect(problem.localBytes == (device === scene.owner ? problem.bytes : 0))
        }
        // The check itself has sent nothing; the next look of its author does.
        #expect(scene.remote.objects[pack] == nil)
    }

    @Test func aPackThatIsCutShort() async throws {
        let scene = try await Scene()
        let pack = try scene.largest
        // Even the last byte: it belongs to the hashes of leaves, or to the last piece.
        try await scene.replace(pack) { $0.removeLast() }
        let size = scene.remote.objects[pack]?.count ?? 0
        let found = try await check(scene.owner)
        #expect(found.problems.count == 1)
        #expect(found.problems.first?.text.contains("\(pack.last) is cut short after \(size) bytes") == true)
        #expect(found.problems.first?.files == 1)
    }

    /// A changed byte has no effect on sizes.
    @Test func aChangedByte() async throws {
        let scene = try await Scene()
        let uses = try await scene.owner.remoteUses()
        let large = try #require(uses.first { $0.byteCount > $0.sealedByteCount })
        let pack = scene.world.layout.pack(large.place.pack)
        // In an extent, and in the hashes of its leaves.
        for place in [Int(large.place.position) + 100, large.end - 1] {
            try await scene.replace(pack) { $0[place] ^= 1 }
            let listed = try await check(scene.member)
            #expect(listed.problems == [] && listed.unchecked == [])
            let read = try await check(scene.member, readsAll: true)
            #expect(read.problems.count == 1 && read.unchecked == [])
            #expect(read.problems.first?.text.contains("\(pack.last) is damaged") == true)
            #expect(read.problems.first?.paths == ["large"])
            try await scene.replace(pack) { $0[place] ^= 1 }
        }
        #expect(try await check(scene.member, readsAll: true).problems == [])
    }

    /// A page of a content's tree: nothing of the content itself is lost.
    @Test func aDamagedPage() async throws {
        let scene = try await Scene()
        let owner = scene.owner
        let page = try #require(try await owner.remoteUses().first { $0.isPage }).place
        try await scene.replace(scene.world.layout.pack(page.pack)) { $0[Int(page.position) + 8] ^= 1 }
        let found = try await check(owner, readsAll: true)
        #expect(found.problems.map(\.paths) == [["pieces"]] && found.problems.first?.bytes == 0)
    }

    /// Whatever call fails first, nothing is reported as missing, and something as not checked.
    @Test(arguments: [false, true])
    func aRemoteThatFailsMidway(readsAll: Bool) async throws {
        let scene = try await Scene()
        let (failing, member) = (scene.failing, scene.member)
        failing.fail(after: 1_000_000)
        _ = try await check(member, readsAll: readsAll)
        let needed = 1_000_000 - failing.left
        #expect(needed > 6)
        for count in 0..<needed {
            failing.fail(after: count)
            let found = try await check(member, readsAll: readsAll)
            #expect(found.problems == [], "after \(count) calls")
            // Larger parts are fetched at a time once the remote was fast, which takes fewer calls.
            let isWhole = readsAll && found.readBytes == found.bytes
            #expect(!found.unchecked.isEmpty || isWhole, "after \(count) calls")
        }
        failing.fail(after: needed)
        #expect(try await check(member, readsAll: readsAll).unchecked == [])
    }

    /// Nobody waits for a silent remote any longer than for the result.
    @Test func aSilentRemote() async throws {
        let scene = try await Scene()
        let owner = scene.owner
        scene.failing.hang()
        let found = try await onThread {
            let checking = RemoteChecking(owner.engine, owner.vault, callCount: { 0 }, isHeard: { false })
            return checking.run(readsAll: false, RemoteCheck(remote: "memory")) { _, _ in }
        }
        #expect(found.problems == [] && !found.unchecked.isEmpty)
    }

    /// Nothing more is fetched once nobody waits.
    @Test func anInterruptedCheck() async throws {
        let scene = try await Scene()
        let owner = scene.owner
        let found = try await onThread {
            let checking = RemoteChecking(owner.engine, owner.vault, callCount: { 0 }, isHeard: { false })
            return checking.run(readsAll: true, RemoteCheck(remote: "memory")) { _, _ in }
        }
        #expect(found.problems == [] && found.readBytes == 0)
        #expect(found.unchecked.count == 1)
    }

    /// Packs that go because contents have moved are not missing, even if this device learns that later.
    @Test func contentsThatMoveMeanwhile() async throws {
        let place = try await MovingPlace(2)
        try await place.writeSparse()
        let (owner, other) = (place.devices[0], place.devices[1])
        let before = place.packs
        let begun = try await onThread { try PackCheck(of: other.vault) }
        await owner.engine.looksSoon()
        while try await owner.round() {}
        let gone = before.filter { place.remote.objects[$0]?.count ?? 0 > 400_000 }
        #expect(!gone.isEmpty && place.packs.count > before.count)
        for name in gone { try await place.remote.delete(name) }
        #expect(try await check(other, readsAll: true).problems == [])
        // A check that began before the move.
        try await onThread {
            var packs = begun
            packs.compare(with: [:])
            #expect(packs.isSuspicious)
            let problems = try packs.problems()
            #expect(problems == [])
        }
        #expect(await other.engine.status.progress.commitsApplied > 0)
    }

    /// Content that only the history of this device has.
    @Test func thePastIsNamed() async throws {
        let scene = try await Scene()
        let member = scene.member
        let pack = try scene.largest
        try await onThread {
            try member.vault.history.set(.forever)
            try member.vault.history.keepPresent()
            try member.remove("large")
            try member.vault.commit()
        }
        try await scene.remote.delete(pack)
        let found = try await check(member)
        #expect(found.problems.first?.text.contains("past version") == true)
        #expect(found.problems.first?.paths.contains("large") == false)
    }
}

extension ReplicaDevice {
    /// What contents refer to at the remote.
    fileprivate func remoteUses() async throws -> [IndexReader.RemoteUse] {
        try await onThread { [vault] in
            try vault.commitIndex()
            let reader = try vault.state.withLock { state throws(FileSystemError) in
                try state.index.makeReader()
            }
            var uses: [IndexReader.RemoteUse] = []
            try reader.eachRemoteUse { uses.append($0) }
            return uses
        }
    }
}
