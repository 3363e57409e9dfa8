import CofferCrypto
import CofferFacts
import CofferFormat
import CofferRemote
import CofferTrust
import RemoteConformance
import SyncTestSupport
import Synchronization
import Testing

@testable import CofferSync

/// Members that try to keep a key, or to continue writing; and a storage that loses parts of members and
/// keys.
struct HostileMemberTests {
    private let world = MembershipWorld()

    /// The identity gets new keys, and no transient key that they have signed.
    private func rollsWithoutTransient(_ device: Device) async throws {
        let rolled = try device.person.rolled(device.person.user.low)
        let link = try rolled.chain.links.last.orThrow()
        try await world.remote.put(
            world.layout.identityLink(rolled.user, link.sequence), .memory(link.bytes), ifAbsent: true)
    }

    private func wraps(_ epoch: UInt64) throws -> WrapSet {
        let found = world.remote.objects.filter { world.layout.wraps(epoch: epoch).contains($0.key) }
        #expect(found.count == 1)
        return try WrapSet(try found.values.first.orThrow())
    }

    @Test func aMemberWhoLeftCannotWriteUnderItsOwnBounds() async throws {
        let clock = MovingClock()
        world.adjust = { $0 = self.world.at(clock, $0) }
        let olga = try await world.founded()
        let mallory = try await world.joins("Mallory", .writer, by: olga)
        let rita = try await world.joins("Rita", .reader, by: olga)
        try await mallory.writes("hers", "1")
        for device in [mallory, olga, rita, mallory] { try await device.sync() }
        let before = try await mallory.engine.chain.head.orThrow()
        let head = try await mallory.ownSummary
        // Her modified program claims that everything she will ever write counts.
        let link = try await mallory.engine.chain.link(
            .leave(
                successor: nil,
                bounds: try LogBounds([LogBound(log: mallory.log, sequence: 1 << 62, hash: .zero)])),
            at: now, by: mallory.person.signing, knowing: mallory.engine.members.identities)
        try await world.remote.put(world.layout.member(before.sequence + 1), .memory(link), ifAbsent: true)
        let dot = Dot(log: mallory.log, sequence: head.head.sequence + 1)
        let body = CommitBody(
            previous: head.head.hash, clock: head.clock, stateHash: .zero, heads: .none, introduction: nil,
            notices: [], facts: try fileFacts(9, "later"))
        let bytes = SignedRecord.sealing(
            body.paddedBytes, as: .commit, at: dot, under: world.key, members: before, writes: true,
            by: mallory.person.author)
        for device in [olga, rita] { try await device.sync() }
        #expect(await olga.epoch == 2)
        // The key changes at once; the commits that she named may still arrive for a while.
        #expect(await olga.engine.chain.state.left.count == 1)
        clock.advance(by: 3_600_000)
        for device in [olga, rita] { try await device.sync() }
        #expect(await olga.engine.chain.state.left.isEmpty)
        try await world.remote.put(
            world.layout.commit(dot.log, dot.sequence), .memory(bytes), ifAbsent: true)
        let late = try world.device(olga.person, "late")
        for device in [olga, rita, late] {
            for _ in 0..<2 { try await device.sync() }
            #expect(await device.files() == ["hers": "1"])
            #expect(
                await device.findings().contains {
                    if case .stopped(_, dot.sequence, .right(.tooLate)) = $0 { true } else { false }
                })
            // No device waits for commits that will never count.
            #expect(await device.engine.status.progress.commitsLeft == 0)
        }
        #expect(await olga.engine.chain.state.left.isEmpty)
        await #expect(throws: SyncError.membership(.left)) { try await mallory.sync() }
        #expect(try wraps(2)[mallory.person.id] == nil)
    }

    /// All devices take back what she wrote before she was bounded, if the device that bounded her had not
    /// seen it.
    @Test func commitsBeforeTheBoundAreWithdrawn() async throws {
        let clock = MovingClock()
        world.adjust = { $0 = self.world.at(clock, $0) }
        let olga = try await world.founded()
        let mallory = try await world.joins("Mallory", .writer, by: olga)
        let will = try await world.joins("Will", .writer, by: olga)
        try await will.writes("w", "1")
        for device in [will, mallory, olga, will, mallory] { try await device.sync() }
        let before = try await mallory.engine.chain.head.orThrow()
        let head = try await mallory.ownSummary
        let link = try await mallory.engine.chain.link(
            .leave(
                successor: nil,
                bounds: try LogBounds([LogBound(log: mallory.log, sequence: 1 << 62, hash: .zero)])),
            at: now, by: mallory.person.signing, knowing: mallory.engine.members.identities)
        try await world.remote.put(world.layout.member(before.sequence + 1), .memory(link), ifAbsent: true)
        let dot = Dot(log: mallory.log, sequence: head.head.sequence + 1)
        let body = CommitBody(
            previous: head.head.hash, clock: head.clock, stateHash: .zero, heads: .none, introduction: nil,
            notices: [], facts: try fileFacts(9, "later"))
        let bytes = SignedRecord.sealing(
            body.paddedBytes, as: .commit, at: dot, under: world.key, members: before, writes: true,
            by: mallory.person.author)
        // The storage shows it only to Will.
        let name = world.layout.commit(dot.log, dot.sequence)
        try await world.remote.put(name, .memory(bytes), ifAbsent: true)
        try await will.sync()
        #expect(await will.files().keys.sorted() == ["later", "w"])
        try await world.remote.delete(name)
        try await olga.sync()
        clock.advance(by: 3_600_000)
        try await olga.sync()
        try await world.remote.put(name, .memory(bytes), ifAbsent: true)
        for _ in 0..<2 { for device in [will, olga] { try await device.sync() } }
        for device in [olga, will] { #expect(await device.files() == ["w": "1"]) }
        #expect(await olga.stateHash() == will.stateHash())
    }

    /// One member has no transient key; another one leaves, and the key changes nevertheless.
    @Test func nobodyCanPreventAKeyChange() async throws {
        let olga = try await world.founded()
        let will = try await world.joins("Will", .writer, by: olga)
        let rita = try await world.joins("Rita", .reader, by: olga)
        for device in [olga, will] { try await device.sync() }
        try await rollsWithoutTransient(rita)
        try await will.engine.leave()
        try await olga.sync()
        #expect(await olga.epoch == 2)
        #expect(await olga.engine.chain.state.owed.isEmpty)
        let set = try wraps(2)
        #expect(set[olga.person.id] != nil && set[rita.person.id] == nil && set[will.person.id] == nil)
        #expect(await olga.memberFindings() == [.wraps(.memberWithoutWrap(rita.person.id))])
    }

    @Test func membersWithoutTransientKeysAreRemovedAllTheSame() async throws {
        let olga = try await world.founded()
        let mallory = try await world.joins("Mallory", .writer, by: olga)
        let eve = try await world.joins("Eve", .reader, by: olga)
        for device in [mallory, eve] { try await rollsWithoutTransient(device) }
        try await olga.engine.remove(mallory.person.id)
        #expect(await olga.members.keys.sorted() == [olga.person.id, eve.person.id].sorted())
        try await olga.engine.remove(eve.person.id)
        #expect(await olga.members.keys.sorted() == [olga.person.id])
        try await olga.sync()
        #expect(await olga.findings().isEmpty)
    }

    /// A member whose transient key was not seen in time gets the vault's key once it has one.
    @Test func aSkippedMemberGetsTheKeyOnceItCan() async throws {
        let olga = try await world.founded()
        let will = try await world.joins("Will", .writer, by: olga)
        try await rollsWithoutTransient(will)
        try await olga.engine.rotate()
        #expect(try wraps(2)[will.person.id] == nil)
        // His device comes back with new identity keys, and has no wrap.
        let rolled = try world.device(try will.person.rolled(will.person.user.low), "desk")
        await rolled.keys.keep(will.keys.keyring())
        await #expect(throws: SyncError.keys(.noWrap)) { try await rolled.sync() }
        let clock = MovingClock()
        olga.setup = world.at(clock, olga.setup)
        olga.restart()
        try await olga.sync()
        #expect(await olga.epoch == 3)
        try await olga.writes("for all", "1")
        for device in [olga, rolled] { try await device.sync() }
        #expect(await rolled.files() == ["for all": "1"])
        for device in [olga, rolled] {
            for _ in 0..<2 { try await device.sync() }
            #expect(await device.findings().isEmpty)
        }
        // The key changes only once.
        clock.advance(by: 400_000)
        try await olga.sync()
        #expect(await olga.epoch == 3)
    }

    /// An admin begins epochs without end: each costs little, and they are reported.
    @Test func veryManyEpochsAreReported() async throws {
        let olga = try await world.founded()
        let ada = try await world.joins("Ada", .admin, by: olga)
        try await ada.sync()
        let identities = await ada.engine.members.identities
        var chain = await ada.engine.chain
        var keyring = try await ada.keys.keyring().orThrow()
        let recipients = [try olga.person.recipient, try ada.person.recipient]
        for _ in 0..<1000 {
            let keyed = try chain.rotating(
                recipients: recipients, keyring: keyring, signing: ada.person.signing, at: now,
                knowing: identities)
            try await world.remote.put(
                world.layout.member(chain.nextSequence), .memory(keyed.link), ifAbsent: true)
            try chain.append(keyed.link, knowing: identities)
            keyring = try Keyring(opening: keyed.key, of: chain, known: keyring)
            guard keyed.key.epoch.number == 1001 else { continue }
            let name = world.layout.wraps(epoch: 1001, hash: keyed.wraps.hash.bytes)
            try await world.remote.put(name, .memory(keyed.wraps.record.bytes), ifAbsent: true)
        }
        try await olga.writes("on", "1")
        for device in [olga, ada] { try await device.sync() }
        #expect(await ada.files() == ["on": "1"])
        #expect(await olga.memberFindings() == [.manyEpochs("Ada", count: 1000)])
    }

    // MARK: What the storage loses

    /// Links, wraps, identities and transient keys: any device that has one puts it back, whoever made it.
    @Test(arguments: [
        "members/last", "members/middle", "members/damaged", "members/swapped",
        "members/stranger", "wraps", "chain", "transient",
    ])
    func missingObjectsArePutAgain(what: String) async throws {
        let clock = MovingClock()
        world.adjust = { $0 = self.world.at(clock, $0) }
        let olga = try await world.founded()
        let will = try await world.joins("Will", .writer, by: olga)
        let rita = try await world.joins("Rita", .reader, by: olga)
        try await olga.engine.rotate()
        try await will.writes("a", "1")
        for _ in 0..<2 { for device in [will, rita, olga] { try await device.sync() } }
        let layout = world.layout
        let last = try await olga.engine.chain.head.orThrow().sequence
        let lost: RemoteName =
            switch what {
            case "members/last", "members/damaged", "members/swapped", "members/stranger": layout.member(last)
            case "members/middle": layout.member(1)
            case "chain": layout.identityLink(olga.person.user, 0)
            case "transient": layout.transientKey(will.person.user)
            default:
                try world.remote.objects.keys.first { layout.wraps(epoch: 2).contains($0) }.orThrow()
            }
        let before = world.remote.objects
        switch what {
        case "members/damaged": try await world.remote.put(lost, .memory([1, 2, 3]), ifAbsent: false)
        case "members/swapped":
            let other = try before[layout.member(1)].orThrow()
            try await world.remote.put(lost, .memory(other), ifAbsent: false)
        case "members/stranger":
            let stranger = try world.person("Stranger")
            let known = try await olga.engine.chain.links.last.orThrow()
            let hashed = try LinkRecord.hashed(
                MemberOperation.changeRole(will.person.id, role: .reader, bounds: .none),
                chain: ChainID(world.vault), sequence: last, previous: known.previous, time: now,
                signer: stranger.author.signing)
            let hash = Blake2b.hash(hashed, for: .link)
            let link = hashed + hash + stranger.signing.sign(hash, for: .link)
            try await world.remote.put(lost, .memory(link), ifAbsent: false)
        default: try await world.remote.delete(lost)
        }
        // A reader's device does, after a restart; transient keys are kept only by devices that wrap for
        // others.
        let holder = what == "transient" ? olga : rita
        holder.restart()
        try await holder.sync()
        #expect(world.remote.objects[lost] == before[lost])
        let named = await holder.memberFindings().contains { if case .putAgain = $0 { true } else { false } }
        #expect(named)
        clock.advance(by: 400_000)
        for device in [olga, will, rita] {
            try await device.sync()
            #expect(await device.findings().isEmpty)
        }
        // A user that joins in the meantime finds everything.
        let late = try await world.joins("Late", .reader, by: olga)
        #expect(await late.files() == ["a": "1"])
    }

    /// The known link replaces an object that is not a link, but never a link of another history.
    @Test func anotherHistoryIsNotOverwritten() async throws {
        let olga = try await world.founded()
        let ada = try await world.joins("Ada", .admin, by: olga)
        let will = try await world.joins("Will", .writer, by: olga)
        for device in [olga, ada, will] { try await device.sync() }
        let head = try await olga.engine.chain.head.orThrow()
        let name = world.layout.member(head.sequence + 1)
        let other = try await ada.engine.chain.link(
            .changeRole(will.person.id, role: .reader, bounds: .none), at: now + 5, by: ada.person.signing,
            knowing: ada.engine.members.identities)
        try await olga.engine.rotate()
        try await world.remote.put(name, .memory(other), ifAbsent: false)
        olga.restart()
        try await olga.sync()
        #expect(world.remote.objects[name] == other)
        let forks = await olga.memberFindings().filter { if case .fork = $0 { true } else { false } }
        #expect(forks.count == 1)
    }
}

/// A clock that tests advance.
final class MovingClock: Sendable {
    private let time = Mutex(nowMilliseconds)

    var milliseconds: UInt64 { time.withLock { $0 } }
    func advance(by milliseconds: UInt64) { time.withLock { $0 += milliseconds } }
}

extension MembershipWorld {
    /// The same setup with a clock that tests advance.
    func at(_ clock: MovingClock, _ setup: SyncSetup) -> SyncSetup {
        var moved = SyncSetup(
            vault: setup.vault, root: setup.root, log: setup.log, introduction: setup.introduction,
            keys: setup.keys, milliseconds: { clock.milliseconds })
        (moved.card, moved.invites) = (setup.card, setup.invites)
        return moved
    }
}
