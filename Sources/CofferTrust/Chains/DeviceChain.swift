package import CofferCrypto
package import CofferFormat

/// The trusted devices of a person.
package typealias DeviceChain = TrustChain<DeviceLedger>

/// The state that results from a device chain.
///
/// Link 0 adds the device that signs it. After that, every trusted device may add and revoke devices,
/// including itself, except the last one.
package struct DeviceLedger: Ledger {
    /// A device that is or was trusted.
    package typealias Device = DeviceOperation.Device

    /// The devices that are trusted now, by id.
    package private(set) var devices: [DeviceID: Device] = [:]
    /// The devices that are no longer trusted.
    package private(set) var revoked: Set<DeviceID> = []
    /// All devices that are or were trusted, in the order in which they were added.
    package private(set) var added: [Added] = []

    /// A device, and when it was added.
    package struct Added: Equatable, Sendable {
        /// The device.
        package let device: Device
        /// The time by the clock of the device that added it, in nanoseconds since 1970.
        package let time: Int64
    }

    private let chain: ChainID
    private var usedKeys: Set<SigningPublicKey> = []

    /// The state before link 0.
    package init(chain: ChainID) {
        self.chain = chain
    }

    package mutating func apply(
        _ operation: DeviceOperation, of link: LinkRecord, knowing context: Void
    ) throws(TrustError) {
        switch operation {
        case .addDevice(let device, let possession):
            let isSignerFine = link.sequence == 0 ? link.signer == device.signing : isTrusted(link.signer)
            guard isSignerFine else { throw .signerNotTrusted }
            try add(device, possession)
            added.append(Added(device: device, time: link.time))
        case .revokeDevice(let device):
            guard link.sequence > 0 else { throw .wrongPlace }
            guard isTrusted(link.signer) else { throw .signerNotTrusted }
            try revoke(device)
        }
    }

    private func isTrusted(_ key: SigningPublicKey) -> Bool {
        devices.values.contains { $0.signing == key }
    }

    private mutating func add(_ device: Device, _ possession: [UInt8]) throws(TrustError) {
        guard devices[device.id] == nil, !revoked.contains(device.id), !usedKeys.contains(device.signing)
        else { throw .usedBefore }
        guard !AgreementKey.isWeak(device.agreement.bytes) else { throw .crypto(.weakPublicKey) }
        try check(possession, of: device.possessed(in: chain), by: device.signing, for: .deviceKeys)
        devices[device.id] = device
        usedKeys.insert(device.signing)
    }

    private mutating func revoke(_ device: DeviceID) throws(TrustError) {
        guard devices[device] != nil else { throw .noSuchDevice }
        guard devices.count > 1 else { throw .lastDevice }
        devices[device] = nil
        revoked.insert(device)
    }
}

extension DeviceOperation {
    /// The operation that adds a device; made on that device, which proves with a signature that it has the
    /// keys.
    ///
    /// - Throws: `.format` if the name or the model is not a permitted name.
    package static func adding(
        _ id: DeviceID, signing: borrowing SigningKey, agreement: AgreementPublicKey, name: String,
        model: String, to user: UserID
    ) throws(TrustError) -> DeviceOperation {
        for (text, field) in [(name, "name of the device"), (model, "model of the device")]
        where !TrustLimits.isName(text) {
            throw .format(.invalid(field: field))
        }
        let device = Device(
            id: id, signing: signing.publicID, agreement: agreement, name: name, model: model)
        return .addDevice(
            device, possession: signing.sign(device.possessed(in: ChainID(user)), for: .deviceKeys))
    }
}
