/// A request that concerns pins.
package enum PinRequest: ControlRequest {
    /// Pins files, and directories with all files in them; fetches the content now, or leaves that to a
    /// mount.
    case pin(vault: String, paths: [String], waits: Bool)
    /// Lists the pins of one vault, or of all.
    case list(vault: String?)

    package var changesVaults: Bool {
        switch self {
        case .pin: true
        case .list: false
        }
    }

    package var message: RequestMessage { .pin(self) }

    package func perform(
        by handler: ControlHandler, for client: RequestClient
    ) throws(ClientError) -> [PinReport] {
        switch self {
        case .pin(let vault, let paths, let waits): try handler.pin(paths, of: vault, waits: waits, client)
        case .list(let vault): try handler.pins(of: vault)
        }
    }
}

/// Removes pins.
package struct UnpinRequest: ControlRequest {
    let vault: String
    let paths: [String]

    /// Names the items by their paths in the vault.
    package init(vault: String, paths: [String]) {
        self.vault = vault
        self.paths = paths
    }

    package var changesVaults: Bool { true }
    package var message: RequestMessage { .unpin(self) }

    package func perform(by handler: ControlHandler, for client: RequestClient) throws(ClientError) -> Done {
        try handler.unpin(paths, of: vault)
        return Done()
    }
}

/// Evicts content that is also at the remote.
package struct EvictRequest: ControlRequest {
    let vault: String
    let paths: [String]

    /// Names the items by their paths in the vault.
    package init(vault: String, paths: [String]) {
        self.vault = vault
        self.paths = paths
    }

    package var changesVaults: Bool { true }
    package var message: RequestMessage { .evict(self) }

    package func perform(
        by handler: ControlHandler, for client: RequestClient
    ) throws(ClientError) -> EvictReport {
        try handler.evict(paths, of: vault, client.progress)
    }
}
