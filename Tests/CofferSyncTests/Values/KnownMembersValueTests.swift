import CofferFormat
import CofferRemote
import CofferTrust
import RemoteConformance
import SyncTestSupport
import Testing

@testable import CofferSync

/// The members as a device knows them, and how they are read.
struct KnownMembersValueTests {
    private func known(_ world: SyncWorld) throws -> KnownMembers {
        var members = KnownMembers(vault: world.vault)
        for person in world.people { _ = members.add(person.chain) }
        for link in world.chain.links { _ = try members.append(link.bytes) }
        return members
    }

    private func saved(_ rows: [KeptChange]) throws -> SavedState {
        let kept = rows.compactMap { change in change.value.map { KeptRow(change.key, $0) } }
        return try SavedState(kept, duties: MemberDuties())
    }

    @Test("What is saved of the members can be verified again")
    func restoring() async throws {
        let world = try await SyncWorld()
        let will = try await world.adds("Will", .writer)
        let members = try known(world)
        let state = try saved(members.rows)
        var restored = KnownMembers(vault: world.vault)
        try restored.restore(state.memberLinks, state.identityLinks)
        #expect(restored.chain.head == world.chain.head)
        #expect(restored.role(of: will.id) == .writer && restored.user(of: will.id) == will.user)
        // Without the identities that its links name, no chain is accepted.
        var broken = KnownMembers(vault: world.vault)
        #expect(throws: TrustError.self) { try broken.restore(state.memberLinks, [:]) }
        #expect(broken.chain.nextSequence == 0)
    }

    @Test("A link is refused in a wrong place, and a known one is not added twice")
    func appending() async throws {
        let world = try await SyncWorld()
        _ = try await world.adds("Will", .writer)
        var members = KnownMembers(vault: world.vault)
        for person in world.people { _ = members.add(person.chain) }
        #expect(members.problem(of: world.chain.links[1].bytes) != nil)
        let isAdded = try members.append(world.chain.links[0].bytes)
        let isAddedAgain = try members.append(world.chain.links[0].bytes)
        #expect(isAdded && !isAddedAgain)
        #expect(members.problem(of: world.chain.links[1].bytes) == nil)
        #expect(members.chain.nextSequence == 1)
    }

    @Test("A user who is no member is told why")
    func exclusions() async throws {
        let world = try await SyncWorld()
        let will = try await world.adds("Will", .writer)
        let stranger = try Person("Sam", 99)
        func exclusion(_ person: Person) throws -> SyncError? {
            try known(world).exclusion(of: person.id) { $0 == world.owner.id ? "Olga" : "?" }
        }
        #expect(try exclusion(will) == nil && exclusion(world.owner) == nil)
        #expect(try exclusion(stranger) == .notMember)
        try await world.removes(will)
        let link = world.chain.nextSequence - 1
        #expect(try exclusion(will) == .membership(.removed(by: "Olga", link: link)))
        let members = try known(world)
        #expect(members.role(of: will.id) == nil && members.isAdministrator(world.owner.id))
    }

    @Test("A member's device and one that joins read the same chain, in pieces of their own")
    func reading() async throws {
        let world = try await SyncWorld()
        for number in 0..<3 { _ = try await world.adds("W\(number)", .writer) }
        let objects = RemoteObjects(remote: world.remote, layout: world.layout, phase: .members)
        for limits in [MemberReader.Limits.member, .newcomer] {
            var reader = MemberReader(KnownMembers(vault: world.vault), objects, limits)
            let end = try await reader.readLinks()
            guard case .absent = end else {
                Issue.record("reading ended elsewhere: \(end)")
                continue
            }
            #expect(reader.members.chain.head == world.chain.head)
            let state = try saved(reader.removeRows())
            #expect(state.memberLinks.count == 4 && state.identityLinks.count == 4)
            #expect(reader.removeRows().isEmpty)
        }
        var one = MemberReader(KnownMembers(vault: world.vault), objects, .member)
        guard case .none = try await one.readLinks(countMax: 2) else {
            Issue.record("reading did not stop after two links")
            return
        }
        #expect(one.members.chain.nextSequence == 2)
    }

    @Test("Reading ends at an object that is not a link, and at a link whose identity is missing")
    func refusals() async throws {
        let world = try await SyncWorld()
        let will = try await world.adds("Will", .writer)
        let objects = RemoteObjects(remote: world.remote, layout: world.layout, phase: .members)
        try await world.remote.put(
            world.layout.member(world.chain.nextSequence), .memory([1, 2]), ifAbsent: true)
        var reader = MemberReader(KnownMembers(vault: world.vault), objects, .newcomer)
        guard case .refused([1, 2], _?) = try await reader.readLinks() else {
            Issue.record("the object counts as a link")
            return
        }
        #expect(reader.members.chain.head == world.chain.head)
        try await world.remote.delete(world.layout.identityLink(will.user, 0))
        var other = MemberReader(KnownMembers(vault: world.vault), objects, .newcomer)
        guard case .refused(_, .identityMissing(will.id)?) = try await other.readLinks() else {
            Issue.record("the identity is not missed")
            return
        }
        #expect(other.members.chain.nextSequence == 1)
    }
}
