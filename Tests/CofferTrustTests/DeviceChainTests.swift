import CofferCrypto
import CofferFormat
import Testing

import CofferTrust

@Suite struct DeviceChainTests {
    private let user = UserID(low: 5, high: 6)
    private let people: [Person]
    private let ids = (1...4).map { DeviceID(low: $0, high: 0) }

    init() throws {
        people = try (1...4).map { try Person($0) }
    }

    /// The operation that adds the device of a number, with the keys of the person of that number.
    private func adding(_ number: Int) throws -> DeviceOperation {
        try DeviceOperation.adding(
            ids[number], signing: people[number].pair.key, agreement: people[number].agreement[0].publicKey,
            name: "laptop \(number)", model: "ThinkPad", to: user)
    }

    private func founded() throws -> DeviceChain {
        var chain = DeviceChain(id: ChainID(user))
        try chain.append(try chain.link(try adding(0), at: now, by: people[0].pair.key))
        return chain
    }

    private func append(_ operation: DeviceOperation, by number: Int, to chain: inout DeviceChain) throws {
        try chain.append(
            try forged(operation, chain: chain.id, after: chain.head, by: people[number].pair.key))
    }

    @Test func trustedDevicesAddAndRevokeOthers() throws {
        var chain = try founded()
        try append(try adding(1), by: 0, to: &chain)
        try append(try adding(2), by: 1, to: &chain)
        try append(.revokeDevice(ids[0]), by: 2, to: &chain)
        #expect(Set(chain.state.devices.keys) == [ids[1], ids[2]])
        #expect(chain.state.revoked == [ids[0]])
        #expect(chain.state.devices[ids[1]]?.name == "laptop 1")
    }

    @Test func anUntrustedDeviceAddsNothing() throws {
        var chain = try founded()
        #expect(throws: TrustError.signerNotTrusted) { try append(try adding(1), by: 1, to: &chain) }
        try append(try adding(1), by: 0, to: &chain)
        try append(.revokeDevice(ids[1]), by: 1, to: &chain)
        #expect(throws: TrustError.signerNotTrusted) { try append(try adding(2), by: 1, to: &chain) }
        #expect(throws: TrustError.signerNotTrusted) { try append(.revokeDevice(ids[0]), by: 1, to: &chain) }
    }

    @Test func theFirstDeviceSignsForItself() throws {
        var chain = DeviceChain(id: ChainID(user))
        #expect(throws: TrustError.signerNotTrusted) { try append(try adding(0), by: 1, to: &chain) }
        #expect(throws: TrustError.wrongPlace) { try append(.revokeDevice(ids[0]), by: 0, to: &chain) }
    }

    @Test func noDeviceComesBack() throws {
        var chain = try founded()
        try append(try adding(1), by: 0, to: &chain)
        #expect(throws: TrustError.usedBefore) { try append(try adding(1), by: 0, to: &chain) }
        try append(.revokeDevice(ids[1]), by: 0, to: &chain)
        #expect(throws: TrustError.usedBefore) { try append(try adding(1), by: 0, to: &chain) }
        // Nor its key under another id.
        let again = try DeviceOperation.adding(
            ids[2], signing: people[1].pair.key, agreement: people[1].agreement[0].publicKey, name: "x",
            model: "y", to: user)
        #expect(throws: TrustError.usedBefore) { try append(again, by: 0, to: &chain) }
    }

    @Test func theLastDeviceStays() throws {
        var chain = try founded()
        #expect(throws: TrustError.lastDevice) { try append(.revokeDevice(ids[0]), by: 0, to: &chain) }
        #expect(throws: TrustError.noSuchDevice) { try append(.revokeDevice(ids[1]), by: 0, to: &chain) }
    }

    @Test func aKeyThatTheDeviceDoesNotHaveIsRefused() throws {
        var chain = try founded()
        guard case .addDevice(let device, _) = try adding(1) else {
            Issue.record("not the addition of a device")
            return
        }
        let stolen = DeviceOperation.addDevice(
            device,
            possession: people[0].pair.key.sign(device.possessed(in: chain.id), for: .deviceKeys))
        #expect(throws: TrustError.wrongSignature(.deviceKeys)) { try append(stolen, by: 0, to: &chain) }
        // A device's signature for one user does not count for another.
        let elsewhere = DeviceOperation.addDevice(
            device,
            possession: people[1].pair.key.sign(
                device.possessed(in: ChainID(UserID(low: 9, high: 9))), for: .deviceKeys))
        #expect(throws: TrustError.wrongSignature(.deviceKeys)) { try append(elsewhere, by: 0, to: &chain) }
    }

    @Test func aWeakAgreementKeyIsRefused() throws {
        var chain = try founded()
        let operation = try DeviceOperation.adding(
            ids[1], signing: people[1].pair.key, agreement: .zero, name: "x", model: "y", to: user)
        #expect(throws: TrustError.crypto(.weakPublicKey)) { try append(operation, by: 0, to: &chain) }
    }

    @Test(arguments: ["", "a\nb", "\u{1B}[2J", "a\u{202E}b", String(repeating: "x", count: 256)])
    func namesThatCouldFoolAReaderAreRefused(name: String) throws {
        #expect(throws: TrustError.format(.invalid(field: "name of the device"))) {
            try DeviceOperation.adding(
                ids[1], signing: people[1].pair.key, agreement: people[1].agreement[0].publicKey, name: name,
                model: "y", to: user)
        }
        let device = DeviceOperation.Device(
            id: ids[1], signing: SigningPublicKey(people[1].pair.key.publicKey),
            agreement: people[1].agreement[0].publicKey, name: name, model: "y")
        let body = DeviceOperation.addDevice(device, possession: [UInt8](repeating: 0, count: 64)).body
        #expect(throws: FormatError.invalid(field: "name of the device")) {
            try DeviceOperation(code: 1, body: body.span.bytes)
        }
    }
}
