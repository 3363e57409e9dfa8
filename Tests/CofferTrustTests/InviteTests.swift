import CofferCrypto
import CofferFormat
import CofferTestSupport
import Testing

@testable import CofferTrust

@Suite struct InviteTests {
    private let alice: Person
    private let bob: Person
    private let vault: SharedVault
    private let invite: Invite

    init() throws {
        alice = try Person(1)
        bob = try Person(2)
        vault = try SharedVault(owner: alice)
        invite = try Invite(
            to: vault.id, root: vault.chain.links[0].hash, role: .writer, expires: now + 7 * day,
            url: "s3://bucket.example/team")
    }

    @Test func anInviteFitsOnOneLine() throws {
        let text = invite.text
        #expect(text.hasPrefix("coffer-invite-1:"))
        #expect(!text.contains { $0.isWhitespace })
        let read = try Invite(text: "  \(text)\r\n")
        #expect(read.vault == vault.id)
        #expect(read.root == vault.chain.links[0].hash)
        #expect(read.role == .writer)
        #expect(read.expires == now + 7 * day)
        #expect(read.url == "s3://bucket.example/team")
        #expect(read.id == invite.id)
        #expect(read.text == text)
        // A line that a mail program has wrapped.
        let broken = String(text.prefix(80)) + "\n" + String(text.dropFirst(80))
        #expect(try Invite(text: broken).id == invite.id)
    }

    @Test func everyMistakeInCopyingIsNoticed() throws {
        let text = invite.text
        for index in text.indices {
            var changed = text
            changed.replaceSubrange(index...index, with: text[index] == "A" ? "B" : "A")
            #expect(throws: TrustError.self) { try Invite(text: changed) }
            #expect(throws: TrustError.self) { try Invite(text: String(text[..<index])) }
        }
        #expect(throws: TrustError.notAnInvite) { try Invite(text: text + "A") }
        #expect(throws: TrustError.notAnInvite) { try Invite(text: "") }
        #expect(throws: TrustError.newerInvite) { try Invite(text: "coffer-invite-2:abc") }
        #expect(throws: TrustError.notAnInvite) { try Invite(text: "coffer-invite-x:abc") }
    }

