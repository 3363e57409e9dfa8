import CofferFormat
import CofferTestSupport
import Testing

import CofferTrust

/// The answers to requests with an invite that admits nobody, and what an invite reveals about the vault.
@Suite struct JoinRefusalTests {
    private static let vault = VaultID(low: 1, high: 2)

    private func invite(name: String? = nil) throws -> Invite {
        try Invite(
            to: Self.vault, root: .zero, role: .writer, expires: now + day, url: "file:///srv/x", name: name)
    }

    @Test func holdersOfTheInviteReadIt() throws {
        let invite = try invite()
        for reason in [JoinRefusal.withdrawn, .noRight] {
            let bytes = invite.refusal(reason)
            #expect(bytes.count == JoinRefusalRecord.byteCount)
            #expect(try Invite(text: invite.text).refusal(in: bytes) == reason)
        }
    }

    @Test func othersCanNeitherMakeNorReadOne() throws {
        let (invite, other) = (try invite(), try invite())
        let bytes = invite.refusal(.withdrawn)
        #expect(other.refusal(in: bytes) == nil)
        // The record of another invite, under the name of this one.
        let sealed = try JoinRefusalRecord(other.refusal(.withdrawn)).sealed
        let renamed = JoinRefusalRecord(vault: Self.vault, invite: invite.id, sealed: sealed)
        #expect(invite.refusal(in: renamed.bytes) == nil)
        for index in bytes.indices {
            var changed = bytes
            changed[index] ^= 1
            #expect(invite.refusal(in: changed) == nil)
            #expect(invite.refusal(in: Array(bytes[..<index])) == nil)
        }
        #expect(invite.refusal(in: bytes + [0]) == nil)
    }

    /// The invited person learns the name, and it is in no object of the remote.
    @Test func anInviteNamesTheVault() throws {
        let named = try invite(name: "Täxes")
        #expect(try Invite(text: named.text).name == "Täxes")
        #expect(try Invite(text: try invite().text).name == nil)
        let bob = try Person(2)
        let request = try Invite(text: named.text).request(by: try bob.card("Bob"), signing: bob.pair.key)
        let name = Array("Täxes".utf8)
        #expect(
            !request.indices.dropLast(name.count).contains { Array(request[$0..<$0 + name.count]) == name })
        #expect(throws: TrustError.notAnInvite) { try invite(name: "") }
        #expect(throws: TrustError.notAnInvite) { try invite(name: String(repeating: "n", count: 256)) }
    }

    @Test func withdrawnInvitesAreKept() throws {
        var open = OpenInvites()
        let (first, second) = (try invite(), try invite(name: "Taxes"))
        for invite in [first, second] { try open.add(invite) }
        open.withdraw(first.id)
        #expect(open.all.map(\.id) == [second.id] && open[first.id] != nil)
        let bytes = open.bytes
        var read = try OpenInvites(bytes.span.bytes)
        #expect(read.bytes == bytes && read.all.map(\.text) == [second.text])
        #expect(bytes.count <= open.byteCountMax)
        let bob = try Person(2)
        let request = try first.request(by: try bob.card("Bob"), signing: bob.pair.key)
        #expect(throws: TrustError.inviteWithdrawn) { try read.admission(request, at: now) }
        #expect(throws: TrustError.inviteExpired) { try read.admission(request, at: now + day) }
        read.remove(second.id)
        #expect(!read.isEmpty)
        read.removeExpired(at: now + day)
        #expect(read.isEmpty)
    }

    /// Of very many withdrawn invites, those that end last are remembered.
    @Test func theNumberOfRememberedInvitesIsBounded() throws {
        var open = OpenInvites()
        var all: [Invite] = []
        for number in 1...300 as ClosedRange<Int64> {
            let invite = try Invite(
                to: Self.vault, root: .zero, role: .reader, expires: now + number, url: "file:///x")
            try open.add(invite)
            open.withdraw(invite.id)
            all.append(invite)
        }
        #expect(all.count { open[$0.id] != nil } == 256 && open[all[299].id] != nil)
    }
}
