import CofferCrypto
import CofferFormat
import CofferRemote
import CofferTrust
import RemoteConformance
import SyncTestSupport
import Testing

@testable import CofferSync

/// Identities that anybody puts beside a vault, and links that a storage does not show.
struct ManyIdentitiesTests {
    private let world = MembershipWorld()

    /// A stranger's identity chain with some links.
    private func putStranger(_ number: UInt64, linkCount: Int) async throws -> Person {
        var person = try Person("Stranger", 5000 + number)
        for step in 1..<UInt64(linkCount) { person = try person.rolled(number &* 1000 &+ step) }
        for link in person.chain.links {
            try await world.remote.put(
                world.layout.identityLink(person.user, link.sequence), .memory(link.bytes), ifAbsent: true)
        }
        return person
    }

    /// Of those that no link names, no more than the first link is asked for, and nothing is kept.
    @Test func whoJoinsReadsNoMoreThanItNeeds() async throws {
        let olga = try await world.founded()
        let will = try await world.joins("Will", .writer, by: olga)
        for number in 0..<20 { _ = try await putStranger(UInt64(number), linkCount: 8) }
        let invite = try await world.invite(olga, .reader)
        let rita = try world.person("Rita")
        let counting = CountingRemote(world.remote)
        let joining = try world.joining(invite, rita, remote: counting)
        try await joining.join()
        // Format, two links and their gap, two identities, and first links of the strangers.
        #expect(counting.counts.gets < 20 + 20)
        try await olga.sync()
        guard case .admitted(let joined) = try await joining.poll() else { throw Missing() }
        #expect(joined.role == .reader)
        let device = try world.device(rita, remote: counting)
        let before = counting.counts.gets
        try await device.sync()
        #expect(counting.counts.gets - before < 100)
        #expect(await device.engine.identityChains.count == 3)
        try await will.sync()
        #expect(await will.engine.identityChains.count == 3)
    }

    @Test func aGapInTheMembersIsNamed() async throws {
        let olga = try await world.founded()
        _ = try await world.joins("Will", .writer, by: olga)
        let stale = try world.device(olga.person, "tablet")
        try await stale.sync()
        try await olga.engine.rotate()
        let missing = world.layout.member(2)
        let link = try #require(world.remote.objects[missing])
        _ = try await world.joins("Rita", .reader, by: olga)
        let invite = try await world.invite(olga, .reader)
        try await world.remote.delete(missing)
        // Who was away, and who joins.
        stale.restart()
        try? await stale.sync()
        #expect(await stale.memberFindings().contains(.linkMissing(2)))
        let joining = try world.joining(invite, try world.person("Late"))
        await #expect(throws: JoinError.linkMissing(2)) { try await joining.join() }
        // What somebody who may not change members puts behind the end is no gap.
        try await world.remote.put(missing, .memory(link), ifAbsent: true)
        stale.restart()
        try await stale.sync()
        #expect(await stale.findings().isEmpty)
        let mallory = try Person("Mallory", 77)
        var hashed = try LinkRecord(link).hashedBytes
        hashed.replaceSubrange(29..<37, with: [9, 0, 0, 0, 0, 0, 0, 0])
        hashed.replaceSubrange(hashed.count - 32..<hashed.count, with: mallory.signing.publicKey)
        let hash = Blake2b.hash(hashed, for: .link)
        let forged = hashed + hash + mallory.signing.sign(hash, for: .link)
        try await world.remote.put(world.layout.member(9), .memory(forged), ifAbsent: true)
        try await joining.join()
        stale.restart()
        try await stale.sync()
        #expect(await stale.findings().isEmpty)
    }
}
