/// Asks for the state of the profile and its vaults.
package struct StatusRequest: ControlRequest {
    /// Asks for everything.
    package init() {}

    package var changesVaults: Bool { false }
    package var message: RequestMessage { .status(self) }

    package func perform(
        by handler: ControlHandler, for client: RequestClient
    ) throws(ClientError) -> StatusReport {
        handler.status()
    }
}

/// Asks for the names of vaults, and of one vault's members, for shell completion; quick, without storing
/// anything.
package struct NamesRequest: ControlRequest {
    let vault: String?

    /// - Parameter vault: The vault whose members to name; nil for none.
    package init(vault: String?) {
        self.vault = vault
    }

    package var changesVaults: Bool { false }
    package var message: RequestMessage { .names(self) }

    package func perform(
        by handler: ControlHandler, for client: RequestClient
    ) throws(ClientError) -> KnownNames {
        let members = if let vault { try handler.shared.named(vault).memberNames() } else { [String]() }
        return KnownNames(vaults: handler.vaults.profile.vaults.map(\.name), members: members)
    }
}

/// Names that a shell can complete.
package struct KnownNames: Codable, Sendable {
    /// The names of all vaults of the profile.
    package let vaults: [String]
    /// The names of the members of one vault.
    package let members: [String]
}

/// Asks to read all data of one vault or of all, and to report damage.
package struct CheckRequest: ControlRequest {
    let vault: String?

    /// - Parameter vault: The vault; nil for all.
    package init(vault: String?) {
        self.vault = vault
    }

    package var changesVaults: Bool { false }
    package var message: RequestMessage { .check(self) }

    package func perform(
        by handler: ControlHandler, for client: RequestClient
    ) throws(ClientError) -> CheckReport {
        try handler.check(vault, client.progress)
    }
}
