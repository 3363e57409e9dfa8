import Testing

@testable import CofferClient

/// Members, and members who left or were removed.
@Suite(.serialized, .ownThread) struct MembershipTests {
    private let place: MeetingPlace

    init() throws { place = try MeetingPlace() }

    @Test func removedAndLeft() throws {
        let (alice, bob) = try place.pair()
        let other = try #require(try alice.members().members.first { !$0.isThis })
        _ = try alice.ask(MemberRequest.remove(vault: "Personal", member: String(other.identity.prefix(16))))
        #expect(try alice.members().members.count == 1)
        let removals = try alice.ask(RemovalsRequest(vault: "Personal"))
        #expect(removals.map(\.identity) == [other.identity] && removals.map(\.lastEpoch) == [1])
        #expect(alice.profile.vaults.first?.keys.count == 2, "a new key")
        #expect(bob.error(SyncRequest(vault: "Ours"))?.caseName == "sync")
        // The only owner cannot leave without a successor.
        #expect(alice.error(MemberRequest.leave(vault: "Personal", successor: nil)) != nil)
    }

    @Test func leaving() throws {
        let (alice, bob) = try place.pair()
        _ = try bob.ask(MemberRequest.leave(vault: "Ours", successor: nil))
        _ = try alice.sync()
        #expect(try alice.members().members.count == 1)
        #expect(try bob.has("none", in: "Ours") == false, "the vault is still there")
    }

    @Test func identities() throws {
        let (alice, bob) = try place.pair()
        let own = try bob.ask(IdentityRequest.show)
        let card = try #require(own.card)
        #expect(own.name == "Alice" && own.identity.count == 64)
        let target = IdentityTarget.card(card)
        #expect(alice.error(IdentityRequest.verify(target, words: "one two"))?.caseName == "otherWords")
        let before = try alice.ask(IdentityRequest.verify(target, words: nil))
        let after = try alice.ask(IdentityRequest.verify(target, words: own.fingerprint))
        #expect(!before.isVerified && after.isVerified)
        #expect(try alice.members().members.first { $0.identity == own.identity }?.isVerified == true)
        #expect(alice.error(IdentityRequest.verify(.card("nonsense"), words: nil))?.caseName == "trust")
    }

    /// After a user verified a person's words, the person keeps the name of that day.
    @Test func aVerifiedNameStays() throws {
        let place = try MeetingPlace()
        let (alice, other) = try place.pair()
        try other.write("x", to: "file", in: "Ours")
        _ = try other.sync("Ours")
        let bob = try #require(try alice.members().members.first { !$0.isThis })
        #expect(bob.claims == nil)
        _ = try alice.ask(
            IdentityRequest.verify(
                .member(vault: "Personal", member: bob.identity), words: bob.fingerprint))
        let identity = try #require(alice.profile.verified.first)
        #expect(alice.profile.verifiedName(of: identity) == bob.name)
        // As if another name had been verified than the one in present commits.
        try alice.profile.recordVerified(identity, called: "Robert")
        let renamed = try #require(try alice.members().members.first { !$0.isThis })
        #expect(renamed.name == "Robert" && renamed.claims == bob.name && renamed.isVerified)
        let report = try #require(try alice.sync("Personal").first)
        #expect(report.findings.contains { $0.contains("Robert") && $0.contains("“\(bob.name)”") })
        _ = try alice.ask(MemberRequest.setRole(vault: "Personal", member: "Robert", role: "reader"))
    }

    /// An action that a role does not allow fails with an error about rights.
    @Test func aReaderMayNotInvite() throws {
        let place = try MeetingPlace()
        let (alice, bob) = try place.pair()
        let member = try #require(try alice.members().members.first { !$0.isThis })
        _ = try alice.ask(MemberRequest.setRole(vault: "Personal", member: member.identity, role: "reader"))
        _ = try bob.sync()
        let error = try #require(bob.error(InviteRequest.invite(vault: "Ours", role: "reader", seconds: 60)))
        #expect(
            error.exitCode == 77 && "\(error)".contains("your role may not") && !"\(error)".contains("sync"))
    }

    /// As many digits as needed to identify one.
    @Test func anInviteIsWithdrawnByItsFirstDigits() throws {
        let place = try MeetingPlace()
        let (alice, _) = try place.pair()
        _ = try alice.invite()
        let id = try #require(try alice.members().invites.first).id
        #expect(
            alice.error(MemberRequest.withdrawInvite(vault: "Personal", id: ""))?.caseName == "noSuchInvite")
        _ = try alice.ask(MemberRequest.withdrawInvite(vault: "Personal", id: String(id.prefix(1))))
        #expect(try alice.members().invites.isEmpty)
    }
}
