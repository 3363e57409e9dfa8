import CofferCrypto
import CofferFacts
import CofferFormat
import CofferRemote
import CofferTrust
import RemoteConformance
import SyncTestSupport
import Testing

@testable import CofferSync

/// A log accepts only what its owner has signed: an object that others put in its way does not end it.
struct LogObstacleTests {
    private let world = MembershipWorld()

    /// A commit in the next place of a device's log, signed by another author.
    private func intrusion(
        by author: Device, in log: Device, members: LinkHead, facts: [Fact]
    ) async throws -> (dot: Dot, bytes: [UInt8]) {
        let head = try await log.ownSummary.head
        let dot = Dot(log: log.log, sequence: head.sequence + 1)
        let body = CommitBody(
            previous: head.hash, clock: nowMilliseconds << 16, stateHash: .zero, heads: .none,
            introduction: nil, notices: [], facts: facts)
        let key = try await author.keys.keyring().orThrow().current
        let bytes = SignedRecord.sealing(
            body.paddedBytes, as: .commit, at: dot, under: key, members: members, writes: body.writes,
            by: author.person.author)
        return (dot, bytes)
    }

    private func put(_ bytes: [UInt8], at dot: Dot) async throws {
        try await world.remote.put(
            world.layout.commit(dot.log, dot.sequence), .memory(bytes), ifAbsent: false)
    }

    /// A copy of a device's current state, to be restored later; the device must owe nothing to others.
    private func copy(of device: Device) async throws -> Device {
        let objects = world.remote.objects
        let copy = try world.device(device.person, device.label)
        let card = try device.person.card
        copy.setup = SyncSetup(
            vault: world.vault, root: rootID, log: device.log, introduction: copy.setup.introduction,
            keys: copy.keys, milliseconds: { nowMilliseconds })
        copy.setup.card = { card }
        copy.restart()
        try await copy.sync()
        #expect(world.remote.objects == objects)
        return copy
    }

    /// A reader puts an acknowledgement there; a removed member puts a commit that was allowed once.
    @Test(arguments: [false, true])
    func nobodyCanSilenceAnothersDevice(isRemoved: Bool) async throws {
        let clock = MovingClock()
        world.adjust = { $0 = self.world.at(clock, $0) }
        let olga = try await world.founded()
        let will = try await world.joins("Will", .writer, by: olga)
        let mallory = try await world.joins("Mallory", isRemoved ? .writer : .reader, by: olga)
        try await olga.writes("before", "1")
        for device in [olga, will, mallory] { try await device.sync() }
        let members = try await mallory.engine.chain.head.orThrow()
        if isRemoved {
            try await olga.engine.remove(mallory.person.id)
            try await will.sync()
        }
        let (dot, bytes) = try await intrusion(
            by: mallory, in: olga, members: members, facts: isRemoved ? fileFacts(9, "bad") : [])
        try await put(bytes, at: dot)
        let late = try world.device(olga.person, "late")
        for device in [will, late, olga] {
            try await device.sync()
            let named = await device.findings().contains {
                if case .intruder(let author, dot.sequence, mallory.person.id, "Mallory") = $0 {
                    author.log == olga.log
                } else {
                    false
                }
            }
            #expect(named, "\(device.label)")
        }
        try await olga.writes("after", "2")
        try await olga.sync()
        let obstacle = SyncFinding.obstacle(sequence: dot.sequence, mallory.person.id, name: "Mallory")
        #expect(await olga.findings() == [obstacle])
        for device in [will, late, olga, will] { try await device.sync() }
        for device in [olga, will, late] {
            #expect(await device.files() == ["before": "1", "after": "2"])
            #expect(await device.stateHash() == olga.stateHash())
        }
        try await olga.writes("more", "3")
        for device in [olga, will] { try await device.sync() }
        // It is reported for as long as a user may want to see it: the next commit does not hide it.
        #expect(await olga.findings() == [obstacle])
        #expect(await will.findings().isEmpty)
        #expect(await will.files()["more"] == "3")
        clock.advance(by: MemberDuties.inspectionPause)
        try await olga.sync()
        #expect(await olga.findings().isEmpty)
    }

