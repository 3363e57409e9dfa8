import CofferCrypto
import CofferSystem
import Testing

@Suite struct KeyDerivationTests {
    let parent = pattern(32, 51)

    private func derive<Role: KeyRole>(
        _ role: Role.Type, _ context: [UInt8], from parent: [UInt8]
    ) -> [UInt8] {
        key(parent, ProfileRole.self).derive(role, context: context.span.bytes).bytes.array
    }

    /// All roles of SymmetricKey.swift, derived from one parent.
    private func deriveAll(_ context: [UInt8]) -> [(purpose: String, key: [UInt8])] {
        func one<Role: KeyRole>(_ role: Role.Type) -> (String, [UInt8]) {
            (role.purpose, derive(role, context, from: parent))
        }
        return [
            one(UnlockRole.self), one(VerifierRole.self), one(HintRole.self), one(ProfileWrapRole.self),
            one(ProfileRole.self), one(ProfileBodyRole.self), one(StoreRole.self), one(IndexPageRole.self),
            one(RowDigestRole.self), one(IntentRole.self), one(VaultRole.self), one(ContentRole.self),
            one(ItemRole.self), one(ContentPageRole.self), one(RecoveryRole.self),
            one(RecoveryChecksumRole.self), one(RecoveryIDRole.self), one(RecoveryWrapRole.self),
            one(BackupBodyRole.self),
        ]
    }

    /// Keyed BLAKE2b-256 of "coffer/1/" ‖ purpose ‖ 0x00 ‖ context, computed by the reference.
    @Test(arguments: [0, 1, 16, 32, 40, 104, 105, 128, 300])
    func documentedInput(contextCount: Int) {
        let context = pattern(contextCount, 52)
        for (purpose, key) in deriveAll(context) {
            let input = Array("coffer/1/".utf8) + Array(purpose.utf8) + [0] + context
            #expect(key == ReferenceBlake2b.hash(input, key: parent, byteCount: 32), "\(purpose)")
        }
    }

    /// A fixed answer, so that no change of the input or of a purpose goes unnoticed.
    @Test func fixedAnswer() throws {
        let key = derive(ItemRole.self, Array("context".utf8), from: Array(0..<32))
        #expect(key == (try Hex.bytes(Self.itemKey)))
    }

    // python3: hashlib.blake2b(b"coffer/1/item\0context", key=bytes(range(32)), digest_size=32).hexdigest()
    static let itemKey = "e569fc61b71e77d3a878a1a20ec126325fc566337cbc1c8217b5bf165ea2f825"

    @Test func rolesDiffer() {
        let derived = deriveAll(pattern(16, 53))
        #expect(Set(derived.map(\.purpose)).count == derived.count)
        #expect(Set(derived.map(\.key)).count == derived.count)
    }

    /// No purpose contains the byte that ends it, hence no two inputs are the same.
    @Test func purposesHaveNoZeroByte() {
        for (purpose, _) in deriveAll([]) {
            #expect(!purpose.isEmpty && !purpose.utf8.contains(0))
        }
    }

    @Test func contextsDiffer() {
        let context = pattern(16, 54)
        var contexts = [[], context, context + [0], Array(context.dropLast()), [0], [0, 0]]
        for bit in 0..<128 {
            var other = context
            other[bit / 8] ^= 1 << (bit % 8)
            contexts.append(other)
        }
        let derived = Set(contexts.map { derive(ItemRole.self, $0, from: parent) })
        #expect(derived.count == contexts.count)
    }

    @Test func parentsDiffer() {
        let derived = Set((0..<100).map { derive(ItemRole.self, [1], from: pattern(32, UInt64($0))) })
        #expect(derived.count == 100)
    }

    @Test func sameInputSameKey() {
        #expect(derive(ItemRole.self, [1, 2], from: parent) == derive(ItemRole.self, [1, 2], from: parent))
    }

    @Test func duplicateIsEqualAndRandomIsNot() {
        let first = SymmetricKey<ItemRole>.random()
        let second = first.duplicate()
        let third = SymmetricKey<ItemRole>.random()
        let same = first.bytes.isEqual(to: second.bytes)
        let other = first.bytes.isEqual(to: third.bytes)
        #expect(same && !other)
        #expect(SymmetricKey<ItemRole>.byteCount == 32)
    }

    /// A discarded key becomes zeros.
    @Test func forgetting() {
        var key = SymmetricKey<ItemRole>.random()
        key.forget()
        #expect(key.bytes.withBytes { $0.array } == [UInt8](repeating: 0, count: 32))
    }
}
