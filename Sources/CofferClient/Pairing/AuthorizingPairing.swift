internal import CofferCrypto
internal import CofferFormat
internal import CofferSystem
internal import CofferTrust

/// A pairing on the device that has the person's keys.
struct AuthorizingPairing {
    let profile: Profile
    /// Checks that this device may add others: it has the person's newest keys.
    let checkKeys: () throws(ClientError) -> Void
    /// Makes what is transferred.
    let bundle: (DeviceChain) throws(ClientError) -> PairingBundle
    /// Asks the person for the code that the other device shows.
    let ask: (PairingCode, PairingConnection.Wait) throws(ClientError) -> Bool
    /// Whether the command still runs.
    let isHeard: () -> Bool

    /// What came of it.
    struct Result {
        /// The device that was paired.
        let device: DeviceOperation.Device
        /// Whether it was in the list before, and has received new keys.
        let isRefreshed: Bool
    }

    /// A connection whose code is known here, and not yet to the other side.
    private struct Opened: ~Copyable {
        var side: AuthorizingSide
        let reveal: [UInt8]
        let code: PairingCode
    }

    /// Waits for another device, and pairs with it.
    ///
    /// Connections that end before this device reveals its number are forgotten: they learned nothing. After that
    /// there is no second attempt, which would be another guess for somebody in the middle.
    func run(_ listener: PairingListener) throws(ClientError) -> Result {
        let end = Clock.monotonic + PairingConnection.Wait.person
        while true {
            let connection = try listener.accept(wait(max(end - Clock.monotonic, 0)))
            let opened: Opened
            do throws(ClientError) { opened = try open(connection) } catch {
                if case .device(.cancelled) = error { throw error }
                DebugLog.log(.info, .control, "a connection for pairing ended early: \(error)")
                continue
            }
            return try finish(connection, opened)
        }
    }

    private func wait(_ nanoseconds: Int64) -> PairingConnection.Wait {
        PairingConnection.Wait(nanoseconds: nanoseconds, isHeard: isHeard)
    }

    private func open(_ connection: PairingConnection) throws(ClientError) -> Opened {
        let time = PairingConnection.Wait.exchange
        let wait = PairingConnection.Wait(
            nanoseconds: time, limit: Clock.monotonic + time, isHeard: isHeard)
        let first = try connection.receive(wait)
        var side = try pairing { () throws(PairingError) in try AuthorizingSide(reading: first) }
        let messages = side.beginning
        try connection.send(messages, wait)
        let answer = try connection.receive(wait)
        let revealed = try pairing { () throws(PairingError) in try side.reveal(after: answer) }
        return Opened(side: side, reveal: revealed.reveal, code: revealed.code)
    }

    private func finish(
        _ connection: PairingConnection, _ opened: consuming Opened
    ) throws(ClientError) -> Result {
        var side = opened.side
        do throws(ClientError) {
            return try finish(connection, &side, opened.reveal, opened.code)
        } catch {
            // The other device learns why, if it is still there.
            if let reason = Self.refusal(error) {
                try? connection.send(side.refuse(reason), wait(PairingConnection.Wait.parting))
            }
            throw error
        }
    }

    private func finish(
        _ connection: PairingConnection, _ side: inout AuthorizingSide, _ reveal: [UInt8],
        _ code: PairingCode
    ) throws(ClientError) -> Result {
        let (short, long) = (wait(PairingConnection.Wait.program), wait(PairingConnection.Wait.person))
        try connection.send(reveal, short)
        guard try ask(code, long) else { throw .device(.codesDiffer) }
        let devices = try profile.foundedDevices()
        let user = UserID(low: devices.id.low, high: devices.id.high)
        let acceptance = side.accept(user, profile.name)
        try connection.send(acceptance, short)
        let message = try connection.receive(long)
        let request = try pairing { () throws(PairingError) in try side.request(message) }
        let result = try answer(request, &side)
        let bundle = try bundle(for: result.device)
        do throws(ClientError) {
            try transfer(bundle, to: connection, &side)
        } catch {
            if result.isRefreshed { throw error }
            throw .device(.notConfirmed(name: result.device.name))
        }
        return result
    }

    /// Records a new device, or checks one that is known, before it receives anything.
    private func answer(
        _ request: PairingRequest, _ side: inout AuthorizingSide
    ) throws(ClientError) -> Result {
        switch request {
        case .new(let device, let possession, _):
            try checkKeys()
            try profile.add(device, possession: possession)
            return Result(device: device, isRefreshed: false)
        case .known(let id, _):
            let devices = try profile.foundedDevices()
            if devices.state.revoked.contains(id) { throw .device(.revokedDevice) }
            guard let device = devices.state.devices[id], id != profile.deviceKeys.id else {
                throw .device(.unknownDevice)
            }
            try pairing { () throws(PairingError) in try side.check(request, by: device.signing) }
            return Result(device: device, isRefreshed: true)
        }
    }

    /// Makes what a device receives.
    ///
    /// The device may have been revoked while this one waited: the list that goes with the keys decides.
    private func bundle(for device: DeviceOperation.Device) throws(ClientError) -> PairingBundle {
        let bundle = try bundle(try profile.foundedDevices())
        guard bundle.devices.state.devices[device.id]?.signing == device.signing else {
            throw .device(.revokedDevice)
        }
        return bundle
    }

    private func transfer(
        _ bundle: PairingBundle, to connection: PairingConnection, _ side: inout AuthorizingSide
    ) throws(ClientError) {
        let transfer = bundle.encoded()
        let keys = profile.deviceKeys
        let messages = try pairing { () throws(PairingError) in
            try side.transfer(transfer, signing: keys.signing)
        }
        try connection.send(messages, wait(PairingConnection.Wait.program))
        let done = try connection.receive(wait(PairingConnection.Wait.storing))
        try pairing { () throws(PairingError) in try side.finish(done) }
    }

    /// What to tell the other device of a failure; nil if it knows, or cannot hear.
    private static func refusal(_ error: ClientError) -> PairingRefusal? {
        switch error {
        case .device(.cutOff), .device(.notConfirmed), .device(.pairing(.refused)): nil
        case .device(.codesDiffer): .codesDiffer
        case .device(.alreadyAuthorized): .usedBefore
        case .device(.nameTaken): .nameTaken
        case .device(.unknownDevice): .unknownDevice
        case .device(.revokedDevice): .revoked
        case .device(.cancelled), .device(.noAnswer): .cancelled
        default: .failed
        }
    }
}

/// Runs steps of the protocol of pairing, and wraps an error that they throw in `.device(.pairing)`.
func pairing<Result: ~Copyable>(
    _ body: () throws(PairingError) -> Result
) throws(ClientError) -> Result {
    do throws(PairingError) { return try body() } catch { throw .device(.pairing(error)) }
}
