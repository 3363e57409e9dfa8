import CofferCrypto
import CofferFormat
import CofferTrust
import Testing

@testable import CofferClient

/// What a pairing transfers, and the seeds of transient keys.
@Suite struct BundleTests {
    private static let time: Int64 = 1_800_000_000_000_000_000

    private func bundle(
        identity: IdentityKeys = IdentityKeys(name: "Alice"), of other: IdentityKeys? = nil,
        user: UserID? = nil
    ) throws -> PairingBundle {
        let device = DeviceKeys(label: "laptop")
        let known = try PublicIdentity(founding: other ?? identity, at: Self.time)
        var chain = DeviceChain(id: ChainID(user ?? known.user))
        let operation = try device.addition(to: user ?? known.user)
        try chain.append(try chain.link(operation, at: 1, by: device.signing))
        let vault = VaultID(low: 3, high: 4)
        let keys = (1...3).map { EpochKey(vault: vault, epoch: Epoch($0), key: .random()) }
        var bundle = PairingBundle(
            identity: identity, publicIdentity: known.forSeveralDevices(), devices: chain)
        bundle.verified = [.zero]
        bundle.verifiedNames = [.zero: "Bob"]
        let rows = [
            KeptRow(KeptRow.Key(.memberLink, number: 7), [1, 2, 3]),
            KeptRow(KeptRow.Key(.identityLink, id: [UInt8](repeating: 9, count: 16), number: 0), [4]),
        ]
        bundle.vaults = [
            PairingBundle.Vault(
                id: vault, name: "Work", url: "file:///nas", isForReading: true, keys: keys,
                lost: [EpochKey(vault: vault, epoch: Epoch(2), key: .random())], links: rows)
        ]
        return bundle
    }

    private func bytes(_ bundle: PairingBundle) -> [UInt8] {
        bundle.encoded().withBytes { bytes in bytes.withUnsafeBytes { Array($0) } }
    }

    @Test func everythingArrives() throws {
        let sent = try bundle()
        let received = try PairingBundle(bytes(sent).span.bytes)
        #expect(received.identity.name == "Alice" && received.publicIdentity.isOf(sent.identity))
        #expect(received.publicIdentity.seed?.id == sent.publicIdentity.seed?.id)
        #expect(received.devices.links == sent.devices.links)
        #expect(received.verified == [.zero] && received.verifiedNames == [.zero: "Bob"])
        let vault = try #require(received.vaults.first)
        #expect(vault.name == "Work" && vault.url == "file:///nas" && vault.isForReading)
        #expect(vault.keys.map(\.epoch.number) == [1, 2, 3] && vault.lost.map(\.epoch.number) == [2])
        #expect(vault.links == sent.vaults[0].links)
        #expect(bytes(received) == bytes(sent))
    }

    @Test func whatDoesNotBelongTogetherIsRefused() throws {
        // Keys of another identity, and a device chain of another user.
        for wrong in [
            try bundle(of: IdentityKeys(name: "Mallory")), try bundle(user: UserID(low: 1, high: 2)),
        ] {
            #expect(throws: FormatError.invalid(field: "identity")) {
                try PairingBundle(bytes(wrong).span.bytes)
            }
        }
        // An epoch is missing.
        var gap = try bundle()
        let vault = gap.vaults[0]
        gap.vaults = [
            PairingBundle.Vault(
                id: vault.id, name: vault.name, url: vault.url, isForReading: false,
                keys: [vault.keys[0], vault.keys[2]], lost: [])
        ]
        #expect(throws: FormatError.invalid(field: "epoch")) { try PairingBundle(bytes(gap).span.bytes) }
        // A row of another kind, which only this device may write.
        var row = try bundle()
        row.vaults[0].links = [KeptRow(KeptRow.Key(.outgoing, number: 1), [1])]
        #expect(throws: FormatError.invalid(field: "link")) { try PairingBundle(bytes(row).span.bytes) }
    }

    @Test func noBeginningOfABundleIsABundle() throws {
        let whole = bytes(try bundle())
        for count in stride(from: 0, to: whole.count, by: 61) {
            let part = Array(whole.prefix(count))
            // Without its last records, what is left may be whole.
            guard let short = try? PairingBundle(part.span.bytes) else { continue }
            #expect(short.vaults.count <= 1)
        }
    }

    /// A record of a later version is skipped.
    @Test func unknownRecordsAreSkipped() throws {
        let whole = bytes(try bundle()) + [0, 3, 2, 0, 0, 0, 1, 2]
        #expect(try PairingBundle(whole.span.bytes).vaults.count == 1)
    }

    /// The values of docs/trust.md, "Test values".
    @Test func documentedSeeds() throws {
        let user = try #require(UserID(bytes: Array(0..<16)))
        let bytes = (0x60..<0x80).map { UInt8($0) }
        var cursor = ByteCursor()
        let seed = try TransientSeed(of: user, &cursor, from: bytes.span.bytes)
        func hexadecimal(_ bytes: [UInt8]) -> String { Bytes32<LinkHashKind>(bytes).description }
        #expect("\(seed.id)" == "0e921fb83947ec7325c77421c302a714")
        let secret = seed.agreement().secretKey.withBytes { bytes in bytes.withUnsafeBytes { Array($0) } }
        #expect(
            hexadecimal(secret)
                == "0d4e43d794ba08c3f1844e815441f48cf7488c303beb7fb29db50097904f23fb")
        var writer = ByteWriter()
        seed.following().write(into: &writer)
        #expect(
            hexadecimal(writer.finish())
                == "928ebe12e904ab2c9ef49092438c3377c83068124b5e0ccbe3b078569f95d0a1")
        #expect(seed.ahead(to: seed.following().following().id)?.id == seed.following().following().id)
        #expect(seed.following().ahead(to: seed.id) == nil, "seeds do not go back")
    }
}
