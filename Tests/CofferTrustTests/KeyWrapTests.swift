import CofferCrypto
import CofferFormat
import Testing

@testable import CofferTrust

@Suite struct KeyWrapTests {
    private let alice: Person
    private let bob: Person
    private let key: EpochKey

    init() throws {
        alice = try Person(1)
        bob = try Person(2)
        key = EpochKey(vault: VaultID(low: 1, high: 2), epoch: Epoch(3), key: .random())
    }

    private func open(
        _ wrap: WrapSetRecord.Wrap, vault: VaultID = VaultID(low: 1, high: 2), epoch: Epoch = Epoch(3),
        by person: Person
    ) throws -> EpochKey {
        try KeyWrap.open(
            wrap, vault: vault, epoch: epoch, agreement: person.agreement[0].key,
            transient: person.transients[0].pair.key)
    }

    @Test func theMemberOpensTheKey() throws {
        let wrap = try KeyWrap.seal(key, for: alice.recipient)
        #expect(wrap.suite == 1)
        #expect(wrap.sealed.count == 120)
        #expect(try KeyWrap.transientKey(of: wrap) == alice.transient.record.id)
        #expect(try open(wrap, by: alice).isEqual(to: key))
    }

    @Test func bothPrivateHalvesAreNeeded() throws {
        let wrap = try KeyWrap.seal(key, for: alice.recipient)
        let other = Person.AgreementPair([UInt8](repeating: 9, count: 32))
        let refusal = TrustError.crypto(.authenticationFailed)
        #expect(throws: refusal) { try open(wrap, by: bob) }
        #expect(throws: refusal) {
            try KeyWrap.open(
                wrap, vault: key.vault, epoch: key.epoch, agreement: alice.agreement[0].key,
                transient: other.key)
        }
        #expect(throws: refusal) {
            try KeyWrap.open(
                wrap, vault: key.vault, epoch: key.epoch, agreement: other.key,
                transient: alice.transients[0].pair.key)
        }
    }

    @Test func wrapsCannotBeMoved() throws {
        let wrap = try KeyWrap.seal(key, for: alice.recipient)
        let refusal = TrustError.crypto(.authenticationFailed)
        #expect(throws: refusal) { try open(wrap, vault: VaultID(low: 1, high: 3), by: alice) }
        #expect(throws: refusal) { try open(wrap, epoch: Epoch(4), by: alice) }
        let moved = WrapSetRecord.Wrap(identity: bob.id, suite: 1, sealed: wrap.sealed)
        #expect(throws: refusal) { try open(moved, by: alice) }
        #expect(throws: refusal) { try open(moved, by: bob) }
    }

    @Test func everyFlippedByteIsRefused() throws {
        let wrap = try KeyWrap.seal(key, for: alice.recipient)
        // Bytes 32 to 47 name the transient key: another key does not open it, or does not exist.
        for offset in wrap.sealed.indices where !(32..<48).contains(offset) {
            var sealed = wrap.sealed
            sealed[offset] ^= 2
            let changed = WrapSetRecord.Wrap(identity: wrap.identity, suite: 1, sealed: sealed)
            #expect(throws: TrustError.self, "byte \(offset)") { try open(changed, by: alice) }
        }
        for sealed in [Array(wrap.sealed.dropLast()), wrap.sealed + [0], []] {
            let changed = WrapSetRecord.Wrap(identity: wrap.identity, suite: 1, sealed: sealed)
            #expect(throws: TrustError.format(.invalid(field: "length of the wrap"))) {
                try open(changed, by: alice)
            }
        }
    }

    @Test func aWeakEphemeralKeyIsRefused() throws {
        let wrap = try KeyWrap.seal(key, for: alice.recipient)
        for weak in WeakKeys.all {
            let changed = WrapSetRecord.Wrap(
                identity: wrap.identity, suite: 1, sealed: weak + wrap.sealed.dropFirst(32))
            #expect(throws: TrustError.crypto(.weakPublicKey)) { try open(changed, by: alice) }
        }
    }

    @Test func anUnknownSuiteHasItsOwnError() throws {
        let wrap = WrapSetRecord.Wrap(identity: alice.id, suite: 2, sealed: [1, 2, 3])
        #expect(throws: TrustError.unknownSuite(2)) { try open(wrap, by: alice) }
        #expect(throws: TrustError.unknownSuite(2)) { try KeyWrap.transientKey(of: wrap) }
        // It does not prevent others from opening the set.
        let set = try WrapSet.signing(
            [wrap, try KeyWrap.seal(key, for: bob.recipient)], vault: key.vault, epoch: key.epoch,
            by: alice.pair.key)
        let opened = try set.open(
            for: bob.id, agreement: bob.agreement[0].key, transient: bob.transients[0].pair.key)
        #expect(opened.isEqual(to: key))
    }

    // MARK: Sets

    @Test func aSetIsSignedAndOrdered() throws {
        let set = try WrapSet.sealing(key, for: [bob.recipient, alice.recipient], by: alice.pair.key)
        #expect(set.record.wraps.map(\.identity) == [alice.id, bob.id].sorted())
        #expect(try WrapSet(set.record.bytes) == set)
        let bytes = set.record.bytes
        for offset in bytes.indices {
            var changed = bytes
            changed[offset] ^= 1
            #expect(throws: TrustError.self, "byte \(offset)") { try WrapSet(changed) }
            #expect(throws: TrustError.self) { try WrapSet(Array(bytes[..<offset])) }
        }
        #expect(throws: TrustError.format(.trailingBytes)) { try WrapSet(bytes + [0]) }
    }

    @Test func aSetHasEachRecipientOnce() throws {
        #expect(throws: TrustError.wrongRecipients) { try WrapSet.sealing(key, for: [], by: alice.pair.key) }
        #expect(throws: TrustError.wrongRecipients) {
            try WrapSet.sealing(key, for: [bob.recipient, bob.recipient], by: alice.pair.key)
        }
        let wrap = try KeyWrap.seal(key, for: bob.recipient)
        #expect(throws: TrustError.format(.invalid(field: "order of wraps"))) {
            try WrapSet.signing([wrap, wrap], vault: key.vault, epoch: key.epoch, by: alice.pair.key)
        }
        let set = try WrapSet.sealing(key, for: [bob.recipient], by: alice.pair.key)
        #expect(throws: TrustError.noWrap) {
            try set.open(
                for: alice.id, agreement: alice.agreement[0].key, transient: alice.transients[0].pair.key)
        }
    }

    @Test func aHostileCountReservesNothing() throws {
        var bytes = try WrapSet.sealing(key, for: [bob.recipient], by: alice.pair.key).record.bytes
        bytes.replaceSubrange(32..<36, with: [0xFF, 0xFF, 0xFF, 0xFF])
        #expect(throws: TrustError.format(.invalid(field: "number of wraps"))) { try WrapSet(bytes) }
        bytes.replaceSubrange(32..<36, with: [0, 0x10, 0, 0])
        #expect(throws: TrustError.format(.truncated)) { try WrapSet(bytes) }
    }
}
