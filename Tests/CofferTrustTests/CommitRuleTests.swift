import CofferCrypto
import CofferFormat
import Testing

import CofferTrust

/// Which commits count, by the head of the member chain that each names.
@Suite struct CommitRuleTests {
    private let alice: Person
    private let bob: Person
    private let vault: SharedVault

    init() throws {
        alice = try Person(1)
        bob = try Person(2)
        vault = try SharedVault(owner: alice)
        try vault.add(bob, .writer, by: alice)
    }

    private var head: LinkHead { vault.chain.head ?? LinkHead(sequence: 0, hash: .zero) }

    private func signer(
        _ person: Person, _ sequence: UInt64, _ head: LinkHead, log: UInt64 = 1, writes: Bool = true,
        byte: UInt8 = 7
    ) throws -> SigningPublicKey {
        let bound = bound(log, sequence, byte)
        return try vault.chain.signer(
            of: CommitClaim(
                author: person.id, log: bound.log, sequence: sequence, hash: bound.hash, head: head,
                writes: writes))
    }

    private func key(_ person: Person, _ number: Int = 0) -> SigningPublicKey {
        SigningPublicKey(person.signing[number].key.publicKey)
    }

    @Test func membersCommitFromTheLinkThatAddedThem() throws {
        #expect(try signer(bob, 1, head) == key(bob))
        #expect(throws: CommitRefusal.notMember) { try signer(bob, 1, vault.chain.links[0].head) }
        #expect(throws: CommitRefusal.notMember) { try signer(try Person(9), 1, head) }
        #expect(throws: CommitRefusal.unknownHead) {
            try signer(bob, 1, LinkHead(sequence: 2, hash: .zero))
        }
        #expect(throws: CommitRefusal.otherHead) { try signer(bob, 1, LinkHead(sequence: 1, hash: .zero)) }
    }

    @Test func removedMembersCanNeitherWriteNorBackdate() throws {
        let before = head
        try vault.remove(bob, by: alice, [bound(1, 10)])
        #expect(try signer(bob, 9, before) == key(bob))
        #expect(try signer(bob, 10, before) == key(bob))
        #expect(throws: CommitRefusal.notTheBound(link: 2)) { try signer(bob, 10, before, byte: 8) }
        #expect(throws: CommitRefusal.tooLate(link: 2)) { try signer(bob, 11, before) }
        #expect(throws: CommitRefusal.tooLate(link: 2, writes: false)) {
            try signer(bob, 11, before, writes: false)
        }
        // A log that the removal does not name does not count.
        #expect(throws: CommitRefusal.tooLate(link: 2)) { try signer(bob, 1, before, log: 5) }
        #expect(throws: CommitRefusal.notMember) { try signer(bob, 11, head) }
        // Others are unchanged.
        #expect(try signer(alice, 11, before, log: 2) == key(alice))
    }

    @Test func aReadmittedMemberContinues() throws {
        let before = head
        try vault.leave(bob, [bound(1, 10)])
        try vault.remove(bob, by: alice, [bound(1, 10)])
        try vault.add(bob, .writer, by: alice)
        #expect(try signer(bob, 11, head) == key(bob))
        #expect(throws: CommitRefusal.tooLate(link: 2)) { try signer(bob, 11, before) }
    }

    @Test func aReaderAcknowledgesAndDoesNotWrite() throws {
        let before = head
        try vault.change(bob, to: .reader, by: alice, [bound(1, 10)])
        #expect(throws: CommitRefusal.missingRight(.write)) { try signer(bob, 11, head) }
        #expect(try signer(bob, 11, head, writes: false) == key(bob))
        #expect(throws: CommitRefusal.tooLate(link: 2)) { try signer(bob, 11, before) }
        #expect(try signer(bob, 11, before, writes: false) == key(bob))
        #expect(try signer(bob, 10, before) == key(bob))
    }

    @Test func aRolledKeyCannotBackdate() throws {
        let before = head
        try bob.roll()
        try vault.record(bob, by: bob, [bound(1, 10)])
        #expect(try signer(bob, 10, before) == key(bob, 0))
        #expect(try signer(bob, 11, head) == key(bob, 1))
        for writes in [true, false] {
            #expect(throws: CommitRefusal.tooLate(link: 2, writes: writes)) {
                try signer(bob, 11, before, writes: writes)
            }
        }
    }

    @Test func aRevokedIdentityCommitsNothingMore() throws {
        try bob.revoke()
        try vault.record(bob, by: alice, [bound(1, 3)])
        #expect(throws: CommitRefusal.notMember) { try signer(bob, 4, head) }
    }

    @Test func aRoleThatKeepsTheRightChangesNothing() throws {
        let before = head
        try vault.change(bob, to: .admin, by: alice)
        #expect(try signer(bob, 11, before) == key(bob))
    }
}
