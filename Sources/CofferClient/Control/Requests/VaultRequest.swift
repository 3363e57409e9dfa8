internal import CofferFUSE

/// A request that changes the list of vaults, or the settings of one.
package enum VaultRequest: ControlRequest {
    case create(name: String)
    case rename(name: String, newName: String)
    /// Deletes a vault on this device, and optionally at its remote.
    case delete(name: String, atRemote: Bool = false)
    /// Limits how many bytes of content stay here that are also at the remote; nil for no limit.
    case limitCache(vault: String, to: Int64?)
    /// Keeps past states for some seconds, 0 for none; nil for ever.
    case keepHistory(vault: String, seconds: Int64?)

    package var changesVaults: Bool { true }
    package var message: RequestMessage { .vault(self) }

    package func perform(by handler: ControlHandler, for client: RequestClient) throws(ClientError) -> Done {
        switch self {
        case .create(let name):
            _ = try handler.vaults.create(name, owner: .current)
            handler.rootChanged(name)
        case .rename(let name, let newName):
            try handler.vaults.rename(name, to: newName)
            handler.rootChanged(name)
            handler.rootChanged(newName)
        case .delete(let name, let atRemote):
            // Without `atRemote` the membership stays, and only this device loses the vault.
            if atRemote { try handler.shared.deleteAtRemote(name, client.progress) }
            try handler.deleteVault(name)
            handler.rootChanged(name)
        case .limitCache(let vault, let limit):
            try handler.shared.setCacheLimit(of: vault, limit)
        case .keepHistory(let vault, let seconds):
            try handler.keepHistory(of: vault, seconds)
        }
        return Done()
    }
}
