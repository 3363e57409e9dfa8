internal import CofferCrypto
internal import CofferFormat
internal import CofferSystem
internal import CofferTrust
internal import Synchronization

// The devices of the person, and what they share.
extension Profile {
    /// What the device chain says of the kind of this machine.
    static let deviceModel = "Linux"

    /// This device's keys.
    var deviceKeys: DeviceKeys { state.withLock { $0.body.device } }

    /// The person's devices; nil if no other one was ever added.
    var devices: DeviceChain? { state.withLock { $0.body.devices } }

    /// The person's devices; begins the chain with this device if there is none.
    ///
    /// From then on, transient keys are made so that other devices can make the same.
    func foundedDevices() throws(ClientError) -> DeviceChain {
        if let devices { return devices }
        let user = try publicIdentity().user
        var founded: DeviceChain?
        try change { state throws(ClientError) in
            if state.body.devices == nil {
                let keys = state.body.device
                state.body.devices = try Self.trusting { () throws(TrustError) in
                    var chain = DeviceChain(id: ChainID(user))
                    let operation = try keys.addition(to: user)
                    try chain.append(try chain.link(operation, at: Clock.realTime, by: keys.signing))
                    return chain
                }
                state.body.publicIdentity = state.body.publicIdentity?.forSeveralDevices()
            }
            founded = state.body.devices
        }
        guard let founded else { throw .trust(.wrongPlace) }
        return founded
    }

    /// Adds a device, which is on disk once this returns.
    ///
    /// - Throws: `.device`: `.alreadyAuthorized`, `.nameTaken`; `.trust`.
    func add(_ device: DeviceOperation.Device, possession: [UInt8]) throws(ClientError) {
        _ = try foundedDevices()
        try change { state throws(ClientError) in
            guard var chain = state.body.devices else { throw .trust(.wrongPlace) }
            for known in chain.state.added.map(\.device) {
                guard known.id != device.id, known.signing != device.signing,
                    known.agreement != device.agreement
                else { throw .device(.alreadyAuthorized) }
                // Logs and conflict copies are told apart by the names of devices.
                guard !known.name.hasSameBytes(as: device.name) else {
                    throw .device(.nameTaken(device.name))
                }
            }
            let operation = DeviceOperation.addDevice(device, possession: possession)
            try Self.append(operation, to: &chain, by: state.body.device)
            state.body.devices = chain
        }
    }

    /// Revokes a device, and replaces the person's identity and transient keys, all in one change on disk.
    ///
    /// - Throws: `.device`: `.lastDevice`, `.thisDevice`, `.noSuchDevice`; `.trust`.
    func revoke(_ device: DeviceID) throws(ClientError) {
        let present = try publicIdentity()
        try change { state throws(ClientError) in
            guard var chain = state.body.devices, chain.state.devices.count > 1 else {
                throw .device(.lastDevice)
            }
            guard device != state.body.device.id else { throw .device(.thisDevice) }
            guard chain.state.devices[device] != nil else { throw .device(.noSuchDevice("\(device)")) }
            try Self.append(.revokeDevice(device), to: &chain, by: state.body.device)
            let (keys, identity) = (state.body.identity, state.body.publicIdentity ?? present)
            let next = IdentityKeys(name: keys.name)
            let time = Clock.realTime
            state.body.publicIdentity = try Self.trusting { () throws(TrustError) in
                try identity.rollingKeys(to: next, by: keys, at: time)
            }
            state.body.keepFormer(keys, identity, at: time)
            state.body.identity = next
            state.body.devices = chain
        }
    }

    /// Finds a trusted device by its name or by the beginning of its id.
    ///
    /// - Throws: `.device`: `.lastDevice` if there is only this one; `.noSuchDevice`.
    func device(_ text: String) throws(ClientError) -> DeviceOperation.Device {
        guard let chain = devices, chain.state.devices.count > 1 else {
            guard text.hasSameBytes(as: device) else { throw .device(.noSuchDevice(text)) }
            throw .device(.lastDevice)
        }
        let trusted = chain.state.devices.values
        if let named = trusted.first(where: { $0.name.hasSameBytes(as: text) }) { return named }
        let found = trusted.filter { text.utf8.count >= 4 && "\($0.id)".hasPrefix(text.lowercased()) }
        guard let only = found.first, found.count == 1 else { throw .device(.noSuchDevice(text)) }
        return only
    }

