import CofferCrypto
import CofferFormat
import CofferRemote
import CofferTrust
import RemoteConformance
import SyncTestSupport
import Testing

@testable import CofferSync

/// Identities that anybody may put beside a vault, and links that a storage does not show.
struct ManyIdentitiesTests {
    private let world = MembershipWorld()

    /// A stranger's identity chain with several links.
    private func putStranger(_ number: UInt64, linkCount: Int) async throws -> Person {
        var person = try Person("Stranger", 5000 + number)
        for step in 1..<UInt64(linkCount) { person = try person.rolled(number &* 1000 &+ step) }
        for link in person.chain.links {
            try await world.remote.put(
                world.layout.identityLink(person.user, link.sequence), .memory(link.bytes), ifAbsent: true)
        }
        return person
    }

    /// Of identities that no link names, only the first link is read, and nothing is kept.
    @Test func aJoiningUserReadsNoMoreThanItNeeds() async throws {
        let olga = try await world.founded()
        let will = try await world.joins("Will", .writer, by: olga)
        for number in 0..<20 { _ = try await putStranger(UInt64(number), linkCount: 8) }
        let invite = try await world.invite(olga, .reader)
        let rita = try world.person("Rita")
        let counting = CountingRemote(world.remote)
        let joining = try world.joining(invite, rita, remote: counting)
        try await joining.join()
        // The format marker, two links and their gap, two identities, and the strangers' first links.
        #expect(counting.counts.gets < 20 + 20)
        try await olga.sync()
        guard case .admitted(let joined) = try await joining.poll() else { throw Missing() }
        #expect(joined.role == .reader)
        let device = try world.device(rita, remote: counting)
        let before = counting.counts.gets
        try await device.sync()
        #expect(counting.counts.gets - before < 100)
        #expect(await device.engine.members.identityChains.count == 3)
        try await will.sync()
        #expect(await will.engine.members.identityChains.count == 3)
    }

    /// Users without an identity are examined again and again, at no greater cost.
    @Test func malformedIdentitiesHideNoOthers() async throws {
        let searched = try world.person("Searched")
        // Names sort by their bytes as written, low ones first.
        let junk = (0..<3000).map { UserID(low: UInt64($0).byteSwapped, high: 0) }
        for user in junk {
            try await world.remote.put(world.layout.identityLink(user, 0), .memory([1]), ifAbsent: true)
        }
        let counting = CountingRemote(world.remote)
        var search = IdentitySearch()
        func look(for person: Person) async throws {
            let before = counting.counts.gets
            try await search.look(for: [person.id], at: counting, world.layout)
            #expect(counting.counts.gets - before <= IdentitySearch.lookCountMax)
        }
        func put(_ person: Person) async throws {
            try await world.remote.put(
                world.layout.identityLink(person.user, 0), .memory(person.chain.links[0].bytes),
                ifAbsent: true)
        }
        try await look(for: searched)
        try await put(searched)
        for _ in 0..<3 where search.users[searched.id] == nil { try await look(for: searched) }
        #expect(search.users[searched.id] == searched.user)
        // A user before the place where the last search ended.
        let early = UserID(low: 0, high: 1)
        let first = try IdentityChain.founded(
            early, signing: searched.signing,
            agreement: try searched.chain.state.current.orThrow().agreement, at: now)
        let identity = try first.identity.orThrow()
        try await world.remote.put(
            world.layout.identityLink(early, 0), .memory(first.links[0].bytes), ifAbsent: true)
        for _ in 0..<4 where search.users[identity] == nil {
            try await search.look(for: [identity], at: counting, world.layout)
        }
        #expect(search.users[identity] == early)
        // A search that a person waits for continues until it finds the identity.
        var whole = IdentitySearch()
        try await whole.look(
            for: [searched.id], at: counting, world.layout, countMax: IdentitySearch.wholeLookCountMax)
        #expect(whole.users[searched.id] == searched.user)
        // It ends if the identity does not exist.
        let before = counting.counts.gets
        try await whole.look(
            for: [.zero], at: counting, world.layout, countMax: IdentitySearch.wholeLookCountMax)
        #expect(counting.counts.gets - before <= junk.count + 1)
    }

    /// A storage with endless links soon shows an invalid one.
    @Test func aJoiningUserChecksLinksBeforeReadingFurther() async throws {
        let olga = try await world.founded()
        _ = try await world.joins("Will", .writer, by: olga)
        let counting = CountingRemote(LinksWithoutNumber(base: world.remote, layout: world.layout))
        let invite = try await world.invite(olga, .reader)
        let joining = try world.joining(invite, try world.person("Rita"), remote: counting)
        await #expect(throws: JoinError.self) { try await joining.join() }
        #expect(counting.counts.gets < 300)
    }

    /// More links than are read at once, and identities that are found with other pieces than the ones that
    /// need them.
    @Test func aJoiningUserReadsAllPieces() async throws {
        let olga = try await world.founded()
        let will = try await world.joins("Will", .writer, by: olga)
        for _ in 0..<300 { try await olga.engine.rotate() }
        let ada = try await world.joins("Ada", .admin, by: olga)
        let invite = try await world.invite(olga, .reader)
        let rita = try world.person("Rita")
        let joining = try world.joining(invite, rita)
        try await joining.join()
        try await olga.sync()
        guard case .admitted(let joined) = try await joining.poll() else { throw Missing() }
        #expect(joined.chain.nextSequence == 304)
        #expect(
            Set(joined.chain.state.members.keys)
                == [olga.person.id, will.person.id, ada.person.id, rita.id])
    }

    @Test func aGapInTheMembersIsReported() async throws {
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
        // A member that was away, and a user that joins.
        stale.restart()
        try? await stale.sync()
        #expect(await stale.memberFindings().contains(.linkMissing(2)))
        let joining = try world.joining(invite, try world.person("Late"))
        await #expect(throws: JoinError.linkMissing(2)) { try await joining.join() }
        // A link after the end of the chain, by a user who may not change members, is not a gap.
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

/// A remote with some link in each free place of the member chain, for five thousand places.
private struct LinksWithoutNumber: ForwardingRemote {
    let base: any RemoteBackend
    let layout: RemoteLayout

    func get(_ name: RemoteName, _ range: Range<Int>) async throws(RemoteError) -> RemoteContent {
        do throws(RemoteError) { return try await base.get(name, range) } catch {
            guard error == .absent, layout.members.contains(name),
                let sequence = RemoteLayout.sequence(of: name), sequence < 5000
            else { throw error }
            return try await base.get(layout.member(1), range)
        }
    }
}
