import CofferCrypto
import CofferFormat
import Testing

import CofferTrust

@Suite struct IdentityCardTests {
    private let alice: Person

    init() throws {
        alice = try Person(1)
        try alice.roll()
    }

    @Test func aCardIsReadAsWritten() throws {
        let card = try alice.card("Alice Ä. 🦊")
        let read = try IdentityCard(card.bytes)
        #expect(read.name == "Alice Ä. 🦊")
        #expect(read.identity.links == alice.chain.links)
        #expect(read.transient == alice.transient)
        #expect(try read.recipient == alice.recipient)
    }

    @Test func aCardTravelsAsText() throws {
        let card = try alice.card("Alice")
        let text = card.text
        #expect(text.hasPrefix("-----BEGIN COFFER IDENTITY CARD-----\n"))
        #expect(text.split(separator: "\n").allSatisfy { $0.utf8.count <= 64 })
        #expect(try IdentityCard(text: text).bytes == card.bytes)
        let mailed = "Hello,\n\n> no\n" + text.split(separator: "\n").joined(separator: " \r\n") + "\r\nAlice"
        #expect(try IdentityCard(text: mailed).bytes == card.bytes)
        #expect(throws: TrustError.notACard) { try IdentityCard(text: "Hello") }
        #expect(throws: TrustError.notACard) {
            try IdentityCard(text: text.split(separator: "\n").dropLast().joined(separator: "\n"))
        }
        let lines = text.split(separator: "\n")
        let without = (lines[..<3] + lines[4...]).joined(separator: "\n")
        #expect(throws: TrustError.self) { try IdentityCard(text: without) }
    }

    @Test func everyFlippedByteIsRefused() throws {
        let bytes = try alice.card("Alice").bytes
        for offset in bytes.indices {
            var changed = bytes
            changed[offset] ^= 0x10
            #expect(throws: TrustError.self, "byte \(offset)") { try IdentityCard(changed) }
            #expect(throws: TrustError.self) { try IdentityCard(Array(bytes[..<offset])) }
        }
        #expect(throws: TrustError.format(.trailingBytes)) { try IdentityCard(bytes + [0]) }
    }

    /// Names are shown on terminals, and become part of conflict names.
    @Test(arguments: ["", "a\nb", "\u{1B}[2J", "a\u{202E}b", "a\u{7F}", String(repeating: "x", count: 256)])
    func namesThatCouldFoolAReaderAreRefused(name: String) throws {
        #expect(throws: TrustError.self) { try alice.card(name) }
        // A forger signs one all the same.
        guard 1...255 ~= name.utf8.count else { return }
        let usual = String(repeating: "W", count: name.utf8.count)
        var signed = Array(try alice.card(usual).bytes.dropLast(64))
        let place = try #require(signed.firstRange(of: Array(usual.utf8)))
        signed.replaceSubrange(place, with: name.utf8)
        let forged = signed + alice.pair.key.sign(signed, for: .identityCard)
        #expect(throws: TrustError.self) { try IdentityCard(forged) }
    }

    @Test func onlyTheIdentitySignsItsCard() throws {
        let mallory = try Person(66)
        #expect(throws: TrustError.wrongSignature(.identityCard)) {
            try IdentityCard.signed(
                name: "Alice", identity: alice.chain, transient: alice.transient, by: mallory.pair.key)
        }
        #expect(throws: TrustError.transientKeyNotOfIdentity) {
            try IdentityCard.signed(
                name: "Alice", identity: alice.chain, transient: mallory.transient, by: alice.pair.key)
        }
    }

    @Test func aRevokedIdentityHasNoCard() throws {
        let last = alice.transient
        try alice.revoke()
        #expect(throws: TrustError.identityRevoked) {
            try IdentityCard.signed(
                name: "Alice", identity: alice.chain, transient: last, by: alice.pair.key)
        }
    }

    @Test func aLinkTwiceIsRefused() throws {
        let links = alice.chain.links.map(\.bytes)
        let signed = try IdentityCardRecord.signed(
            name: "Alice", links: links + [links[1]], transientKey: alice.transient.record.bytes)
        #expect(throws: TrustError.format(.invalid(field: "links"))) {
            try IdentityCard(signed + alice.pair.key.sign(signed, for: .identityCard))
        }
    }
}
