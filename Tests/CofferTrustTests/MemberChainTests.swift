import CofferCrypto
import CofferFormat
import Testing

@testable import CofferTrust

@Suite struct MemberChainTests {
    private let alice: Person
    private let bob: Person
    private let carol: Person
    private let dave: Person
    private let vault: SharedVault

    init() throws {
        alice = try Person(1)
        bob = try Person(2)
        carol = try Person(3)
        dave = try Person(4)
        vault = try SharedVault(owner: alice)
    }

    private func role(_ person: Person) -> Role? { vault.state.members[person.id]?.role }

    @Test func aLocalVaultBecomesShared() throws {
        #expect(role(alice) == .owner)
        #expect(vault.state.epoch == .first)
        #expect(vault.state.beginnings[0].commitment == vault.keyring.current.commitment)
        #expect(vault.state.owed.isEmpty)
    }

    @Test func ownersAndAdminsAddMembers() throws {
        try vault.add(bob, .admin, by: alice)
        try vault.add(carol, .writer, by: bob)
        #expect(throws: TrustError.missingRight(.addAdmins)) { try vault.add(dave, .admin, by: bob) }
        #expect(throws: TrustError.missingRight(.addMembers)) { try vault.add(dave, .reader, by: carol) }
        #expect(throws: TrustError.signerNotMember) { try vault.add(dave, .reader, by: dave) }
        #expect(throws: TrustError.alreadyMember(bob.id)) { try vault.add(bob, .reader, by: alice) }
        #expect(vault.members.count == 3)
    }