    // MARK: Taking over

    /// Takes a transient key that another device has made and published, so that all devices have the same
    /// newest one, and none falls behind by more keys than the others keep.
    ///
    /// Does nothing if the key does not follow from the seed.
    func follow(_ key: TransientKey) throws(ClientError) {
        let (identity, keys) = state.withLock { ($0.body.publicIdentity, $0.body.identity) }
        guard identity?.following(key, by: keys) != nil else { return }
        try change { state throws(ClientError) in
            let keys = state.body.identity
            guard let next = state.body.publicIdentity?.following(key, by: keys) else { return }
            state.body.publicIdentity = next
        }
    }

    /// Takes over the person's keys and lists from another device of the same person.
    ///
    /// - Throws: `.device`: `.otherPerson`, `.olderKeys`, `.listsDiffer`, `.revokedHere`.
    func adopt(_ bundle: PairingBundle) throws(ClientError) {
        try change { state throws(ClientError) in
            guard let identity = state.body.publicIdentity, let devices = state.body.devices,
                identity.id == bundle.publicIdentity.id
            else { throw .device(.otherPerson) }
            try Self.check(bundle.devices, continues: devices)
            try Self.check(bundle.publicIdentity.chain, continues: identity.chain)
            guard
                bundle.devices.state.devices[state.body.device.id]?.signing.bytes
                    == state.body.device.signing.publicKey
            else { throw .device(.revokedHere) }
            // With the same identity keys, this device may have transient keys that the other one lacks.
            if bundle.publicIdentity.chain.head != identity.chain.head {
                state.body.keepFormer(state.body.identity, identity, at: Clock.realTime)
                state.body.identity = bundle.identity
                state.body.publicIdentity = bundle.publicIdentity
            }
            state.body.devices = bundle.devices
            state.body.addVerified(bundle)
            for vault in bundle.vaults {
                guard let index = state.body.vaults.firstIndex(where: { $0.id == vault.id }) else { continue }
                state.body.vaults[index] = state.body.vaults[index].adding(vault.keys)
            }
        }
    }

    /// Checks that an offered chain contains the known one.
    ///
    /// - Throws: `.device(.olderKeys)` if it is a beginning of that one; `.device(.listsDiffer)`.
    private static func check<State: Ledger>(
        _ offered: TrustChain<State>, continues known: TrustChain<State>
    ) throws(ClientError) where State.Context == Void {
        guard let head = known.head, let last = offered.head else { throw .device(.listsDiffer) }
        if (try? offered.expect(head)) != nil { return }
        if (try? known.expect(last)) != nil { throw .device(.olderKeys) }
        throw .device(.listsDiffer)
    }

    private static func append(
        _ operation: DeviceOperation, to chain: inout DeviceChain, by device: DeviceKeys
    ) throws(ClientError) {
        let known = chain
        chain = try trusting { () throws(TrustError) in
            var next = known
            try next.append(try next.link(operation, at: Clock.realTime, by: device.signing))
            return next
        }
    }

    private static func trusting<Value>(
        _ body: () throws(TrustError) -> Value
    ) throws(ClientError) -> Value {
        do throws(TrustError) { return try body() } catch { throw .trust(error) }
    }
}

extension DeviceKeys {
    /// The operation that adds the device to a person's chain.
    func addition(to user: UserID) throws(TrustError) -> DeviceOperation {
        try DeviceOperation.adding(
            id, signing: signing, agreement: AgreementPublicKey(agreement.publicKey), name: label,
            model: Profile.deviceModel, to: user)
    }
}

extension ProfileBody {
    /// Keeps keys that are being replaced.
    mutating func keepFormer(_ keys: IdentityKeys, _ identity: PublicIdentity, at time: Int64) {
        former.append(FormerKeys(keys, identity, at: time))
    }

    /// Adds the identities whose words were compared on another device.
    mutating func addVerified(_ bundle: PairingBundle) {
        for identity in bundle.verified where !verified.contains(identity) {
            verified.append(identity)
            verifiedNames[identity] = bundle.verifiedNames[identity]
        }
    }
}
