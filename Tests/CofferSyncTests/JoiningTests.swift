import CofferCrypto
import CofferFormat
import CofferRemote
import CofferTrust
import RemoteConformance
import SyncTestSupport
import Testing

import CofferSync

/// From an invite to a member that reads and writes.
struct JoiningTests {
    @Test func aLocalVaultIsSharedOnce() async throws {
        let world = MembershipWorld()
        let olga = try await world.founded()
        #expect(await olga.members == [olga.person.id: .owner])
        let objects = world.remote.objects
        try await olga.engine.share(world.key)
        olga.restart()
        try await olga.engine.share(world.key)
        #expect(world.remote.objects == objects)
        #expect(objects[world.layout.format] == RemoteFormat(vault: world.vault).bytes)
        // Sharing from another device of hers changes nothing.
        let second = try world.device(olga.person, "tower")
        try await second.engine.share(world.key)
        #expect(world.remote.objects == objects)
        #expect(await olga.findings().isEmpty)
    }

    @Test func aForeignVaultInTheSamePlaceIsRefused() async throws {
        let world = MembershipWorld()
        _ = try await world.founded()
        let mallory = try world.device(try world.person("Mallory"))
        let other = EpochKey(vault: world.vault, epoch: .first, key: .random())
        await #expect(throws: SyncError.membership(.taken)) { try await mallory.engine.share(other) }
        #expect(await mallory.engine.chain.nextSequence == 0)
    }

    @Test func theFormatMarkerIsReadAsItIsWritten() throws {
        let bytes = RemoteFormat(vault: VaultID(low: 1, high: 2)).bytes
        #expect(bytes.count == RemoteFormat.byteCount)
        #expect(try RemoteFormat(bytes).vault == VaultID(low: 1, high: 2))
        for count in bytes.indices {
            #expect(throws: FormatError.self) { try RemoteFormat(Array(bytes.prefix(count))) }
        }
        #expect(throws: FormatError.trailingBytes) { try RemoteFormat(bytes + [0]) }
    }

    @Test func anInvitedUserReadsAndWrites() async throws {
        let world = MembershipWorld()
        let olga = try await world.founded()
        try await olga.writes("old", "1")
        try await olga.sync()
        try await olga.engine.rotate()
        try await olga.writes("new", "2")
        try await olga.sync()
        let invite = try await world.invite(olga, .writer)
        let person = try world.person("Will")
        let joining = try world.joining(invite, person)
        guard case .unasked = try await joining.poll() else { throw Missing() }
        try await joining.join()
        guard case .waiting = try await joining.poll() else { throw Missing() }
        try await joining.join()
        #expect(world.requestCount == 1)
        try await olga.sync()
        guard case .admitted(let joined) = try await joining.poll() else { throw Missing() }
        #expect(joined.role == .writer && joined.keyring.all.count == 2)
        #expect(world.requestCount == 0)
        #expect(try await olga.setup.invites?.load().all.isEmpty == true)
        let will = try world.device(person)
        try await will.sync()
        #expect(await will.files() == ["old": "1", "new": "2"])
        try await will.writes("own", "3")
        try await will.sync()
        try await olga.sync()
        #expect(await olga.files()["own"] == "3")
        #expect(await (olga.findings() + will.findings()).isEmpty)
        await #expect(throws: JoinError.alreadyMember(.writer)) { try await joining.join() }
    }

    @Test func anInviteIsUsedOnce() async throws {
        let world = MembershipWorld()
        let olga = try await world.founded()
        let invite = try await world.invite(olga, .writer)
        let (will, eve) = (try world.person("Will"), try world.person("Eve"))
        let (first, second) = (try world.joining(invite, will), try world.joining(invite, eve))
        try await first.join()
        try await second.join()
        try await olga.sync()
        #expect(await olga.members.count == 2)
        #expect(await olga.requestFindings() == [.inviteUsed])
        #expect(world.requestCount == 1)
        // It is reported once, however many rounds there are.
        try await olga.sync()
        #expect(await olga.requestFindings() == [.inviteUsed])
        let isWill = await olga.members[will.id] != nil
        await #expect(throws: JoinError.used) { try await (isWill ? second : first).poll() }
        await #expect(throws: JoinError.used) { try await (isWill ? second : first).join() }
    }

