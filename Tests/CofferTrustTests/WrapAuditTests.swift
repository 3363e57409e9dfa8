import CofferCrypto
import CofferFormat
import Testing

@testable import CofferTrust

@Suite struct WrapAuditTests {
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
        try vault.add(carol, .writer, by: bob)
    }

    private func findings(_ sets: [[UInt8]]? = nil) -> Set<WrapAudit.Finding> {
        WrapAudit.findings(vault.chain, sets: sets ?? vault.stored)
    }

    @Test func agreementHasNoFindings() throws {
        #expect(findings().isEmpty)
        try vault.rotate(by: alice)
        #expect(vault.stored.count == 1)
        #expect(findings().isEmpty)
        #expect(findings(vault.stored + vault.stored).isEmpty)
    }

    @Test func aMissingOrDamagedSetIsFound() throws {
        let hash = try vault.chain.wraps(for: carol.id).orThrow()
        let expected: Set<WrapAudit.Finding> = [
            .setMissing(hash, link: 2), .memberWithoutWrap(carol.id),
        ]
        #expect(findings(Array(vault.stored.dropLast())) == expected)
        var sets = vault.stored
        sets[2][60] ^= 1
        #expect(findings(sets) == expected)
    }

    @Test func aSetThatNoLinkNamesIsFound() throws {
        let extra = try WrapSet.sealing(
            vault.keyring.current, for: [carol.recipient], by: bob.pair.key)
        #expect(findings(vault.stored + [extra.record.bytes]) == [.setWithoutLink(extra.hash)])
    }

    private func rotate(_ set: WrapSet, _ key: EpochKey) throws {
        try vault.take(
            .rotateKey(
                start: MemberOperation.EpochStart(
                    epoch: Epoch(2), commitment: key.commitment,
                    sealedPrevious: key.seal(previous: vault.keyring.current), wraps: set.hash)),
            by: alice)
    }

    private func next(_ epoch: UInt32 = 2) -> EpochKey {
        EpochKey(vault: vault.id, epoch: Epoch(epoch), key: .random())
    }

    /// An admin's client can make any set; all other clients detect a wrong one.
    @Test func aSetForNonmembersIsFound() throws {
        let mallory = try Person(66)
        let key = next()
        let set = try WrapSet.sealing(
            key, for: [alice.recipient, bob.recipient, mallory.recipient], by: alice.pair.key)
        try rotate(set, key)
        #expect(
            findings([set.record.bytes]) == [
                .strangerWithWrap(mallory.id, link: 3), .memberWithoutWrap(carol.id),
            ])
    }

    @Test func aForeignSetOrOneOfAnotherEpochIsFound() throws {
        let everybody = [try alice.recipient, try bob.recipient, try carol.recipient]
        for (key, signer) in [(next(), bob), (next(3), alice)] {
            let copy = try SharedVault(owner: alice)
            try copy.add(bob, .admin, by: alice)
            try copy.add(carol, .writer, by: bob)
            let set = try WrapSet.sealing(key, for: everybody, by: signer.pair.key)
            try copy.take(
                .rotateKey(
                    start: MemberOperation.EpochStart(
                        epoch: Epoch(2), commitment: key.commitment,
                        sealedPrevious: key.seal(previous: copy.keyring.current), wraps: set.hash)),
                by: alice)
            let found = WrapAudit.findings(copy.chain, sets: [set.record.bytes])
            #expect(found.contains(.setDoesNotFit(set.hash, link: 3)))
            #expect(found.count == 4)
        }
    }

    @Test func owedRotationsAreFound() throws {
        try carol.roll()
        try vault.record(carol, by: carol)
        #expect(findings() == [.rotationOwed(.keysRolled(carol.id))])
        try vault.leave(carol)
        #expect(findings() == [.rotationOwed(.keysRolled(carol.id)), .rotationOwed(.left(carol.id))])
        try vault.rotate(by: bob)
        #expect(findings().isEmpty)
        #expect(vault.chain.wraps(for: carol.id) == nil)
    }

    /// A member without a usable key is left out, and named; no stranger gets a wrap, and the maker has one.
    @Test func aMemberWithoutWrapIsFound() throws {
        let keyed = try vault.chain.rotating(
            recipients: [try alice.recipient, try bob.recipient], keyring: vault.keyring,
            signing: alice.pair.key, at: now, knowing: vault.known)
        try vault.take(link: keyed.link)
        let found = WrapAudit.findings(vault.chain, sets: [keyed.wraps.record.bytes])
        #expect(found == [.memberWithoutWrap(carol.id)])
    }

    @Test func makersRefuseWrongRecipients() throws {
        let others = [try bob.recipient, try carol.recipient]
        let mallory = try Person(66)
        for recipients in [others, others + [try alice.recipient, try mallory.recipient], []] {
            #expect(throws: TrustError.wrongRecipients) {
                try vault.chain.rotating(
                    recipients: recipients, keyring: vault.keyring, signing: alice.pair.key, at: now,
                    knowing: vault.known)
            }
        }
        // Keys that the chain does not know yet must be recorded first.
        try carol.roll()
        #expect(throws: TrustError.identityHeadDiffers(carol.id)) { try vault.rotate(by: alice) }
        try vault.record(carol, by: alice)
        try vault.rotate(by: alice)
    }
}
