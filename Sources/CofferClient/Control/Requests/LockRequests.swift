internal import CofferCrypto
internal import CofferSystem

/// Asks a mount to lock the profile.
///
/// The process that serves the locked mount answers, once nothing of the vaults is in memory any more.
package struct LockRequest: ControlRequest {
    /// Whether to lock even if changes cannot be stored.
    let force: Bool

    /// - Parameter force: Whether to lock even if changes cannot be stored.
    package init(force: Bool) {
        self.force = force
    }

    package var changesVaults: Bool { false }
    package var message: RequestMessage { .lock(self) }

    package func perform(by handler: ControlHandler, for client: RequestClient) throws(ClientError) -> Done {
        try handler.lock(force, client)
        return Done()
    }
}

/// Asks a locked mount to open the profile with its key.
///
/// The process that serves the vaults answers. The key crosses the socket, which only this user can reach.
package struct UnlockRequest: ControlRequest {
    /// The profile's key.
    let key: [UInt8]

    init(key: borrowing SecretBytes) {
        self.key = key.withBytes { $0.array }
    }

    package var changesVaults: Bool { false }
    package var message: RequestMessage { .unlock(self) }

    /// Does nothing: a mount that serves the vaults is not locked.
    package func perform(by handler: ControlHandler, for client: RequestClient) throws(ClientError) -> Done {
        Done()
    }
}

/// Asks whether the profile is locked.
package struct LockStateRequest: ControlRequest {
    /// Asks for nothing else.
    package init() {}

    package var changesVaults: Bool { false }
    package var message: RequestMessage { .lockState(self) }

    package func perform(
        by handler: ControlHandler, for client: RequestClient
    ) throws(ClientError) -> LockState {
        if handler.isLocking() { throw .locking(.underWay) }
        return LockState(isLocked: false)
    }
}

/// Whether the profile of a mount is locked.
package struct LockState: Codable, Sendable {
    /// Whether its keys are in no process.
    package let isLocked: Bool
}