    /// Devices that see the commits in another order, with or without the intrusion, reach the same result.
    @Test func devicesThatSawTheForkAgreeWithOthers() async throws {
        let olga = try await world.founded()
        let will = try await world.joins("Will", .writer, by: olga)
        let rita = try await world.joins("Rita", .reader, by: olga)
        let bob = try await world.joins("Bob", .writer, by: olga)
        try await olga.writes("first", "0")
        for device in [olga, will, rita, bob] { try await device.sync() }
        let members = try await rita.engine.chain.head.orThrow()
        let (dot, bytes) = try await intrusion(by: rita, in: olga, members: members, facts: [])
        // Will gets the true commit first, and builds on it; meanwhile Bob sees the other one.
        try await olga.writes("true", "1")
        try await olga.sync()
        let name = world.layout.commit(dot.log, dot.sequence)
        let own = try #require(world.remote.objects[name])
        try await will.sync()
        try await will.writes("on it", "2")
        try await will.sync()
        try await put(bytes, at: dot)
        try await bob.sync()
        try await bob.writes("beside", "3")
        try await bob.sync()
        #expect(await bob.files() == ["first": "0", "beside": "3"])
        try await put(own, at: dot)
        for _ in 0..<2 { for device in [olga, will, bob] { try await device.sync() } }
        for device in [olga, will, bob] {
            #expect(await device.files() == ["first": "0", "true": "1", "on it": "2", "beside": "3"])
            #expect(await device.stateHash() == olga.stateHash())
            #expect(await device.findings().isEmpty)
        }
    }

    /// A restored profile does not know the newest link, and the storage does not show it.
    @Test(arguments: [false, true])
    func aDeviceThatDoesNotSeeItsLinksOverwritesNothing(isRotated: Bool) async throws {
        let olga = try await world.founded()
        let will = try await world.joins("Will", .writer, by: olga)
        try await will.writes("old", "1")
        for device in [will, olga, will] { try await device.sync() }
        let yesterday = try await copy(of: will)
        if isRotated {
            try await olga.engine.rotate()
        } else {
            _ = try await world.joins("Rita", .reader, by: olga)
        }
        try await will.writes("important", "2")
        for device in [will, olga] { try await device.sync() }
        let name = world.layout.member(try await olga.engine.chain.head.orThrow().sequence)
        let link = try #require(world.remote.objects[name])
        try await world.remote.delete(name)
        let before = world.remote.objects
        try await yesterday.writes("between", "3")
        let next = try await yesterday.engine.logs[will.log].orThrow().head.sequence + 1
        await #expect(throws: SyncError.ownLogAhead(sequence: next)) { try await yesterday.sync() }
        // Nor after the saved state was loaded, in a round that looks at nothing else.
        _ = try await yesterday.engine.roster(verified: [])
        await #expect(throws: SyncError.ownLogAhead(sequence: next)) {
            try await yesterday.engine.round(.changes)
        }
        #expect(await yesterday.engine.ownLog.unsent.isEmpty)
        #expect(world.remote.objects == before)
        try await world.remote.put(name, .memory(link), ifAbsent: true)
        for device in [yesterday, olga, yesterday] { try await device.sync() }
        for device in [yesterday, olga] {
            #expect(await device.files() == ["old": "1", "important": "2", "between": "3"])
        }
        #expect(await yesterday.findings().isEmpty)
    }

    /// A link that does not exist, named by an author other than the log's owner, holds up nothing.
    @Test func aMissingLinkBlocksNobodyElse() async throws {
        let olga = try await world.founded()
        let rita = try await world.joins("Rita", .reader, by: olga)
        try await olga.writes("before", "1")
        for device in [olga, rita] { try await device.sync() }
        let (dot, bytes) = try await intrusion(
            by: rita, in: olga, members: LinkHead(sequence: 99, hash: .zero), facts: [])
        try await put(bytes, at: dot)
        olga.restart()
        try await olga.writes("after", "2")
        for device in [olga, rita] { try await device.sync() }
        #expect(await rita.files() == ["before": "1", "after": "2"])
    }
}
