/// Lists the person's devices.
package struct DevicesRequest: ControlRequest {
    /// Makes the request.
    package init() {}

    package var changesVaults: Bool { false }
    package var message: RequestMessage { .devices(self) }

    package func perform(
        by handler: ControlHandler, for client: RequestClient
    ) throws(ClientError) -> DevicesReport {
        try handler.deviceList()
    }
}

/// Pairs this device with another one of the person.
///
/// The answer comes at the end; progress tells what the person is to do, and `PairingAnswer` takes what the person
/// says.
package enum PairRequest: ControlRequest {
    /// Waits at an address for a device, and authorizes it.
    case authorize(address: String)
    /// Connects to a device that waits at an address, and fetches the person's new keys.
    case refresh(address: String)

    package var changesVaults: Bool { true }
    package var message: RequestMessage { .pair(self) }

    package func perform(
        by handler: ControlHandler, for client: RequestClient
    ) throws(ClientError) -> PairingReport {
        switch self {
        case .authorize(let address): try handler.authorize(at: address, client)
        case .refresh(let address): try handler.refresh(at: address, client)
        }
    }
}

/// What the person says to the question of a pairing that runs.
package enum PairingAnswer: ControlRequest {
    /// The code that the other device shows.
    case code(String)
    /// Whether the other device says that the codes are the same.
    case isSame(Bool)

    package var changesVaults: Bool { true }
    package var message: RequestMessage { .pairingAnswer(self) }

    package func perform(
        by handler: ControlHandler, for client: RequestClient
    ) throws(ClientError) -> AnswerReport {
        try handler.answer(self)
    }
}

/// Revokes a device of the person.
package struct RevokeRequest: ControlRequest {
    /// Its name, or the beginning of its id.
    let device: String

    /// Makes a request for a device.
    package init(device: String) {
        self.device = device
    }

    package var changesVaults: Bool { true }
    package var message: RequestMessage { .revoke(self) }

    package func perform(
        by handler: ControlHandler, for client: RequestClient
    ) throws(ClientError) -> RevocationReport {
        try handler.revoke(device, client)
    }
}