    @Test func expiredAlteredAndForeignRequestsAreRefused() async throws {
        let world = MembershipWorld()
        let olga = try await world.founded()
        let expired = try await world.invite(olga, .writer, days: -1)
        let altered = try await world.invite(olga, .writer)
        let (will, eve) = (try world.person("Will"), try world.person("Eve"))
        await #expect(throws: JoinError.expired) { try await world.joining(expired, will).join() }
        // A user whose clock is behind asks nevertheless.
        func put(_ request: [UInt8], _ number: UInt64) async throws {
            let name = SyncWorld.request(number, in: world.layout)
            try await world.remote.put(name, .memory(request), ifAbsent: false)
        }
        try await put(try expired.request(by: try will.card, signing: will.signing), 1)
        var changed = try altered.request(by: try will.card, signing: will.signing)
        changed[100] ^= 1
        try await put(changed, 2)
        // Eve has the invite, and Will's card, but not his key.
        let stranger = try Invite(text: altered.text)
        #expect(throws: TrustError.wrongSignature(.joinRequest)) {
            try stranger.request(by: try will.card, signing: eve.signing)
        }
        try await put([1, 2, 3], 3)
        // A made-up invite.
        let own = try Invite(
            to: world.vault, root: altered.root, role: .owner, expires: now + day, url: "file:///srv/team")
        try await put(try own.request(by: try eve.card, signing: eve.signing), 4)
        try await olga.sync()
        let findings = await olga.requestFindings()
        #expect(findings.count == 3, "\(findings)")
        #expect(findings.contains(.inviteExpired) && findings.contains(.crypto(.authenticationFailed)))
        #expect(await olga.members.count == 1)
        #expect(world.requestCount == 4)
        // None of these requests keeps anybody out.
        try await world.joining(altered, will).join()
        try await olga.sync()
        #expect(await olga.members.count == 2)
    }

    @Test func anotherVaultAtTheRemoteIsNoticed() async throws {
        let world = MembershipWorld()
        let olga = try await world.founded()
        let person = try world.person("Will")
        let other = try Invite(
            to: world.vault, root: .zero, role: .writer, expires: now + day, url: "file:///srv/team")
        await #expect(throws: JoinError.otherVault) { try await world.joining(other, person).join() }
        #expect(world.requestCount == 0)
        let invite = try await world.invite(olga, .writer)
        try await world.remote.put(world.layout.format, .memory([1]), ifAbsent: false)
        await #expect(throws: JoinError.noVault) { try await world.joining(invite, person).join() }
        var newer = RemoteFormat(vault: world.vault).bytes
        newer[8] = 9
        try await world.remote.put(world.layout.format, .memory(newer), ifAbsent: false)
        await #expect(throws: JoinError.newerVersion(found: 9)) {
            try await world.joining(invite, person).join()
        }
    }

    /// A replicated folder brings its files in any order, so a missing object does not count as an attack.
    @Test func commitsThatHaveNotArrivedAreReported() async throws {
        let world = MembershipWorld()
        let olga = try await world.founded()
        let will = try await world.joins("Will", .writer, by: olga)
        let joining = try world.joining(try await world.invite(olga, .reader), try world.person("Late"))
        let chain = will.person.chain.id
        let identity = world.layout.identityLink(UserID(low: chain.low, high: chain.high), 0)
        let bytes = try #require(world.remote.objects[identity])
        try await world.remote.delete(identity)
        await #expect(throws: JoinError.identityMissing(will.person.id)) { try await joining.join() }
        await #expect(throws: JoinError.identityMissing(will.person.id)) { try await joining.poll() }
        try await world.remote.put(identity, .memory(bytes), ifAbsent: true)
        let link = world.layout.member(1)
        let whole = try #require(world.remote.objects[link])
        for count in [0, 1, 8, 11, 40, 100, whole.count - 1] {
            try await world.remote.put(link, .memory(Array(whole.prefix(count))), ifAbsent: false)
            await #expect(throws: JoinError.linkCut(1), "\(count) bytes") { try await joining.join() }
        }
        #expect(JoinError.linkCut(1).isNotArrived && JoinError.identityMissing(will.person.id).isNotArrived)
        // An object that is there, but wrong, does.
        var wrong = whole
        wrong[wrong.count - 1] ^= 1
        try await world.remote.put(link, .memory(wrong), ifAbsent: false)
        await #expect(throws: JoinError.members(.wrongSignature(.link))) { try await joining.join() }
        try await world.remote.put(link, .memory(whole), ifAbsent: false)
        try await joining.join()
        #expect(world.requestCount == 1)
    }

    @Test(arguments: ["wraps", "identities", "requests"])
    func listingsOfMembersHaveAnEnd(_ place: String) async throws {
        let world = MembershipWorld()
        let olga = try await world.founded()
        let will = try world.person("Will")
        let invite = try await world.invite(olga, .writer)
        try await world.joining(invite, will).join()
        let circular = CircularListing(base: world.remote, place: place)
        olga.restart(remote: circular)
        do {
            try await olga.engine.rotate()
            try await olga.sync()
            Issue.record("the listing had an end")
        } catch {
            #expect("\(error)".contains("a listing goes back"))
        }
        guard place == "identities" else { return }
        await #expect(throws: JoinError.remote(.failed("a listing goes back"))) {
            try await world.joining(invite, will, remote: circular).join()
        }
    }

    @Test func invitesAreLimitedByTheRightsOfTheInviter() async throws {
        let world = MembershipWorld()
        let olga = try await world.founded()
        let ada = try await world.joins("Ada", .admin, by: olga)
        let will = try await world.joins("Will", .writer, by: ada)
        let rita = try await world.joins("Rita", .reader, by: ada)
        await #expect(throws: SyncError.membership(.refused(.missingRight(.addAdmins)))) {
            try await world.invite(ada, .admin)
        }
        for device in [will, rita] {
            await #expect(throws: SyncError.membership(.refused(.missingRight(.addMembers)))) {
                try await world.invite(device, .reader)
            }
        }
        // An admin that has become a writer admits nobody.
        let invite = try await world.invite(ada, .writer)
        try await world.joining(invite, try world.person("Late")).join()
        try await olga.engine.setRole(of: ada.person.id, to: .writer)
        try await ada.sync()
        #expect(await ada.members.count == 4)
        // Carl's card was handed over.
        let carl = try world.person("Carl")
        try await olga.engine.add(try carl.card, role: .admin)
        await #expect(throws: SyncError.membership(.refused(.alreadyMember(carl.id)))) {
            try await olga.engine.add(try carl.card, role: .admin)
        }
        let device = try world.device(carl)
        try await device.sync()
        #expect(await device.members[carl.id] == .admin)
        #expect(await device.findings().isEmpty)
    }

    @Test func aHundredMembers() async throws {
        let world = MembershipWorld()
        let olga = try await world.founded()
        var people: [Person] = []
        for number in 1..<100 {
            let person = try world.person("P\(number)")
            try await world.joining(try await world.invite(olga, .writer), person).join()
            people.append(person)
        }
        for _ in 0..<3 { try await olga.sync() }
        #expect(await olga.members.count == 100)
        #expect(world.requestCount == 0)
        try await olga.engine.remove(people[7].id)
        #expect(world.wrapCount(2) == 1)
        let last = try world.device(people[98])
        try await last.sync()
        #expect(await last.epoch == 2)
        try await olga.sync()
        #expect(await (olga.findings() + last.findings()).isEmpty)
        let counting = CountingRemote(world.remote)
        last.restart(remote: counting)
        try await last.sync()
        let first = counting.counts
        try await last.sync()
        // Nothing has changed, so there are not a hundred questions.
        #expect(counting.counts.gets - first.gets <= 4 && counting.counts.puts == first.puts)
        let roster = try await last.engine.roster(verified: [people[3].id])
        #expect(roster.members.count == 99 && roster.members.count { $0.isVerified } == 1)
    }
}
