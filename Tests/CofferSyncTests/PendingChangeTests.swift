import CofferFormat
import CofferRemote
import CofferTrust
import RemoteConformance
import SyncTestSupport
import Testing

@testable import CofferSync

/// Changes of the members that a remote cannot accept: saved, reported, and made later or cancelled.
struct PendingChangeTests {
    private let world = MembershipWorld()

    /// A removal that the remote refused.
    private func postponed() async throws -> (olga: Device, mallory: Device) {
        let olga = try await world.founded()
        let mallory = try await world.joins("Mallory", .writer, by: olga)
        for device in [mallory, olga] { try await device.sync() }
        world.remote.become(.readOnly)
        do throws(SyncError) {
            try await olga.engine.remove(mallory.person.id)
            Issue.record("it was done")
        } catch {
            guard case .membership(.postponed("removing Mallory", member: "Mallory", _)) = error else {
                throw error
            }
        }
        let finding = SyncFinding.membership(.postponed("removing Mallory", member: "Mallory"))
        #expect(await olga.findings().contains(finding))
        // The process may end in the meantime.
        olga.restart()
        try? await olga.sync()
        #expect(await olga.findings().contains(finding))
        let pending = try await olga.engine.pendingChange().orThrow()
        #expect(pending.identity == mallory.person.id && pending.name == "Mallory")
        return (olga, mallory)
    }

    @Test func theChangeHappensOnceTheRemoteAcceptsIt() async throws {
        let (olga, mallory) = try await postponed()
        world.remote.become(.well)
        try await olga.sync()
        #expect(await olga.members.keys.sorted() == [olga.person.id])
        #expect(await olga.findings().isEmpty)
        #expect(try await olga.engine.pendingChange() == nil)
        await #expect(throws: SyncError.membership(.nothingPending)) {
            try await olga.engine.cancelPendingChange()
        }
        await #expect(throws: SyncError.self) { try await mallory.sync() }
    }

    @Test(arguments: [false, true]) func thePendingChangeIsCancelled(isUnreachable: Bool) async throws {
        let (olga, mallory) = try await postponed()
        if isUnreachable { world.remote.become(.unreachable) }
        try await olga.engine.cancelPendingChange()
        world.remote.become(.well)
        olga.restart()
        for device in [olga, mallory] { try await device.sync() }
        #expect(await olga.members.count == 2)
        #expect(await olga.epoch == 1)
        #expect(await (olga.findings() + mallory.findings()).isEmpty)
        // The user may ask for it again.
        try await olga.engine.remove(mallory.person.id)
        #expect(await olga.epoch == 2)
    }

    /// The remote has the link although the put reported a failure.
    @Test func aChangeThatHappenedIsNotCancelled() async throws {
        let (olga, _) = try await postponed()
        let pending = try await olga.engine.duties.pending.orThrow()
        world.remote.become(.well)
        let next = await olga.engine.chain.nextSequence
        let wraps = try await olga.engine.wrapsName(pending).orThrow()
        try await world.remote.put(wraps, .memory(try pending.wraps.orThrow()), ifAbsent: true)
        try await world.remote.put(world.layout.member(next), .memory(pending.link), ifAbsent: true)
        await #expect(throws: SyncError.membership(.tookPlace)) {
            try await olga.engine.cancelPendingChange()
        }
        try await olga.sync()
        #expect(await olga.epoch == 2)
        #expect(await olga.findings().isEmpty)
    }

    /// The put that failed takes effect after the change was cancelled.
    @Test func abandonedChangesKeepTheirKeys() async throws {
        let (olga, _) = try await postponed()
        let pending = try await olga.engine.duties.pending.orThrow()
        world.remote.become(.well)
        let next = await olga.engine.chain.nextSequence
        let wraps = try await olga.engine.wrapsName(pending).orThrow()
        try await world.remote.put(wraps, .memory(try pending.wraps.orThrow()), ifAbsent: true)
        try await olga.engine.cancelPendingChange()
        #expect(world.remote.objects[wraps] == pending.wraps)
        try await world.remote.put(world.layout.member(next), .memory(pending.link), ifAbsent: true)
        try await olga.writes("on", "1")
        try await olga.sync()
        #expect(await olga.epoch == 2)
        #expect(await olga.members.count == 1)
    }

    /// The remote has an earlier version of the link, with other bounds and the same set of wraps.
    @Test func anEarlierFormOfTheChangeHappened() async throws {
        let (olga, _) = try await postponed()
        let pending = try await olga.engine.duties.pending.orThrow()
        world.remote.become(.well)
        guard case .removeMember(let identity, let start, _)? = MemberOperation(ofLink: pending.link) else {
            throw Missing()
        }
        let earlier = try await olga.engine.chain.link(
            .removeMember(identity, start: start, bounds: .none), at: now - 1, by: olga.person.signing,
            knowing: olga.engine.members.identities)
        #expect(earlier != pending.link)
        let next = await olga.engine.chain.nextSequence
        let wraps = try await olga.engine.wrapsName(pending).orThrow()
        try await world.remote.put(wraps, .memory(try pending.wraps.orThrow()), ifAbsent: true)
        try await world.remote.put(world.layout.member(next), .memory(earlier), ifAbsent: true)
        await #expect(throws: SyncError.membership(.tookPlace)) {
            try await olga.engine.cancelPendingChange()
        }
        #expect(world.remote.objects[wraps] == pending.wraps)
        try await olga.sync()
        #expect(await olga.epoch == 2)
    }
}

