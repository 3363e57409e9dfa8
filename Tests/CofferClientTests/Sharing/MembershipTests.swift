import Testing

@testable import CofferClient

/// Who is a member, and who is no more.
@Suite(.serialized, .ownThread) struct MembershipTests {
    private let place: MeetingPlace

    init() throws { place = try MeetingPlace() }

    @Test func removedAndLeft() throws {
        let (alice, bob) = try place.pair()
        let other = try #require(try alice.members().members.first { !$0.isThis })
        _ = try alice.ask(.removeMember(vault: "Personal", member: String(other.identity.prefix(16))))
        #expect(try alice.members().members.count == 1)
        guard case .removals(let removals) = try alice.ask(.removals(vault: "Personal")) else {
            Issue.record("no removals")
            return
        }
        #expect(removals.map(\.identity) == [other.identity] && removals.map(\.lastEpoch) == [1])
        #expect(alice.profile.vaults.first?.keys.count == 2, "a new key")
        #expect(bob.error(.sync(vault: "Ours"))?.caseName == "sync")
        // The only owner cannot leave without a successor.
        #expect(alice.error(.leave(vault: "Personal", successor: nil)) != nil)
    }

    @Test func leaving() throws {
        let (alice, bob) = try place.pair()
        _ = try bob.ask(.leave(vault: "Ours", successor: nil))
        _ = try alice.sync()
        #expect(try alice.members().members.count == 1)
        #expect(try bob.has("none", in: "Ours") == false, "the vault is still there")
    }

    @Test func identities() throws {
        let (alice, bob) = try place.pair()
        guard case .identity(let own) = try bob.ask(.identity), let card = own.card else {
            Issue.record("no card")
            return
        }
        #expect(own.name == "Alice" && own.identity.count == 64)
        let target = IdentityTarget.card(card)
        #expect(alice.error(.verify(target, words: "one two"))?.caseName == "otherWords")
        guard case .identity(let before) = try alice.ask(.verify(target, words: nil)),
            case .identity(let after) = try alice.ask(.verify(target, words: own.fingerprint))
        else { return }
        #expect(!before.isVerified && after.isVerified)
        #expect(try alice.members().members.first { $0.identity == own.identity }?.isVerified == true)
        #expect(alice.error(.verify(.card("nonsense"), words: nil))?.caseName == "trust")
    }
}
