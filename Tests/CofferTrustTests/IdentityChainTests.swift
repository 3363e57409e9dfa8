import CofferCrypto
import CofferFormat
import Testing

import CofferTrust

@Suite struct IdentityChainTests {
    private let alice: Person
    private let bob: Person

    init() throws {
        alice = try Person(1)
        bob = try Person(2)
    }

    private func append(_ operation: IdentityOperation, by key: Person.SigningPair) throws {
        var chain = alice.chain
        try chain.append(try forged(operation, chain: chain.id, after: chain.head, by: key.key))
    }

    private func keys(_ person: Person) -> IdentityPublicKeys {
        IdentityPublicKeys(
            signing: SigningPublicKey(person.pair.key.publicKey),
            agreement: person.agreement[person.agreement.count - 1].publicKey)
    }

    private func roll(to person: Person, signedBy signer: Person) throws -> IdentityOperation {
        let head = try alice.chain.head.orThrow()
        let possessed = IdentityOperation.possessed(keys(person), in: alice.chain.id, after: head)
        return .rollKeys(
            keys(person), possession: signer.pair.key.sign(possessed, for: .identityKeys))
    }

    @Test func theIdentityIsLinkZeroAndStays() throws {
        let id = alice.id
        #expect(id.bytes == alice.chain.links[0].hash.bytes)
        try alice.roll()
        #expect(alice.id == id)
        #expect(alice.chain.state.current == keys(alice))
    }

    @Test func keysRollByTheCurrentKeyAlone() throws {
        try append(try roll(to: bob, signedBy: bob), by: alice.pair)
        #expect(throws: TrustError.signerNotTrusted) {
            try append(try roll(to: bob, signedBy: bob), by: bob.pair)
        }
        let old = alice.pair
        try alice.roll()
        #expect(throws: TrustError.signerNotTrusted) { try append(.revoke, by: old) }
    }

    @Test func nobodyCanClaimAnothersKey() throws {
        #expect(throws: TrustError.wrongSignature(.identityKeys)) {
            try append(try roll(to: bob, signedBy: alice), by: alice.pair)
        }
        // A new key's signature for one place does not count for another.
        let early = try roll(to: bob, signedBy: bob)
        try alice.roll()
        #expect(throws: TrustError.wrongSignature(.identityKeys)) { try append(early, by: alice.pair) }
    }

    @Test func noKeyComesBack() throws {
        #expect(throws: TrustError.usedBefore) {
            try append(try roll(to: alice, signedBy: alice), by: alice.pair)
        }
    }

    @Test func nothingFollowsRevoke() throws {
        try alice.revoke()
        #expect(alice.chain.state.isRevoked)
        #expect(alice.chain.state.current == nil)
        #expect(throws: TrustError.identityRevoked) { try append(.revoke, by: alice.pair) }
        #expect(throws: TrustError.identityRevoked) { try alice.roll() }
    }

    @Test func initialKeysAreLinkZeroAndNothingElseIs() throws {
        #expect(throws: TrustError.wrongPlace) { try append(.initialKeys(keys(bob)), by: alice.pair) }
        var empty = IdentityChain(id: ChainID(alice.user))
        let revoke = try forged(IdentityOperation.revoke, chain: empty.id, after: nil, by: alice.pair.key)
        #expect(throws: TrustError.wrongPlace) { try empty.append(revoke) }
        let foreign = try forged(
            IdentityOperation.initialKeys(keys(bob)), chain: empty.id, after: nil, by: alice.pair.key)
        #expect(throws: TrustError.signerNotTrusted) { try empty.append(foreign) }
        #expect(empty.identity == nil)
        #expect(!empty.state.isRevoked)
    }

    /// All seven points of low order that RFC 7748 implementations must detect, and 0 itself.
    @Test func weakAgreementKeysAreRefused() throws {
        for agreement in WeakKeys.all {
            #expect(throws: TrustError.crypto(.weakPublicKey)) {
                try IdentityChain.founded(
                    alice.user, signing: alice.pair.key, agreement: AgreementPublicKey(agreement), at: now)
            }
        }
    }

    @Test func theLongerChainIsKept() throws {
        let short = alice.chain
        try alice.roll()
        var known = KnownIdentities([short, alice.chain, short])
        #expect(known[alice.id]?.links.count == 2)
        let isTaken = known.add(short)
        #expect(isTaken)
        #expect(known[alice.id]?.links.count == 2)
        #expect(known[bob.id] == nil)
    }

    /// A thief with the first key makes a longer chain: it does not replace the known one.
    @Test func aForkDoesNotTakeThePlaceOfWhatIsKnown() throws {
        let thief = try Person(1)
        try alice.roll()
        try thief.revoke()
        var longer = thief.chain
        var known = KnownIdentities([alice.chain])
        let isForkTaken = known.add(longer)
        #expect(!isForkTaken)
        #expect(known[alice.id]?.head == alice.chain.head)
        longer = alice.chain
        try longer.append(try longer.link(.revoke, at: now, by: alice.pair.key))
        let isTaken = known.add(longer)
        #expect(isTaken)
        #expect(known[alice.id]?.state.isRevoked == true)
    }
}

/// X25519 public keys with which every shared secret is zero.
enum WeakKeys {
    static let all: [[UInt8]] = [
        little([0]), little([1]),
        hex("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"),
        hex("5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157"),
        hex("ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"),
        hex("edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"),
        hex("eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"),
    ]

    private static func little(_ low: [UInt8]) -> [UInt8] {
        low + [UInt8](repeating: 0, count: 32 - low.count)
    }
}

/// Bytes of lower-case hexadecimal digits.
func hex(_ text: String) -> [UInt8] {
    let digits = text.compactMap(\.hexDigitValue)
    return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] * 16 + digits[$0 + 1]) }
}

/// Lower-case hexadecimal digits.
func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
    let digits = Array("0123456789abcdef")
    return String(bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
}
