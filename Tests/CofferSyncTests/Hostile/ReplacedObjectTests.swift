import CofferCrypto
import CofferFormat
import CofferRemote
import CofferTrust
import RemoteConformance
import SyncTestSupport
import Testing

@testable import CofferSync

/// A storage with other bytes in the place of objects that members have signed.
struct ReplacedObjectTests {
    private let world = MembershipWorld()

    private func isPutAgain(_ device: Device) async -> Bool {
        await device.memberFindings().contains { if case .putAgain = $0 { true } else { false } }
    }

    /// A link that a stranger has signed, for the place of another one.
    private func strangersLink(_ known: LinkRecord) throws -> [UInt8] {
        let stranger = try world.person("Stranger")
        let hashed = try LinkRecord.hashed(
            MemberOperation.changeRole(stranger.id, role: .reader, bounds: .none),
            chain: ChainID(world.vault), sequence: known.sequence, previous: known.previous, time: now,
            signer: stranger.author.signing)
        let hash = Blake2b.hash(hashed, for: .link)
        return hashed + hash + stranger.signing.sign(hash, for: .link)
    }

    /// The other bytes have the same size, so that no listing shows them, or are shorter, or much too long.
    @Test(
        arguments: ["members", "members/stranger", "wraps", "chain", "transient"],
        ["flipped", "empty", "long"])
    func replacedObjectsArePutAgain(what: String, how: String) async throws {
        let clock = MovingClock()
        world.adjust = { $0 = self.world.at(clock, $0) }
        let olga = try await world.founded()
        let will = try await world.joins("Will", .writer, by: olga)
        let rita = try await world.joins("Rita", .reader, by: olga)
        try await olga.engine.rotate()
        for _ in 0..<2 { for device in [will, rita, olga] { try await device.sync() } }
        let layout = world.layout
        let lost: RemoteName =
            switch what {
            case "members", "members/stranger": layout.member(1)
            case "chain": layout.identityLink(olga.person.user, 0)
            case "transient": layout.transientKey(will.person.user)
            default:
                try world.remote.objects.keys.first { layout.wraps(epoch: 2).contains($0) }.orThrow()
            }
        let before = try world.remote.objects[lost].orThrow()
        var other = before
        switch (what, how) {
        case ("members/stranger", "flipped"): other = try strangersLink(await olga.engine.chain.links[1])
        case (_, "empty"): other = []
        case (_, "long"): other = [UInt8](repeating: 7, count: (1 << 20) + 1)
        default: other[before.count / 2] ^= 1
        }
        try await world.remote.put(lost, .memory(other), ifAbsent: false)
        // Only devices that wrap for others keep transient keys.
        let holder = what == "transient" ? olga : rita
        clock.advance(by: MemberDuties.inspectionPause)
        try await holder.sync()
        #expect(world.remote.objects[lost] == before)
        #expect(await isPutAgain(holder))
        clock.advance(by: MemberDuties.inspectionPause)
        for device in [olga, will, rita] {
            try await device.sync()
            #expect(await device.findings().isEmpty)
        }
        let late = try await world.joins("Late", .reader, by: olga)
        #expect(await late.members.count == 4)
    }

    /// If there are more links than one inspection compares, each link gets its turn.
    @Test func everyLinkHasItsTurn() async throws {
        let clock = MovingClock()
        world.adjust = { $0 = self.world.at(clock, $0) }
        let olga = try await world.founded()
        for _ in 0..<80 { try await olga.engine.rotate() }
        try await olga.sync()
        for sequence in [2, 40, 79] as [UInt64] {
            let name = world.layout.member(sequence)
            let before = try world.remote.objects[name].orThrow()
            var other = before
            other[9] ^= 1
            try await world.remote.put(name, .memory(other), ifAbsent: false)
            for _ in 0..<4 where world.remote.objects[name] != before {
                clock.advance(by: MemberDuties.inspectionPause)
                try await olga.sync()
            }
            #expect(world.remote.objects[name] == before, "link \(sequence)")
        }
    }

    /// An admin's different link for a place in the middle of the chain is another history: reported, and not
    /// overwritten.
    @Test func anotherLinkInTheMiddleIsReported() async throws {
        let olga = try await world.founded()
        let ada = try await world.joins("Ada", .admin, by: olga)
        let will = try await world.joins("Will", .writer, by: olga)
        for device in [olga, ada, will] { try await device.sync() }
        let name = world.layout.member(try await olga.engine.chain.head.orThrow().sequence + 1)
        let other = try await ada.engine.chain.link(
            .changeRole(will.person.id, role: .reader, bounds: .none), at: now + 5, by: ada.person.signing,
            knowing: ada.engine.members.identities)
        for _ in 0..<2 { try await olga.engine.rotate() }
        try await world.remote.put(name, .memory(other), ifAbsent: false)
        olga.restart()
        try await olga.sync()
        #expect(world.remote.objects[name] == other)
        let forks = await olga.memberFindings().filter { if case .fork = $0 { true } else { false } }
        #expect(forks.count == 1)
    }

    /// A set of wraps named by an admin's link that adds a member is kept only if it contains nothing else.
    @Test func paddedWrapSetsAreNotKept() async throws {
        let olga = try await world.founded()
        let ada = try await world.joins("Ada", .admin, by: olga)
        try await ada.sync()
        let rita = try world.person("Rita")
        try await ada.engine.publish(rita.card)
        let identities = await ada.engine.members.identities
        let key = try await ada.keys.keyring().orThrow().current
        let recipients = try [rita, ada.person, olga.person].map { try $0.recipient }
        let set = try WrapSet.sealing(key, for: recipients, by: ada.person.signing)
        let chain = await ada.engine.chain
        let link = try chain.link(
            .addMember(
                rita.id, head: try rita.chain.head.orThrow(), role: .reader, invite: nil, wraps: set.hash),
            at: now, by: ada.person.signing, knowing: identities)
        try await world.remote.put(
            world.layout.wraps(epoch: 1, hash: set.hash.bytes), .memory(set.record.bytes), ifAbsent: true)
        try await world.remote.put(
            world.layout.member(chain.nextSequence), .memory(link), ifAbsent: true)
        try await olga.sync()
        #expect(await olga.members.count == 3)
        #expect(await olga.engine.duties.keptWraps.count == 2)
        #expect(await olga.engine.duties.keptWraps[set.hash] == nil)
        // Rita has her key nevertheless.
        let device = try world.device(rita)
        try await device.sync()
        #expect(await device.keys.keyring()?.current.epoch == .first)
    }
}
