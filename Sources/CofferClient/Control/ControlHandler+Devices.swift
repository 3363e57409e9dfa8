internal import CofferFormat
internal import CofferSync
internal import CofferSystem
internal import CofferTrust

// Requests about the person's devices.
extension ControlHandler {
    func deviceList() throws(ClientError) -> DevicesReport {
        let profile = vaults.profile
        let own = profile.deviceKeys
        guard let chain = profile.devices else {
            let only = DevicesReport.Device(
                name: own.label, id: "\(own.id)", added: nil, isThis: true, isTrusted: true)
            return DevicesReport(devices: [only])
        }
        return DevicesReport(
            devices: chain.state.added.map { added in
                DevicesReport.Device(
                    name: added.device.name, id: "\(added.device.id)", added: added.time / 1_000_000_000,
                    isThis: added.device.id == own.id,
                    isTrusted: chain.state.devices[added.device.id] != nil)
            })
    }

    // MARK: Pairing

    /// Waits at an address for another device, and authorizes it.
    func authorize(
        at address: String, _ client: RequestClient
    ) throws(ClientError) -> PairingReport {
        let place = try PairingAddress(address)
        return try desk.alone { () throws(ClientError) in
            // A revocation of this device, and new keys, are heard of first.
            shared.sync(atMost: Self.lookingTime) { _ in }
            let listener = try PairingListener(at: place)
            let step = Condition(PairingStep.waiting(listener.addresses.map { "\($0)" }))
            let pairing = AuthorizingPairing(
                profile: vaults.profile,
                checkKeys: { () throws(ClientError) in try self.shared.checkNewestKeys() },
                bundle: { devices throws(ClientError) in try self.shared.bundle(devices) },
                ask: { code, wait throws(ClientError) in
                    step.update { $0 = .enterCode }
                    defer { step.update { $0 = .transferring } }
                    return try self.desk.ask(.enter(code), wait)
                }, isHeard: { Self.tell(client, step) })
            let result = try pairing.run(listener)
            return PairingReport(device: result.device.name, isNew: !result.isRefreshed, vaults: [])
        }
    }

    /// Fetches the person's new keys from another device.
    func refresh(at address: String, _ client: RequestClient) throws(ClientError) -> PairingReport {
        let place = try PairingAddress(address)
        return try desk.alone { () throws(ClientError) in
            let step = Condition(PairingStep.connecting)
            let isHeard = { Self.tell(client, step) }
            var pairing = try JoiningPairing(at: place, isHeard: isHeard) { code in
                step.update { $0 = .showCode("\(code)") }
                _ = isHeard()
            } confirm: { acceptance throws(ClientError) in
                step.update { $0 = .confirm(name: acceptance.name) }
                defer { step.update { $0 = .transferring } }
                let wait = PairingConnection.Wait(
                    nanoseconds: PairingConnection.Wait.person, isHeard: isHeard)
                return try self.desk.ask(.confirm, wait)
            }
            guard let devices = vaults.profile.devices, devices.id == ChainID(pairing.user) else {
                throw .device(.otherPerson)
            }
            let bundle = try pairing.receive(asKnown: vaults.profile.deviceKeys)
            let known = Set(vaults.profile.vaults.map(\.id))
            try vaults.profile.adopt(bundle)
            shared.renewKeys()
            shared.add(bundle)
            try pairing.finish()
            let new = vaults.profile.vaults.filter { !known.contains($0.id) }
            return PairingReport(
                device: vaults.profile.device, isNew: false, vaults: new.map(\.name))
        }
    }

    /// Tells the command how far the pairing is.
    ///
    /// - Returns: Whether the command is still there.
    private static func tell(_ client: RequestClient, _ step: Condition<PairingStep>) -> Bool {
        client.progress(Progress(done: 0, total: 0, pairing: step.withLock { $0 }))
        return client.isHeard()
    }

    /// Takes the person's answer to the question of the pairing that runs.
    func answer(_ answer: PairingAnswer) throws(ClientError) -> AnswerReport {
        switch answer {
        case .code(let text): return AnswerReport(isRight: try desk.enter(text))
        case .isSame(let isSame):
            try desk.confirm(isSame)
            return AnswerReport(isRight: isSame)
        }
    }

    // MARK: Revoking

    /// How long to look for news before a device is authorized, in nanoseconds.
    private static let lookingTime: Int64 = 10_000_000_000
    /// How long to sync before a device is revoked, and then each vault with the new keys, in nanoseconds.
    private static let syncingTime: Int64 = 60_000_000_000

    /// Revokes a device, replaces the person's keys, and brings the new ones to all vaults as far as possible now.
    func revoke(_ text: String, _ client: RequestClient) throws(ClientError) -> RevocationReport {
        let device = try vaults.profile.device(text)
        // What other devices wrote before is seen first, so that it counts. Neither a slow or unreachable remote nor a
        // full disk keeps a lost device trusted.
        try? vaults.store()
        shared.sync(atMost: Self.syncingTime, client.progress)
        try shared.checkNewestKeys()
        try vaults.profile.revoke(device.id)
        shared.renewKeys()
        var reports: [RevocationReport.Vault] = []
        for one in shared.all {
            var failure: String?
            do throws(ClientError) {
                let isDone = try one.sync(atMost: Self.syncingTime, client.progress)
                if !isDone { failure = "the time was too short; the next sync continues" }
            } catch {
                failure = "\(error)"
            }
            let state =
                switch one.renewal() {
                case .rotated: "rotated"
                case .owed: "owed"
                case .waiting: "waiting"
                }
            reports.append(RevocationReport.Vault(name: one.name, keys: state, failure: failure))
        }
        let others = (vaults.profile.devices?.state.devices.values).map(Array.init) ?? []
        return RevocationReport(
            device: device.name, vaults: reports,
            stale: others.filter { $0.id != vaults.profile.deviceKeys.id }.map(\.name).sorted())
    }
}
