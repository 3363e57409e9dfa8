import CofferCrypto
import CofferFormat
import CofferTestSupport

@testable import CofferTrust

/// The records of Vectors/, recomputed from fixed keys: each has a name, and fields as text.
struct VectorRecords {
    /// The fields of a file: text, or a list of texts.
    typealias Fields = [String: Any]

    private let alice: Person
    private let bob: Person
    private let vault = VaultID(low: 0x0706_0504_0302_0100, high: 0x0F0E_0D0C_0B0A_0908)
    private let key: EpochKey
    private let next: EpochKey

    init() throws {
        alice = try Person(1)
        bob = try Person(2)
        key = Self.key(vault, 1, 0x40)
        next = Self.key(vault, 2, 0x60)
    }

    /// Every file, by name.
    func all() throws -> [String: Fields] {
        [
            "identity-chain": try identityChain(), "device-chain": try deviceChain(),
            "transient-key": transientKey(), "epoch-keys": epochKeys(), "wrap-set": try wrapSet(),
            "member-chain": try memberChain(), "invite": try invite(), "identity-card": try card(),
            "kept-history": try keptHistory(),
        ]
    }

    private static func key(_ vault: VaultID, _ epoch: UInt32, _ first: UInt8) -> EpochKey {
        let bytes = (0..<32).map { first + UInt8($0) }
        return EpochKey(
            vault: vault, epoch: Epoch(epoch), key: SymmetricKey(secretBytes(bytes)))
    }

    private func nonce(_ first: UInt8) -> Nonce {
        let bytes = (0..<24).map { first + UInt8($0) }
        return Nonce(bytes.span.bytes, at: 0)
    }

    private func links(_ chain: TrustChain<some Ledger>) -> [String] {
        chain.links.map { hexadecimal($0.bytes) }
    }

    // MARK: Chains

    private func identityChain() throws -> Fields {
        let carol = try Person(3)
        try carol.roll()
        try carol.revoke()
        return [
            "about":
                "InitialKeys, RollKeys, Revoke; signed by seed 1, 1, 2, the new key of RollKeys by seed 2",
            "signing seeds": carol.signing.map { digits($0.key.seed) },
            "agreement secrets": carol.agreement.map { digits($0.key.secretKey) },
            "user": hexadecimal(carol.user.bytes), "links": links(carol.chain),
            "identity": hexadecimal(carol.id.bytes), "fingerprint": Fingerprint(of: carol.id).description,
        ]
    }

    private func deviceChain() throws -> Fields {
        var chain = DeviceChain(id: ChainID(alice.user))
        for (number, person) in [alice, bob].enumerated() {
            let operation = try DeviceOperation.adding(
                DeviceID(low: UInt64(number), high: 1), signing: person.pair.key,
                agreement: person.agreement[0].publicKey, name: "Laptop \(number)", model: "Ä 1",
                to: alice.user)
            try chain.append(try chain.link(operation, at: now, by: alice.pair.key))
        }
        let revoke = DeviceOperation.revokeDevice(DeviceID(low: 0, high: 1))
        try chain.append(try chain.link(revoke, at: now, by: bob.pair.key))
        return [
            "about": "AddDevice by itself, AddDevice by the first, RevokeDevice of the first by the second",
            "signing seeds": [alice, bob].map { digits($0.pair.key.seed) }, "links": links(chain),
        ]
    }

    private func memberChain() throws -> Fields {
        let people = [alice, bob]
        var chain = MemberChain(id: ChainID(vault))
        let bounds = try LogBounds([bound(2, 5), bound(1, 6)])
        let start = MemberOperation.EpochStart(
            epoch: Epoch(2), commitment: next.commitment,
            sealedPrevious: next.seal(previous: key, nonce: nonce(0x80)), wraps: filled(0x22))
        let later = MemberOperation.EpochStart(
            epoch: Epoch(3), commitment: filled(0x33),
            sealedPrevious: [UInt8](repeating: 0x34, count: 72), wraps: filled(0x35))
        let root = try alice.chain.head.orThrow()
        let first = try bob.chain.head.orThrow()
        try bob.roll()
        let rolled = try bob.chain.head.orThrow()
        let operations: [(MemberOperation, Person.SigningPair)] = [
            (
                .createVault(
                    creator: alice.id, head: root, commitment: key.commitment, wraps: filled(0x11)),
                alice.pair
            ),
            (
                .addMember(
                    bob.id, head: first, role: .writer, invite: InviteID(low: 9, high: 8),
                    wraps: filled(0x12)),
                alice.pair
            ),
            (.changeRole(bob.id, role: .reader, bounds: bounds), alice.pair),
            (.memberKeysRolled(bob.id, head: rolled, bounds: bounds), bob.pair),
            (.rotateKey(start: start), alice.pair),
            (.restoreFromBackup(bounds: bounds), alice.pair),
            (.removeMember(bob.id, start: later, bounds: .none), alice.pair),
            (.addMember(bob.id, head: rolled, role: .owner, invite: nil, wraps: filled(0x13)), alice.pair),
            (.leave(successor: nil, bounds: bounds), alice.pair),
        ]
        for (operation, signer) in operations {
            try chain.append(
                try chain.link(operation, at: now, by: signer.key, knowing: people.known),
                knowing: people.known)
        }
        return [
            "about": "every operation of a member chain, in the order of operation codes 1 2 3 6 5 7 4 2 8",
            "vault": hexadecimal(vault.bytes), "links": links(chain),
            "identity chains": people.map { links($0.chain) },
        ]
    }