/// How long the past is kept, as an owner or admin says it for all.
struct KeptHistoryTests {
    private let world = MembershipWorld()

    @Test func everybodyLearnsOfIt() async throws {
        let olga = try await world.founded()
        let walter = try await world.joins("Walter", .writer, by: olga)
        let anna = try await world.joins("Anna", .admin, by: olga)
        // His own affair, as long as nobody has said anything.
        try await walter.engine.keepHistory(seconds: 60)
        try await olga.engine.keepHistory(seconds: 1_209_600)
        // Nothing new is no link.
        let count = world.linkCount
        try await olga.engine.keepHistory(seconds: 1_209_600)
        #expect(world.linkCount == count)
        for device in [walter, anna] {
            try await device.sync()
            #expect(await device.engine.chain.state.historySeconds == 1_209_600)
        }
        await #expect(throws: SyncError.membership(.refused(.missingRight(.setHistory)))) {
            try await walter.engine.keepHistory(seconds: 0)
        }
        try await anna.engine.keepHistory(seconds: -1)
        walter.restart()
        for device in [walter, olga] {
            try await device.sync()
            #expect(await device.engine.chain.state.historySeconds == -1)
        }
    }

    /// The remote refuses the link, which is made again once it takes it, unless somebody has decided otherwise.
    @Test(arguments: [false, true]) func aWishThatWaitsIsOverruled(isOverruled: Bool) async throws {
        let olga = try await world.founded()
        let anna = try await world.joins("Anna", .admin, by: olga)
        try await olga.sync()
        world.remote.become(.readOnly)
        do throws(SyncError) {
            try await olga.engine.keepHistory(seconds: 60)
            Issue.record("it was done")
        } catch {
            guard case .membership(.postponed("setting how long the past is kept", _, _)) = error else {
                throw error
            }
        }
        #expect(await olga.engine.chain.state.historySeconds == nil)
        world.remote.become(.well)
        if isOverruled {
            try await anna.engine.keepHistory(seconds: 120)
        } else {
            // The place of the link is taken.
            try await anna.engine.rotate()
        }
        for device in [olga, anna, olga] { try await device.sync() }
        for device in [olga, anna] {
            #expect(await device.engine.chain.state.historySeconds == (isOverruled ? 120 : 60))
        }
    }
}
