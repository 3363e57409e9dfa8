import CofferCrypto
import CofferFormat

@testable import CofferClient
@testable import CofferTrust

// What the other side of a pairing sends.
extension Decoder {
    static let pairing = Decoder(name: "pairing", byteCountMax: 4096) {
        let bytes = [UInt8](repeating: 7, count: 32)
        let user = UserID(low: 1, high: 2)
        let keys = DeviceKeys(label: "laptop")
        let operation = try keys.addition(to: user)
        guard case .addDevice(let device, let possession) = operation else { return [] }
        let messages: [PairingMessage] = [
            .commitment(bytes), .nonce(bytes), .reveal(bytes),
            .acceptance(PairingAcceptance(challenge: bytes, user: user, name: "Alice")),
            .request(.new(device, possession: possession, signature: bytes + bytes)),
            .request(.known(keys.id, signature: bytes + bytes)),
            .transfer(byteCount: 9, signature: bytes + bytes), .done, .refusal(.codesDiffer),
        ]
        return try messages.map(\.bytes) + [bundle(keys)]
    } run: { bytes in
        if let message = try? PairingMessage(bytes.span.bytes) {
            if case .refusal = message { return .taken }
            try expect(message.bytes == bytes, "a message has two encodings")
            return .taken
        }
        guard let bundle = try? PairingBundle(bytes.span.bytes) else { return .refused }
        func array(_ bundle: PairingBundle) -> [UInt8] {
            let encoded = bundle.encoded()
            return encoded.withBytes { bytes in bytes.withUnsafeBytes { Array($0) } }
        }
        let encoded = array(bundle)
        guard let again = try? PairingBundle(encoded.span.bytes) else {
            throw Violation("a bundle that was read cannot be read again")
        }
        try expect(array(again) == encoded, "a bundle has two encodings")
        return .taken
    }

    private static func bundle(_ keys: DeviceKeys) throws -> [UInt8] {
        let identity = IdentityKeys(name: "Alice")
        let known = try PublicIdentity(founding: identity, at: 1_800_000_000_000_000_000)
        var chain = DeviceChain(id: known.chain.id)
        try chain.append(try chain.link(try keys.addition(to: known.user), at: 1, by: keys.signing))
        var bundle = PairingBundle(
            identity: identity, publicIdentity: known.forSeveralDevices(), devices: chain)
        bundle.verified = [.zero]
        let vault = VaultID(low: 3, high: 4)
        let row = KeptRow(KeptRow.Key(.memberLink, number: 0), [1, 2, 3])
        bundle.vaults = [
            PairingBundle.Vault(
                id: vault, name: "Work", url: "file:///nas", isForReading: true,
                keys: [EpochKey(vault: vault, epoch: .first, key: .random())], lost: [], links: [row])
        ]
        let encoded = bundle.encoded()
        return encoded.withBytes { bytes in bytes.withUnsafeBytes { Array($0) } }
    }
}
