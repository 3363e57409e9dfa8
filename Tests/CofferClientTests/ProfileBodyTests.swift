import CofferCrypto
import CofferFormat
import CofferSystem
import CofferTrust
import Synchronization
import Testing

@testable import CofferClient

/// The records of shared vaults in a profile, as bytes.
@Suite struct ProfileBodyTests {
    private static let vault = VaultID(low: 7, high: 8)
    private static let log = LogID(low: 9, high: 10)
    private static let root = LinkHash([UInt8](repeating: 3, count: 32))

    private func invite(_ vault: VaultID = vault) throws -> Invite {
        try Invite(to: vault, root: Self.root, role: .writer, expires: 1 << 60, url: "file:///r")
    }

    /// A body with a record of each kind.
    private func sharing() throws -> ProfileBody {
        let keys = IdentityKeys(name: "Alice")
        var body = ProfileBody(identity: keys, device: DeviceKeys(label: "laptop"))
        body.publicIdentity = try PublicIdentity(founding: keys, at: 1_000)
        let key = EpochKey(vault: Self.vault, epoch: .first, key: .random())
        body.vaults = [VaultRecord(id: Self.vault, slot: 1, name: "v", keys: [key])]
        var share = VaultShare(vault: Self.vault, url: "file:///mnt/nas", log: Self.log)
        try share.invites.add(try invite())
        body.shares = [share]
        body.joins = [PendingJoin(try invite(VaultID(low: 1, high: 2)), name: "Ünï “x”")]
        let identity = body.publicIdentity
        body.verified = [try #require(identity).id]
        body.verifiedNames = [try #require(identity).id: "Ünï"]
        body.nextSlot = 2
        body.backup = BackupNote(of: BackupBody(of: body), made: 5)
        return body
    }

    /// What the last backup had, each vault once.
    @Test func aNoteOfABackup() throws {
        let body = try sharing()
        let bytes = body.encoded()
        let again = try ProfileBody(bytes.span.bytes)
        #expect(again.backup == body.backup && again.backup?.epochs == [Self.vault: .first])
        var writer = ByteWriter()
        writer.number(Int64(5))
        writer.number(UInt32(2))
        for _ in 1...2 {
            writer.identifier(Self.vault)
            writer.number(UInt32(1))
        }
        let twice = writer.finish()
        #expect(throws: FormatError.invalid(field: "vault of a backup")) {
            try BackupNote(twice.span.bytes)
        }
        #expect(throws: FormatError.self) { try BackupNote(Array(twice.dropLast()).span.bytes) }
    }

    @Test func allRecords() throws {
        let body = try sharing()
        let bytes = body.encoded()
        let read = try ProfileBody(bytes.span.bytes)
        let (share, kept) = (read.shares, body.shares)
        #expect(share.map(\.url) == ["file:///mnt/nas"] && share.map(\.log) == [Self.log])
        #expect(share[0].invites.all.count == 1)
        #expect(share[0].invites.all.map(\.text) == kept[0].invites.all.map(\.text))
        let (joins, keptJoins) = (read.joins, body.joins)
        #expect(joins.map(\.name) == ["Ünï “x”"] && joins.map(\.invite.text) == keptJoins.map(\.invite.text))
        let verified = (read.verified, body.verified)
        #expect(verified.0 == verified.1)
        let names = (read.verifiedNames, body.verifiedNames)
        #expect(names.0 == names.1 && names.0.count == 1)
        let identities = (body.publicIdentity, read.publicIdentity)
        let (old, new) = (try #require(identities.0), try #require(identities.1))
        #expect(new.id == old.id && new.user == old.user && new.transient.key == old.transient.key)
        let same =
            new.transient.agreement.secretKey.withBytes { $0.array }
            == old.transient.agreement.secretKey.withBytes { $0.array }
        #expect(same)
        let again = read.encoded()
        #expect(again == bytes)
    }

    /// Keys of lost sides of forks belong to the preceding vault, and are read back.
    @Test func lostKeys() throws {
        var body = try sharing()
        let lost = [2, 2, 3].map { EpochKey(vault: Self.vault, epoch: Epoch($0), key: .random()) }
        let keys = body.vaults[0].keys
        body.vaults[0] = body.vaults[0].with(keys, lost: lost).renamed(to: "w")
        let bytes = body.encoded()
        let read = try ProfileBody(bytes.span.bytes)
        let (found, kept) = (read.vaults[0].lost, read.vaults[0].keys)
        let isSame = zip(found, lost).allSatisfy { $0.isEqual(to: $1) }
        #expect(found.count == 3 && isSame && kept.count == 1)
        let again = read.encoded()
        #expect(again == bytes)
    }

    /// Many invites and many keys are read back, too: there is no fixed limit.
    @Test func manyOfAll() throws {
        var body = try sharing()
        for _ in 0..<40 { try body.shares[0].invites.add(try invite()) }
        let keys = (1...UInt32(200)).map { EpochKey(vault: Self.vault, epoch: Epoch($0), key: .random()) }
        body.vaults[0] = body.vaults[0].with(keys)
        let bytes = body.encoded()
        let read = try ProfileBody(bytes.span.bytes)
        let counts = (read.shares[0].invites.all.count, read.vaults[0].keys.count)
        #expect(counts.0 == 41 && counts.1 == 200)
    }

    @Test func everyLength() throws {
        let bytes = try sharing().encoded()
        var whole = 0
        for count in bytes.indices {
            let cut = Array(bytes.prefix(count))
            if (try? ProfileBody(cut.span.bytes)) != nil { whole += 1 }
        }
        // Between two records nothing tells that there were more; the seal does. One place for each record from the
        // third on: identity, device and next slot have to be there.
        #expect(whole == 6)
    }

    /// A damaged record is refused, or reads as another valid one; it never traps.
    @Test func everyByteFlipped() throws {
        let bytes = try sharing().encoded()
        var refused = 0
        for offset in bytes.indices {
            var flipped = bytes
            flipped[offset] ^= 0x80
            if (try? ProfileBody(flipped.span.bytes)) == nil { refused += 1 }
        }
        #expect(refused > bytes.count / 2)
    }

    @Test func identityOfOtherKeys() throws {
        let keys = IdentityKeys(name: "Alice")
        let identity = try PublicIdentity(founding: keys, at: 1_000)
        var writer = ByteWriter()
        identity.write(into: &writer)
        var bytes = writer.finish()
        // The last bytes are the private half of the last transient key.
        bytes[bytes.count - 10] ^= 1
        #expect(throws: FormatError.self) { _ = try PublicIdentity(bytes.span.bytes) }
    }

    @Test func twoSharesOfOneVault() throws {
        let body = try sharing()
        var both = try sharing()
        both.shares = [body.shares[0], VaultShare(vault: Self.vault, url: "", log: Self.log)]
        let bytes = both.encoded()
        #expect(throws: FormatError.self) { _ = try ProfileBody(bytes.span.bytes) }
    }

    @Test func unknownKind() throws {
        let bytes = try sharing().encoded() + [9, 0, 0, 0, 0, 0]
        #expect(throws: FormatError.self) { _ = try ProfileBody(bytes.span.bytes) }
    }

    /// A profile that never shared anything gets an identity when it is needed, and keeps it.
    @Test func identityIsMadeWhenNeeded() throws {
        let test = try TestProfile()
        let id: IdentityID
        do {
            let profile = try test.unlock()
            #expect(profile.state.withLock { $0.body.publicIdentity == nil })
            id = try profile.publicIdentity().id
            #expect(try profile.publicIdentity().id == id)
        }
        let again = try test.unlock()
        #expect(again.state.withLock { $0.body.publicIdentity?.id } == id)
        let card = try again.identityCard()
        #expect(card.identity.identity == id && card.name == "Alice")
    }
}

/// Transient keys are made, replaced and destroyed.
@Suite struct TransientKeyRollTests {
    private static let day: Int64 = 86_400_000_000_000
    private let keys = IdentityKeys(name: "Alice")

    @Test func aKeyIsFollowedInTime() throws {
        let first = try PublicIdentity(founding: keys, at: 0)
        #expect(try first.rolled(by: keys, at: 24 * Self.day) == nil)
        #expect(try first.rolled(by: keys, at: 25 * Self.day) == nil)
        let second = try #require(try first.rolled(by: keys, at: 25 * Self.day + 1))
        #expect(second.transients.count == 2 && second.transients[0] === first.transient)
        #expect(second.transient.key.record.from == 25 * Self.day + 1 && second.id == first.id)
        #expect(try second.rolled(by: keys, at: 26 * Self.day) == nil)
    }

    @Test func oldKeysAreDestroyedInTheEnd() throws {
        var identity = try PublicIdentity(founding: keys, at: 0)
        let first = identity.transient
        var gone: Int64?
        var most = 0
        for day in Int64(0)...400 {
            if let next = try identity.rolled(by: keys, at: day * Self.day) { identity = next }
            most = max(most, identity.transients.count)
            if gone == nil, !identity.transients.contains(where: { $0 === first }) { gone = day }
        }
        // 30 days of validity, 30 of grace.
        #expect(gone == 60)
        #expect(most <= 4)
    }

    /// A user who was away for long may find wraps for the old key.
    @Test func aKeyIsKeptAfterALongAbsence() throws {
        let first = try PublicIdentity(founding: keys, at: 0)
        let back = 200 * Self.day
        let second = try #require(try first.rolled(by: keys, at: back))
        #expect(second.transients.contains { $0 === first.transient } && second.transients.count == 2)
        #expect(try second.rolled(by: keys, at: back + 24 * Self.day) == nil)
        let third = try #require(try second.rolled(by: keys, at: back + 26 * Self.day))
        #expect(third.transients.contains { $0 === first.transient })
        let last = try #require(try third.rolled(by: keys, at: back + 30 * Self.day))
        #expect(!last.transients.contains { $0 === first.transient } && last.transients.count == 2)
    }

    /// A wrong clock does not make a new key for each call.
    @Test func aClockSetBack() throws {
        let first = try PublicIdentity(founding: keys, at: 100 * Self.day)
        let second = try #require(try first.rolled(by: keys, at: 10 * Self.day))
        #expect(second.transients.count == 2)
        #expect(try second.rolled(by: keys, at: 11 * Self.day) == nil)
    }

    /// A wrap for the transient key before the last is opened.
    @Test func wrapsOfOldKeysAreOpened() throws {
        let test = try TestProfile()
        let profile = try test.unlock()
        let identity = try profile.publicIdentity()
        let old = try profile.identityCard()
        let rolled = try #require(
            try identity.rolled(by: profile.identityKeys, at: identity.transient.key.record.until))
        try profile.change { state throws(ClientError) in state.body.publicIdentity = rolled }
        let key = EpochKey(vault: VaultID(low: 1, high: 2), epoch: .first, key: .random())
        var known = KnownIdentities()
        known.add(identity.chain)
        var chain = MemberChain(id: ChainID(key.vault))
        let link = try chain.creating(
            key, by: try old.recipient, signing: profile.identityKeys.signing, at: Clock.realTime,
            knowing: known)
        try chain.append(link.link, knowing: known)
        let opened = try profile.open(link.wraps, of: chain, known: nil)
        #expect(opened.current.isEqual(to: key))
        // Without the private half, nothing is opened.
        let other = try PublicIdentity(founding: profile.identityKeys, at: 1)
        try profile.change { state throws(ClientError) in state.body.publicIdentity = other }
        #expect(throws: TrustError.self) { _ = try profile.open(link.wraps, of: chain, known: nil) }
    }
}

/// Finds members by text.
@Suite struct MemberChoiceTests {
    private static func identity(_ digits: String) -> IdentityID {
        let text = digits + String(repeating: "0", count: 64 - digits.count)
        var bytes: [UInt8] = []
        var rest = text[...]
        while !rest.isEmpty {
            bytes.append(UInt8(rest.prefix(2), radix: 16) ?? 0)
            rest = rest.dropFirst(2)
        }
        return IdentityID(bytes)
    }

    private static let members: [(identity: IdentityID, name: String?)] = [
        (identity("abcd11"), "Alice"), (identity("abcd22"), "Bob"), (identity("ffff33"), "Bob"),
        (identity("eeee44"), "abcd11"), (identity("dddd55"), nil), (identity("cccc66"), "é"),
    ]

    @Test(arguments: [
        ("Alice", MemberChoice.one(0)), ("alice", .none), ("Bob", .several), ("abcd2", .one(1)),
        ("ABCD2", .one(1)),
        ("abcd", .several), ("abc", .none), ("", .none), ("dddd", .one(4)), ("é", .one(5)),
        ("e\u{301}", .none),
        // A member's name equals the beginning of another member's identity.
        ("abcd11", .several), ("abcd110", .one(0)), ("eeee", .one(3)),
    ])
    func choice(text: String, expected: MemberChoice) {
        #expect(MemberChoice(text, among: Self.members) == expected)
    }

    /// A whole id means exactly its member, whatever names others have.
    @Test func wholeIdentity() {
        let id = Self.identity("abcd11")
        let members = [(identity: Self.identity("99"), name: id.description as String?), (id, "Alice")]
        #expect(MemberChoice(id.description, among: members) == .one(1))
    }
}
