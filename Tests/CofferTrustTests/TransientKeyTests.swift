import CofferCrypto
import CofferFormat
import Testing

import CofferTrust

@Suite struct TransientKeyTests {
    private let alice: Person

    init() throws {
        alice = try Person(1, transientFrom: now)
    }

    private func key(from: Int64, until: Int64, agreement: AgreementPublicKey? = nil) throws -> [UInt8] {
        let signed = TransientKeyRecord.signed(
            identity: alice.id, id: TransientKeyID(low: 1, high: 1),
            agreement: agreement ?? alice.agreement[0].publicKey, from: from, until: until,
            signer: SigningPublicKey(alice.pair.key.publicKey))
        return signed + alice.pair.key.sign(signed, for: .transientKey)
    }

    @Test func aKeyIsValidForThirtyDays() throws {
        let key = alice.transient
        #expect(key.record.until == now + 30 * day)
        #expect(key.validity(at: now - day - 1) == .notYet)
        // Clocks differ.
        #expect(key.validity(at: now - day) == .current)
        #expect(key.validity(at: now + 30 * day - 1) == .current)
        #expect(key.validity(at: now + 30 * day) == .expired)
    }

    @Test func aKeyThatWouldBeValidForLongerIsRefused() throws {
        _ = try TransientKey(try key(from: now, until: now + 30 * day), of: alice.chain)
        #expect(throws: TrustError.validTooLong) {
            try TransientKey(try key(from: now, until: now + 30 * day + 1), of: alice.chain)
        }
        for until in [now, now - 1, .min] {
            #expect(throws: TrustError.format(.invalid(field: "validity"))) {
                try TransientKey(try key(from: now, until: until), of: alice.chain)
            }
        }
        #expect(throws: TrustError.format(.invalid(field: "validity"))) {
            try TransientKey(try key(from: .min, until: .max), of: alice.chain)
        }
    }

    @Test func aForeignKeyIsRefused() throws {
        let bob = try Person(2)
        #expect(throws: TrustError.transientKeyNotOfIdentity) {
            try TransientKey(bob.transient.record.bytes, of: alice.chain)
        }
        #expect(throws: TrustError.transientKeyNotOfIdentity) { try Recipient(alice.chain, bob.transient) }
    }

    @Test func onlyTheCurrentIdentityKeySigns() throws {
        let old = alice.transient.record.bytes
        try alice.roll()
        #expect(throws: TrustError.transientKeyNotOfIdentity) { try TransientKey(old, of: alice.chain) }
        try alice.revoke()
        #expect(throws: TrustError.identityRevoked) {
            try TransientKey(alice.transient.record.bytes, of: alice.chain)
        }
    }

    @Test func weakKeysAreRefused() throws {
        for weak in WeakKeys.all {
            let bytes = try key(from: now, until: now + day, agreement: AgreementPublicKey(weak))
            #expect(throws: TrustError.crypto(.weakPublicKey)) { try TransientKey(bytes, of: alice.chain) }
        }
    }

    @Test func everyFlippedByteAndEveryOtherLengthIsRefused() throws {
        let bytes = alice.transient.record.bytes
        #expect(bytes.count == TransientKeyRecord.byteCount)
        for offset in bytes.indices {
            var changed = bytes
            changed[offset] ^= 4
            #expect(throws: TrustError.self, "byte \(offset)") { try TransientKey(changed, of: alice.chain) }
            #expect(throws: TrustError.self) { try TransientKey(Array(bytes[..<offset]), of: alice.chain) }
        }
        #expect(throws: TrustError.format(.trailingBytes)) { try TransientKey(bytes + [0], of: alice.chain) }
    }

    @Test func wrapsUseTheNewestValidKey() throws {
        try alice.rollTransient(at: now + 20 * day)
        try alice.rollTransient(at: now + 40 * day)
        let keys = alice.transients.map(\.key)
        #expect(TransientKey.choice(from: keys, at: now) == keys[0])
        #expect(TransientKey.choice(from: keys, at: now + 25 * day) == keys[1])
        // Expired keys are better than none.
        #expect(TransientKey.choice(from: keys, at: now + 200 * day) == keys[2])
        #expect(TransientKey.choice(from: keys, at: now - 2 * day) == nil)
        #expect(TransientKey.choice(from: [], at: now) == nil)
    }

    @Test func anOldKeyIsKeptForWrapsThatWait() throws {
        let old = alice.transient
        try alice.rollTransient(at: now + 25 * day)
        let newest = alice.transient
        let end = now + 60 * day
        #expect(!old.mayBeDestroyed(at: end - 1, newest: newest, pending: []))
        #expect(old.mayBeDestroyed(at: end, newest: newest, pending: []))
        #expect(!old.mayBeDestroyed(at: end, newest: newest, pending: [old.record.id]))
        #expect(!old.mayBeDestroyed(at: end, newest: old, pending: []))
    }
}