    @Test(arguments: [
        "sftp://bob:secret@host/x", "https://host/x?X-Amz-Signature=1", "https://host/#key", "", "file",
        "s3://a b", "s3://a\u{1B}[2J", ":x", "https://a:b@c@host/",
    ])
    func credentialsStandInNoInvite(url: String) throws {
        #expect(throws: TrustError.unfitURL) {
            try Invite(to: vault.id, root: .zero, role: .reader, expires: now, url: url)
        }
    }

    @Test(arguments: ["sftp://bob@host:22/x", "file:///srv/x", "https://[::1]:8080/dav", "s3://b/a@b:c"])
    func otherURLsDo(url: String) throws {
        let invite = try Invite(to: vault.id, root: .zero, role: .reader, expires: now, url: url)
        #expect(try Invite(text: invite.text).url == url)
    }

    @Test func anotherVaultUnderTheSameIdIsNoticed() throws {
        try invite.checkChain(vault.chain)
        let other = try SharedVault(owner: bob)
        #expect(other.chain.id == vault.chain.id)
        #expect(throws: TrustError.notLinked(sequence: 0)) { try invite.checkChain(other.chain) }
        let empty = MemberChain(id: vault.chain.id)
        #expect(throws: TrustError.shorterChain(known: 1, offered: 0)) { try invite.checkChain(empty) }
    }

    // MARK: Requests

    private func open() throws -> OpenInvites {
        var open = OpenInvites()
        try open.add(invite)
        return open
    }

    private func request(_ person: Person, by invite: Invite? = nil) throws -> [UInt8] {
        try (invite ?? self.invite).request(by: try person.card("Bob"), signing: person.pair.key)
    }

    @Test func invitedPeopleAreAdmittedAutomatically() throws {
        // What the invited person sees: only the line.
        let request = try request(bob, by: try Invite(text: invite.text))
        let admission = try open().admission(request, at: now)
        #expect(admission.role == .writer)
        #expect(admission.card.name == "Bob")
        #expect(admission.card.identity.identity == bob.id)
        try vault.add(bob, admission.role, by: alice, invite: admission.invite)
        #expect(try vault.opened(by: bob).current.isEqual(to: vault.keyring.current))
        // Every device refuses a second use.
        #expect(throws: TrustError.inviteUsed) {
            try vault.add(try Person(3), .writer, by: alice, invite: admission.invite)
        }
    }

    @Test func anInviteEnds() throws {
        var open = try open()
        let request = try request(bob)
        _ = try open.admission(request, at: now + 7 * day - 1)
        #expect(throws: TrustError.inviteExpired) { try open.admission(request, at: now + 7 * day) }
        open.removeExpired(at: now + 7 * day)
        #expect(throws: TrustError.noSuchInvite) { try open.admission(request, at: now) }
    }

    @Test func aWithdrawnInviteIsGone() throws {
        var open = try open()
        open.remove(invite.id)
        #expect(throws: TrustError.noSuchInvite) { try open.admission(try request(bob), at: now) }
    }

    @Test func aRequestWithoutTheSecretIsRefused() throws {
        let other = try Invite(
            to: vault.id, root: .zero, role: .owner, expires: now + day, url: "s3://bucket.example/team")
        #expect(throws: TrustError.noSuchInvite) {
            try open().admission(try request(bob, by: other), at: now)
        }
        // The right name with the wrong key.
        let sealed = try JoinRequestRecord(try request(bob, by: other)).sealed
        let renamed = JoinRequestRecord(vault: vault.id, invite: invite.id, sealed: sealed).bytes
        #expect(throws: TrustError.crypto(.authenticationFailed)) { try open().admission(renamed, at: now) }
    }

    @Test func aRequestIsForOneVault() throws {
        let elsewhere = JoinRequestRecord(
            vault: VaultID(low: 8, high: 8), invite: invite.id,
            sealed: try JoinRequestRecord(try request(bob)).sealed)
        #expect(throws: TrustError.noSuchInvite) { try open().admission(elsewhere.bytes, at: now) }
    }

    @Test func nobodyCanJoinAsAnotherPerson() throws {
        let mallory = try Person(66)
        #expect(throws: TrustError.wrongSignature(.joinRequest)) {
            try invite.request(by: try bob.card("Bob"), signing: mallory.pair.key)
        }
        // Mallory has the invite and Bob's card, and makes the request by hand.
        let card = try bob.card("Bob")
        let head = JoinRequestRecord.associatedData(vault: vault.id, invite: invite.id)
        let plaintext = mallory.pair.key.sign(head + card.bytes, for: .joinRequest) + card.bytes
        let sealed = RecordCipher.seal(
            plaintext.span.bytes, key: invite.requestKey, associated: head.span.bytes)
        let request = JoinRequestRecord(vault: vault.id, invite: invite.id, sealed: sealed).bytes
        #expect(throws: TrustError.wrongSignature(.joinRequest)) { try open().admission(request, at: now) }
    }

    @Test func everyFlippedByteOfARequestIsRefused() throws {
        let request = try request(bob)
        let open = try open()
        for offset in request.indices {
            var changed = request
            changed[offset] ^= 8
            #expect(throws: TrustError.self, "byte \(offset)") { try open.admission(changed, at: now) }
        }
        for count in 0..<request.count {
            #expect(throws: TrustError.self) { try open.admission(Array(request[..<count]), at: now) }
        }
        #expect(throws: TrustError.self) { try open.admission(request + [0], at: now) }
    }

    @Test func nothingOfTheCardShows() throws {
        let request = try request(bob)
        let name = Array("Bob".utf8)
        let windows = (0...(request.count - 3)).contains { Array(request[$0..<$0 + 3]) == name }
        #expect(!windows)
    }

    @Test func openInvitesAreKept() throws {
        var open = try open()
        try open.add(
            try Invite(to: vault.id, root: .zero, role: .reader, expires: now, url: "file:///x"))
        let bytes = open.bytes
        let read = try OpenInvites(bytes.span.bytes)
        #expect(read.bytes == bytes)
        #expect(read.all.map(\.text) == open.all.map(\.text))
        #expect(read.all.map(\.expires) == [now, now + 7 * day])
        for count in 0..<bytes.count {
            #expect(throws: TrustError.self) { try OpenInvites(Array(bytes[..<count]).span.bytes) }
        }
        #expect(throws: TrustError.format(.truncated)) { try OpenInvites((bytes + [0]).span.bytes) }
        // Empty parts are left out.
        #expect(throws: TrustError.format(.invalid(field: "number of invites"))) {
            try OpenInvites((bytes + [0, 0, 0, 0]).span.bytes)
        }
        #expect(try OpenInvites(OpenInvites().bytes.span.bytes).all.isEmpty)
        #expect(throws: TrustError.format(.invalid(field: "number of invites"))) {
            try OpenInvites([UInt8](repeating: 255, count: 4).span.bytes)
        }
    }
}