    private func keptHistory() throws -> Fields {
        var chain = MemberChain(id: ChainID(vault))
        let root = try alice.chain.head.orThrow()
        let people = [alice]
        for operation in [
            MemberOperation.createVault(
                creator: alice.id, head: root, commitment: key.commitment, wraps: filled(0x11)),
            .keepHistory(seconds: 1_209_600), .keepHistory(seconds: -1), .keepHistory(seconds: 0),
        ] {
            try chain.append(
                try chain.link(operation, at: now, by: alice.pair.key, knowing: people.known),
                knowing: people.known)
        }
        return [
            "about": "CreateVault, then KeepHistory for two weeks, for ever, and for no time",
            "vault": hexadecimal(vault.bytes), "links": links(chain),
            "identity chains": people.map { links($0.chain) },
        ]
    }

    private func filled<Kind>(_ byte: UInt8) -> Bytes32<Kind> {
        Bytes32([UInt8](repeating: byte, count: 32))
    }

    // MARK: Keys

    private func transientKey() -> Fields {
        [
            "about": "signed by the first signing seed",
            "signing seed": digits(alice.signing[0].key.seed), "identity": hexadecimal(alice.id.bytes),
            "identity chain": links(alice.chain), "record": hexadecimal(alice.transient.record.bytes),
        ]
    }

    private func epochKeys() -> Fields {
        [
            "about": "subkeys of an epoch's key; the key of epoch 1 sealed under that of epoch 2",
            "vault": hexadecimal(vault.bytes), "key of epoch 1": digits(key.key.bytes),
            "key of epoch 2": digits(next.key.bytes),
            "commitment of epoch 1": hexadecimal(key.commitment.bytes),
            "content key of epoch 1": digits(key.subkey(ContentRole.self).bytes),
            "metadata key of epoch 1": digits(key.subkey(MetadataRole.self).bytes),
            "log key of epoch 1": digits(key.subkey(LogRole.self).bytes),
            "sealed previous": hexadecimal(next.seal(previous: key, nonce: nonce(0x80))),
        ]
    }

    private func wrapSet() throws -> Fields {
        let ephemeral = Person.AgreementPair((0..<32).map { 0xA0 + UInt8($0) })
        let wraps = try [alice, bob].map { person in
            try KeyWrap.seal(key, for: person.recipient, ephemeral: ephemeral.key, nonce: nonce(0xC0))
        }
        let set = try WrapSet.signing(wraps, vault: vault, epoch: .first, by: alice.pair.key)
        return [
            "about": "two wraps of suite 1; one fresh key for both, which only a test may do",
            "signing seed": digits(alice.pair.key.seed), "vault": hexadecimal(vault.bytes),
            "key": digits(key.key.bytes), "fresh secret": digits(ephemeral.key.secretKey),
            "identities": [alice, bob].map { hexadecimal($0.id.bytes) },
            "identity secrets": [alice, bob].map { digits($0.agreement[0].key.secretKey) },
            "transient secrets": [alice, bob].map { digits($0.transients[0].pair.key.secretKey) },
            "wraps": wraps.map { hexadecimal($0.sealed) }, "record": hexadecimal(set.record.bytes),
            "hash": hexadecimal(set.hash.bytes),
        ]
    }

    // MARK: Joining

    private func card() throws -> Fields {
        let card = try alice.card("Älice")
        return [
            "about": "an identity card, as bytes and as text", "name": "Älice",
            "signing seed": digits(alice.pair.key.seed), "record": hexadecimal(card.bytes),
            "text": card.text,
        ]
    }

    private func invite() throws -> Fields {
        let bytes = (0..<32).map { 0x10 + UInt8($0) }
        let invite = try Invite(
            vault: vault, root: filled(0x77), secret: SymmetricKey(secretBytes(bytes)),
            role: .writer, expires: now, url: "s3://bucket.example/team")
        let request = try invite.request(
            by: try alice.card("Älice"), signing: alice.pair.key, nonce: nonce(1))
        return [
            "about": "an invite, and a join request that its secret opens", "text": invite.text,
            "secret": hexadecimal(bytes), "vault": hexadecimal(vault.bytes),
            "root": hexadecimal(invite.root.bytes), "expires": "\(now)", "role": "writer",
            "url": invite.url, "id": hexadecimal(invite.id.bytes),
            "request key": digits(invite.requestKey.bytes), "request": hexadecimal(request),
            "card": hexadecimal(try alice.card("Älice").bytes),
        ]
    }
}
