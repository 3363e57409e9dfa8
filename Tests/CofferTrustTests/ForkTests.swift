import CofferCrypto
import CofferFormat
import Testing

import CofferTrust

@Suite struct ForkTests {
    private let alice: Person
    private let bob: Person
    private let carol: Person
    private let vault: SharedVault

    init() throws {
        alice = try Person(1)
        bob = try Person(2)
        carol = try Person(3)
        vault = try SharedVault(owner: alice)
        try vault.add(bob, .admin, by: alice)
        try vault.add(carol, .writer, by: alice)
    }

    private func fork(_ chain: MemberChain, _ other: [UInt8]) throws -> Fork {
        var chain = chain
        do {
            try chain.append(other, knowing: vault.known)
        } catch TrustError.fork(let fork) {
            return fork
        }
        throw Missing()
    }

    private func with(_ link: [UInt8], _ chain: MemberChain? = nil) throws -> MemberChain {
        var chain = chain ?? vault.chain
        try chain.append(link, knowing: vault.known)
        return chain
    }

    private func change(_ role: Role, by signer: Person, after chain: MemberChain? = nil) throws -> [UInt8] {
        try (chain ?? vault.chain).link(
            .changeRole(carol.id, role: role, bounds: .none), at: now, by: signer.pair.key,
            knowing: vault.known)
    }

    @Test func theForkHasBothLinks() throws {
        let (first, second) = (try change(.reader, by: alice), try change(.reader, by: bob))
        let chain = try with(first)
        let fork = try fork(chain, second)
        #expect(fork.sequence == 3)
        #expect(fork.known.bytes == first)
        #expect(fork.other.bytes == second)
        #expect(try chain.verdict(on: fork, knowing: vault.known) == .knownStands)
    }

    /// Two admins remove each other: each device keeps what it saw first, and shows the fork.
    @Test func twoAdminsWhoRemoveEachOther() throws {
        let dave = try Person(4)
        try vault.add(dave, .admin, by: alice)
        let (first, second) = (try vault.removal(dave, by: bob).link, try vault.removal(bob, by: dave).link)
        for (known, other) in [(first, second), (second, first)] {
            let chain = try with(known)
            let fork = try fork(chain, other)
            #expect(try chain.verdict(on: fork, knowing: vault.known) == .otherIsByRemoved)
            #expect(chain.links.last?.bytes == known)
        }
    }

    @Test func aRemovalStandsAgainstLinksByTheRemoved() throws {
        let links = (try change(.reader, by: bob), try vault.removal(bob, by: alice).link)
        // The result does not depend on the order of arrival.
        let late = try with(links.0)
        let lateFork = try fork(late, links.1)
        #expect(try late.verdict(on: lateFork, knowing: vault.known) == .otherRemovesSigner)
        let settled = try late.adopting(lateFork, knowing: vault.known)
        let early = try with(links.1)
        #expect(settled.head == early.head)
        #expect(try early.verdict(on: try fork(early, links.0), knowing: vault.known) == .otherIsByRemoved)
    }

    @Test func aRemovalKeepsTheLinksOfOthers() throws {
        let removal = try vault.removal(bob, by: alice).link
        let chain = try with(try change(.reader, by: bob))
        let grown = try with(try change(.writer, by: alice, after: chain), chain)
        #expect(try grown.verdict(on: try fork(grown, removal), knowing: vault.known) == .knownStands)
    }

    /// A removed admin publishes a removal that it made earlier, in a folder that others replicate.
    @Test func aRemovedMemberCannotReturnByAnOldRemoval() throws {
        let old = try vault.removal(carol, by: bob).link
        var chain = try with(
            try vault.chain.link(
                .leave(successor: nil, bounds: .none), at: now, by: carol.pair.key, knowing: vault.known))
        try chain.append(
            try forged(
                MemberOperation.removeMember(
                    bob.id,
                    start: MemberOperation.EpochStart(
                        epoch: Epoch(2), commitment: .zero, sealedPrevious: [UInt8](repeating: 0, count: 72),
                        wraps: .zero), bounds: .none),
                chain: chain.id, after: chain.head, by: alice.pair.key), knowing: vault.known)
        let fork = try fork(chain, old)
        #expect(try chain.verdict(on: fork, knowing: vault.known) == .otherIsByRemoved)
    }

    /// An owner who was made a writer publishes an earlier removal of whoever did that.
    @Test func aDemotedMemberCannotReturnByAnOldRemoval() throws {
        let olivia = try Person(4)
        try vault.add(olivia, .owner, by: alice)
        let old = try vault.removal(alice, by: olivia).link
        let chain = try with(
            vault.link(.changeRole(olivia.id, role: .writer, bounds: .none), by: alice))
        #expect(try chain.verdict(on: try fork(chain, old), knowing: vault.known) == .otherIsByRemoved)
    }

    /// A thief has keys of an admin that were since replaced or revoked.
    @Test(arguments: [false, true])
    func oldKeysCannotRestoreAMemberByAnOldRemoval(isRevoked: Bool) throws {
        let dave = try Person(4)
        try vault.add(dave, .admin, by: alice)
        let old = try vault.removal(dave, by: bob).link
        if isRevoked { try bob.revoke() } else { try bob.roll() }
        let head = try bob.chain.head.orThrow()
        let chain = try with(vault.link(.memberKeysRolled(bob.id, head: head, bounds: .none), by: dave))
        #expect(try chain.verdict(on: try fork(chain, old), knowing: vault.known) == .otherIsByRemoved)
    }

    /// A promotion removes no rights.
    @Test func aRemovalByAPromotedMemberStands() throws {
        let dave = try Person(4)
        try vault.add(dave, .admin, by: alice)
        let old = try vault.removal(dave, by: bob).link
        let chain = try with(try change(.reader, by: dave))
        #expect(try chain.verdict(on: try fork(chain, old), knowing: vault.known) == .otherRemovesSigner)
    }

    @Test func anInvalidSecondLinkIsNoFork() throws {
        var chain = try with(try change(.reader, by: alice))
        let link = try forged(
            MemberOperation.changeRole(carol.id, role: .owner, bounds: .none), chain: chain.id,
            after: vault.chain.head, by: bob.pair.key)
        #expect(throws: TrustError.missingRight(.changeAdmins)) {
            try chain.append(link, knowing: vault.known)
        }
    }
}