    @Test func rolesChange() throws {
        try vault.add(bob, .admin, by: alice)
        try vault.add(carol, .writer, by: alice)
        try vault.change(carol, to: .reader, by: bob)
        #expect(role(carol) == .reader)
        try vault.change(carol, to: .writer, by: bob)
        #expect(throws: TrustError.missingRight(.changeAdmins)) {
            try vault.change(carol, to: .admin, by: bob)
        }
        #expect(throws: TrustError.missingRight(.changeAdmins)) { try vault.change(bob, to: .owner, by: bob) }
        #expect(throws: TrustError.missingRight(.changeRoles)) {
            try vault.change(carol, to: .reader, by: carol)
        }
        #expect(throws: TrustError.nothingNew) { try vault.change(carol, to: .writer, by: bob) }
        #expect(throws: TrustError.lastOwner) { try vault.change(alice, to: .reader, by: alice) }
        #expect(throws: TrustError.needlessBounds) {
            try vault.change(bob, to: .writer, by: alice, [bound(1, 1)])
        }
        try vault.change(bob, to: .owner, by: alice)
        try vault.change(alice, to: .writer, by: bob)
        #expect(role(alice) == .writer)
        #expect(throws: TrustError.notMember(dave.id)) { try vault.change(dave, to: .writer, by: bob) }
    }

    @Test func aRemovalAndTheNextEpochAreOneLink() throws {
        try vault.add(bob, .writer, by: alice)
        try vault.add(carol, .writer, by: alice)
        let old = vault.keyring.current
        try vault.remove(bob, by: alice, [bound(1, 10)])
        #expect(role(bob) == nil)
        #expect(vault.state.epoch == Epoch(2))
        let expected = MemberLedger.Removal(
            identity: bob.id, remover: alice.id, sequence: 3, time: now, epoch: Epoch(2),
            bounds: try LogBounds([bound(1, 10)]), hasLeft: false)
        #expect(vault.state.removals == [expected])
        // One wrap opens all history; the removed member has none.
        let keyring = try vault.opened(by: carol)
        #expect(keyring.current.epoch == Epoch(2))
        #expect(keyring[.first]?.isEqual(to: old) == true)
        #expect(!keyring.current.isEqual(to: old))
        #expect(throws: Missing.self) { try vault.opened(by: bob) }
        #expect(WrapAudit.findings(vault.chain, sets: vault.stored).isEmpty)
    }

    @Test func rightsToRemove() throws {
        let erin = try Person(5)
        try vault.add(bob, .admin, by: alice)
        try vault.add(carol, .admin, by: alice)
        try vault.add(dave, .owner, by: alice)
        try vault.add(erin, .writer, by: bob)
        #expect(throws: TrustError.missingRight(.removeOwners)) { try vault.remove(dave, by: bob) }
        #expect(throws: TrustError.missingRight(.removeAdmins)) { try vault.remove(bob, by: erin) }
        #expect(throws: TrustError.cannotRemoveSelf) { try vault.remove(bob, by: bob) }
        #expect(throws: TrustError.notMember(try Person(6).id)) { try vault.remove(try Person(6), by: bob) }
        try vault.remove(carol, by: bob)
        try vault.remove(erin, by: bob)
        try vault.remove(alice, by: dave)
        #expect(vault.state.epoch == Epoch(4))
        #expect(throws: TrustError.signerNotMember) { try vault.remove(bob, by: alice) }
    }

    @Test func epochsAreConsecutive() throws {
        try vault.add(bob, .writer, by: alice)
        guard case .removeMember(let id, let start, let bounds) = try operation(vault.removal(bob, by: alice))
        else {
            Issue.record("not a removal")
            return
        }
        for number: UInt32 in [1, 3, .max] {
            let other = MemberOperation.EpochStart(
                epoch: Epoch(number), commitment: start.commitment, sealedPrevious: start.sealedPrevious,
                wraps: start.wraps)
            let error: TrustError =
                number == 1
                ? .format(.invalid(field: "epoch")) : .wrongEpoch(expected: Epoch(2), found: Epoch(number))
            #expect(throws: error) {
                try vault.take(.removeMember(id, start: other, bounds: bounds), by: alice)
            }
        }
        #expect(role(bob) == .writer)
    }

    private func operation(_ keyed: KeyedLink) throws -> MemberOperation {
        let link = try LinkRecord(keyed.link)
        return try MemberOperation(code: link.code, body: link.body.span.bytes)
    }

    @Test func membersLeave() throws {
        try vault.add(bob, .writer, by: alice)
        #expect(throws: TrustError.wrongSuccessor) { try vault.leave(bob, successor: alice) }
        try vault.leave(bob)
        #expect(vault.state.owed == [.left(bob.id)])
        #expect(throws: TrustError.signerNotMember) { try vault.leave(bob) }
        try vault.rotate(by: alice)
        #expect(vault.state.owed.isEmpty)
        #expect(vault.state.epoch == Epoch(2))
    }

    @Test func membersWhoLeftAreBoundedByOthers() throws {
        try vault.add(bob, .writer, by: alice)
        let before = try vault.chain.head.orThrow()
        // Bounds that let everything count that is ever written.
        try vault.leave(bob, [bound(1, 1 << 62, 0)])
        #expect(vault.state.left == [bob.id: .writer])
        let late = CommitClaim(
            author: bob.id, log: LogID(low: 1, high: 0), sequence: 9,
            hash: CommitHash([UInt8](repeating: 9, count: 32)), head: before, writes: true)
        _ = try vault.chain.signer(of: late)
        #expect(throws: TrustError.notMember(carol.id)) { try vault.remove(carol, by: alice) }
        try vault.remove(bob, by: alice, [bound(1, 8)])
        #expect(throws: CommitRefusal.tooLate(link: 3)) { try vault.chain.signer(of: late) }
        #expect(vault.state.owed.isEmpty && vault.state.left.isEmpty)
        #expect(vault.state.epoch == Epoch(2))
        #expect(vault.state.removals.map(\.hasLeft) == [true])
        #expect(throws: TrustError.notMember(bob.id)) { try vault.remove(bob, by: alice) }
    }

    /// An admin bounds no owner, whether the owner is still there or has left.
    @Test func rightsToBoundMembersWhoLeft() throws {
        try vault.add(bob, .admin, by: alice)
        try vault.add(carol, .owner, by: alice)
        try vault.leave(carol)
        #expect(throws: TrustError.missingRight(.removeOwners)) { try vault.remove(carol, by: bob) }
        #expect(!vault.state.may(bob.id, remove: carol.id) && vault.state.may(alice.id, remove: carol.id))
        try vault.rotate(by: bob)
        // The new key does not decide what counts.
        #expect(vault.state.left == [carol.id: .owner])
        try vault.remove(carol, by: alice)
        #expect(vault.state.epoch == Epoch(3))
    }

    @Test func theLastOwnerNamesASuccessor() throws {
        try vault.add(bob, .reader, by: alice)
        #expect(throws: TrustError.lastOwner) { try vault.leave(alice) }
        #expect(throws: TrustError.wrongSuccessor) { try vault.leave(alice, successor: alice) }
        #expect(throws: TrustError.wrongSuccessor) { try vault.leave(alice, successor: carol) }
        try vault.leave(alice, successor: bob)
        #expect(role(bob) == .owner)
        #expect(role(alice) == nil)
    }

    @Test func aReadmittedMemberIsAMemberAgain() throws {
        try vault.add(bob, .writer, by: alice)
        try vault.leave(bob, [bound(1, 1 << 62, 0)])
        // Its own bounds would apply to its logs.
        #expect(throws: TrustError.leftUnbounded(bob.id)) { try vault.add(bob, .reader, by: alice) }
        try vault.remove(bob, by: alice)
        try vault.add(bob, .reader, by: alice)
        #expect(role(bob) == .reader)
        #expect(vault.state.owed.isEmpty && vault.state.left.isEmpty)
        #expect(WrapAudit.findings(vault.chain, sets: vault.stored).isEmpty)
    }

    @Test func aReadmittedMemberCannotBringOlderKeys() throws {
        let old = bob.chain
        try bob.roll()
        try vault.add(bob, .writer, by: alice)
        try vault.leave(bob)
        try vault.remove(bob, by: alice)
        let head = try old.head.orThrow()
        #expect(throws: TrustError.usedBefore) {
            try vault.take(
                .addMember(bob.id, head: head, role: .writer, invite: nil, wraps: .zero), by: alice)
        }
    }

    @Test func anInviteIsUsedOnce() throws {
        let invite = InviteID(low: 1, high: 2)
        try vault.add(bob, .writer, by: alice, invite: invite)
        #expect(throws: TrustError.inviteUsed) { try vault.add(carol, .writer, by: alice, invite: invite) }
        try vault.add(carol, .writer, by: alice, invite: InviteID(low: 1, high: 3))
    }

    @Test func rolledKeysAreRecordedByTheirOwnerOrAnAdmin() throws {
        try vault.add(bob, .writer, by: alice)
        try vault.add(carol, .writer, by: alice)
        #expect(throws: TrustError.nothingNew) { try vault.record(bob, by: alice) }
        try bob.roll()
        #expect(throws: TrustError.missingRight(.recordKeys)) { try vault.record(bob, by: carol) }
        let head = try bob.chain.head.orThrow()
        let old = try forged(
            MemberOperation.memberKeysRolled(bob.id, head: head, bounds: .none), chain: vault.chain.id,
            after: vault.chain.head, by: bob.signing[0].key)
        #expect(throws: TrustError.signerNotTrusted) { try vault.take(link: old) }
        try vault.record(bob, by: bob)
        #expect(vault.state.owed == [.keysRolled(bob.id)])
        #expect(vault.state.member(signing: SigningPublicKey(bob.pair.key.publicKey))?.identity == bob.id)
        #expect(vault.state.member(signing: SigningPublicKey(bob.signing[0].key.publicKey)) == nil)
        try carol.roll()
        try vault.record(carol, by: alice)
        #expect(throws: TrustError.missingRight(.rotate)) { try vault.rotate(by: bob) }
        try vault.rotate(by: alice)
        #expect(vault.state.owed.isEmpty)
        #expect(try vault.opened(by: bob).all.count == 2)
    }

    /// Recording keys says which commits count so far, so an admin could cut off an owner.
    @Test func onlyOwnersRecordAnOwnersKeys() throws {
        try vault.add(bob, .admin, by: alice)
        try vault.add(carol, .owner, by: alice)
        try carol.roll()
        #expect(throws: TrustError.missingRight(.recordOwnerKeys)) { try vault.record(carol, by: bob) }
        try vault.record(carol, by: alice)
        try carol.roll()
        try vault.record(carol, by: carol)
        // A revoked owner has no say any more.
        try carol.revoke()
        try vault.record(carol, by: bob)
        #expect(!vault.state.may(carol.id, .read))
    }

    @Test func aRevokedIdentityMayDoNothing() throws {
        try vault.add(bob, .admin, by: alice)
        try vault.add(carol, .writer, by: alice)
        try bob.revoke()
        #expect(throws: TrustError.missingRight(.recordKeys)) { try vault.record(bob, by: carol) }
        try vault.record(bob, by: alice)
        #expect(vault.state.owed == [.revoked(bob.id)])
        #expect(!vault.state.may(bob.id, .read))
        #expect(throws: TrustError.signerNotMember) { try vault.change(carol, to: .reader, by: bob) }
        // It does not receive the next key, and can be removed.
        try vault.rotate(by: alice)
        #expect(vault.state.recipients.map(\.identity) == [alice.id, carol.id].sorted())
        try vault.remove(bob, by: alice)
        #expect(WrapAudit.findings(vault.chain, sets: vault.stored).isEmpty)
    }

    @Test func withoutAnOwnerAdminsActInItsPlace() throws {
        try vault.add(bob, .admin, by: alice)
        try vault.add(carol, .writer, by: bob)
        try alice.revoke()
        #expect(throws: TrustError.missingRight(.changeAdmins)) {
            try vault.change(carol, to: .admin, by: bob)
        }
        try vault.record(alice, by: bob)
        try vault.change(bob, to: .owner, by: bob)
        try vault.remove(alice, by: bob)
        #expect(role(bob) == .owner)
    }

    @Test func aMissingIdentityIsAnError() throws {
        let head = try bob.chain.head.orThrow()
        let operation = MemberOperation.addMember(
            bob.id, head: head, role: .writer, invite: nil, wraps: .zero)
        let link = try forged(
            operation, chain: vault.chain.id, after: vault.chain.head, by: alice.pair.key)
        #expect(throws: TrustError.identityMissing(bob.id)) { try vault.take(link: link) }
        vault.people.append(bob)
        let wrong = MemberOperation.addMember(
            bob.id, head: LinkHead(sequence: 0, hash: .zero), role: .writer, invite: nil, wraps: .zero)
        #expect(throws: TrustError.identityHeadDiffers(bob.id)) { try vault.take(wrong, by: alice) }
        try vault.take(link: link)
        #expect(role(bob) == .writer)
    }

    @Test func onlyEntitledMembersRecordARestore() throws {
        try vault.add(bob, .writer, by: alice)
        let bounds = try LogBounds([bound(3, 9), bound(1, 2)])
        #expect(throws: TrustError.missingRight(.restore)) {
            try vault.take(.restoreFromBackup(bounds: bounds), by: bob)
        }
        try vault.take(.restoreFromBackup(bounds: bounds), by: alice)
        #expect(vault.state.restores.map(\.bounds) == [bounds])
        #expect(vault.state.restores.first?.announcer == alice.id)
    }

    @Test func onlyEntitledMembersSayHowLongThePastIsKept() throws {
        try vault.add(bob, .writer, by: alice)
        #expect(vault.state.historySeconds == nil)
        #expect(throws: TrustError.missingRight(.setHistory)) {
            try vault.take(.keepHistory(seconds: 0), by: bob)
        }
        for seconds: Int64 in [1_209_600, -1, 0] {
            try vault.take(.keepHistory(seconds: seconds), by: alice)
            #expect(vault.state.historySeconds == seconds)
            #expect(throws: TrustError.nothingNew) {
                try vault.take(.keepHistory(seconds: seconds), by: alice)
            }
        }
    }

    @Test func theChainIsReplayedFromItsLinks() throws {
        try vault.add(bob, .writer, by: alice)
        try vault.remove(bob, by: alice)
        let again = try MemberChain(
            vault.id, replaying: vault.chain.links.map(\.bytes), knowing: vault.known)
        #expect(again.head == vault.chain.head)
        #expect(again.state.members == vault.state.members)
        #expect(throws: TrustError.otherChain) {
            try MemberChain(
                VaultID(low: 9, high: 9), replaying: vault.chain.links.map(\.bytes), knowing: vault.known)
        }
    }

    @Test func everyFlippedByteOfALinkIsRefused() throws {
        try vault.add(bob, .writer, by: alice)
        let before = vault.chain
        let bytes = try vault.removal(bob, by: alice, [bound(1, 1)]).link
        for offset in bytes.indices {
            var changed = bytes
            changed[offset] ^= 0x20
            var copy = before
            #expect(throws: TrustError.self, "byte \(offset)") {
                try copy.append(changed, knowing: vault.known)
            }
        }
    }
}
