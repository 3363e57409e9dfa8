import CofferCrypto
import CofferFormat
import Testing

@testable import CofferTrust

@Suite struct KeyringTests {
    private let alice: Person
    private let bob: Person
    private let vault: SharedVault

    init() throws {
        alice = try Person(1)
        bob = try Person(2)
        vault = try SharedVault(owner: alice)
        try vault.add(bob, .writer, by: alice)
    }

    @Test func oneWrapOpensAllHistory() throws {
        for _ in 0..<5 { try vault.rotate(by: alice) }
        let carol = try Person(3)
        try vault.add(carol, .reader, by: alice)
        for person in [alice, bob, carol] {
            let keyring = try vault.opened(by: person)
            #expect(keyring.all.map(\.epoch.number) == [1, 2, 3, 4, 5, 6])
            #expect(zip(keyring.all, vault.keyring.all).allSatisfy { $0.isEqual(to: $1) })
        }
        #expect(vault.keyring[Epoch(7)] == nil)
    }

    @Test func aKeyThatTheLinkDoesNotCommitToIsRefused() throws {
        try vault.rotate(by: alice)
        let false2 = EpochKey(vault: vault.id, epoch: Epoch(2), key: .random())
        #expect(throws: TrustError.wrongKey(Epoch(2))) { try Keyring(opening: false2, of: vault.chain) }
        let unborn = EpochKey(vault: vault.id, epoch: Epoch(3), key: .random())
        #expect(throws: TrustError.wrongKey(Epoch(3))) { try Keyring(opening: unborn, of: vault.chain) }
        let elsewhere = EpochKey(vault: VaultID(low: 0, high: 1), epoch: Epoch(2), key: .random())
        #expect(throws: TrustError.otherChain) { try Keyring(opening: elsewhere, of: vault.chain) }
    }

    /// An admin seals something else in place of the previous key: devices that have the key keep it, others notice.
    @Test func aFalsePreviousKeyIsNoticed() throws {
        let next = EpochKey(vault: vault.id, epoch: Epoch(2), key: .random())
        let lie = EpochKey(vault: vault.id, epoch: .first, key: .random())
        let start = MemberOperation.EpochStart(
            epoch: Epoch(2), commitment: next.commitment, sealedPrevious: next.seal(previous: lie),
            wraps: .zero)
        try vault.take(.rotateKey(start: start), by: alice)
        #expect(throws: TrustError.wrongKey(.first)) { try Keyring(opening: next, of: vault.chain) }
        let kept = try Keyring(opening: next, of: vault.chain, known: vault.keyring)
        #expect(kept[.first]?.isEqual(to: vault.keyring.current) == true)
        #expect(kept.current.isEqual(to: next))
    }

    @Test func aKeyIsBoundToVaultAndEpoch() throws {
        let bytes = [UInt8](repeating: 5, count: 32)
        func key(_ vault: UInt64, _ epoch: UInt32) -> EpochKey {
            EpochKey(
                vault: VaultID(low: vault, high: 0), epoch: Epoch(epoch),
                key: SymmetricKey(secretBytes(bytes)))
        }
        let commitments = Set([key(1, 1), key(1, 2), key(2, 1)].map(\.commitment))
        #expect(commitments.count == 3)
        #expect(!key(1, 1).isEqual(to: key(1, 2)))
        let sealed = key(1, 2).seal(previous: key(1, 1))
        #expect(sealed.count == MemberOperation.EpochStart.sealedKeyByteCount)
        #expect(try key(1, 2).open(previous: sealed).isEqual(to: key(1, 1)))
        #expect(throws: CryptoError.authenticationFailed) { try key(1, 3).open(previous: sealed) }
        #expect(throws: CryptoError.authenticationFailed) { try key(2, 2).open(previous: sealed) }
    }

    /// Shared vaults derive the same keys as local ones (docs/format.md, "Key derivation").
    @Test func contentKeysEqualThoseOfLocalVaults() throws {
        let id = VaultID(low: 0x2726_2524_2322_2120, high: 0x2F2E_2D2C_2B2A_2928)
        let bytes = (0..<32).map { UInt8($0) }
        let key = EpochKey(
            vault: id, epoch: .first, key: SymmetricKey(secretBytes(bytes)))
        #expect(
            digits(key.subkey(ContentRole.self).bytes)
                == "ea45dd340c357ce906d8d4734c9da24a659d66b728f7a532dbfa20cb09a91aa7")
    }
}
